/* rewrite.c — see rewrite.h. */
#include "rewrite.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "calls.h"
#include "rewrite_meta.h"
#include "rewrite_payloads.h"
#include "rewrite_stacks.h"
#include "varint.h"
#include "writer.h"

enum { STEP = 4096, RESUME = 1, THROW = 2, OPEN = 3 };

/* Keys that the file does not define keep their number, out of the way of all others. */
#define UNDEFINED 0x80000000u

/* State of the whole job. */
struct work {
    struct kymo_writer *writer;
    const struct kymo_rewrite_options *options;
    uint64_t done, all; /* events */
    uint32_t threads;   /* thread numbers given so far */
    uint32_t processes;
    kymo_ns base; /* added to all times, so that none is negative */
    struct kymo_stack_ids stacks;
};

/* State for copying one part. */
struct copying {
    struct work *work;
    const struct kymo_part *part;
    kymo_ns from, to; /* the part's range, within the capture */
    uint32_t *key_of; /* by key: its id in the result, 0 if none yet */
    uint32_t process; /* index of its first process */
    bool apart;       /* its ids must not be confused with those of other parts */
    uint32_t thread;  /* thread number in the result */
    const struct kymo_calls *calls;
    struct kymo_stack_copy stacks;
    struct kymo_payload_copy payloads;
};

/* Convert TIME on the part's clock to a tick of the result. */
static uint64_t tick_of(const struct copying *c, kymo_ns time)
{
    kymo_ns tick = kymo__ns_add(kymo__relation_time(&c->part->relation, time), c->work->base);
    return tick > 0 ? (uint64_t)tick : 0;
}

static uint64_t tick_of_ticks(const struct copying *c, uint64_t ticks)
{
    size_t hint = 0;
    return tick_of(c, kymo__timebase_ns(&c->part->capture->base, ticks, &hint));
}

/* Return the id of a text that the file defines, even an empty one; otherwise 0. */
static uint32_t string_of(const struct copying *c, uint32_t id)
{
    const struct kymo_reader *r = c->part->capture->reader;
    if (!id || id >= r->string_count || !r->strings[id].text)
        return 0;
    return kymo__writer_string(c->work->writer, kymo__reader_string(r, id));
}

static uint32_t text_of(struct kymo_writer *w, const char *text)
{
    return *text ? kymo__writer_string(w, text) : 0;
}

static uint32_t key_of(struct copying *c, uint32_t key)
{
    const struct kymo_reader *r = c->part->capture->reader;
    if (!key)
        return 0;
    if (key >= r->key_count)
        return key | UNDEFINED;
    if (!c->key_of[key]) {
        const struct kymo_reader_key *k = &r->keys[key];
        c->key_of[key] = kymo__writer_key(c->work->writer, string_of(c, k->name),
                                          string_of(c, k->file), k->line, k->class);
    }
    return c->key_of[key];
}

/* Translate VALUE of a text argument; a value that is not a key of the file stays invalid. */
static uint64_t text_key_of(struct copying *c, uint64_t value)
{
    return value <= UINT32_MAX ? key_of(c, (uint32_t)value) : value;
}

static uint32_t stack_key(void *arg, uint32_t key)
{
    return key_of(arg, key);
}

static uint32_t stack_string(void *arg, uint32_t string)
{
    return string_of(arg, string);
}

/* Ids of arrows, tasks and generators are unique only within a process. */
static uint64_t apart(const struct copying *c, uint64_t id)
{
    return id && c->apart ? id ^ (uint64_t)c->process << 48 : id;
}

/* Arrows between processes of a run, which `kymograph run` numbers so that they fit together. */
static bool is_between(const struct kymo_event *event)
{
    return strcmp(event->name, "process start") == 0 || strcmp(event->name, "process end") == 0 ||
           strcmp(event->name, "process message") == 0;
}

static uint64_t payload_id(void *arg, uint64_t id)
{
    return apart(arg, id);
}

static void put_record(struct copying *c, kymo_ns time, unsigned kind, unsigned detail,
                       uint32_t key, uint64_t value)
{
    kymo__writer_event(c->work->writer, c->thread, tick_of(c, time), kymo_word(kind, detail, key),
                       value);
}

static void put_gap(struct copying *c, const struct kymo_event *event)
{
    const struct kymo_reader *r = c->part->capture->reader;
    uint64_t first = tick_of(c, event->time), last = first;
    /* The stream has just passed its definition, if it comes from there. */
    size_t next = c->calls->stream.gap;
    if (next > 0 && r->gaps[next - 1].thread == c->calls->stream.thread &&
        r->gaps[next - 1].first_ticks == event->ticks && r->gaps[next - 1].count == event->id)
        last = tick_of_ticks(c, r->gaps[next - 1].last_ticks);
    kymo__writer_define(c->work->writer,
                        &(struct kymo_def){.type = KYMO__DEF_GAP,
                                           .number = {c->thread, event->detail, event->id, first,
                                                      last > first ? last : first}});
}

static int copy_event(void *arg, const struct kymo_event *event)
{
    struct copying *c = arg;
    uint64_t value = event->id;
    unsigned detail = event->detail;
    switch (event->kind) {
    case KYMO_GAP:
        put_gap(c, event);
        return kymo__writer_error(c->work->writer);
    case KYMO_ENTER:
        detail |= value ? KYMO_HAS_ID : 0;
        value = apart(c, value);
        break;
    case KYMO_FLOW_OUT:
    case KYMO_FLOW_IN:
        value = is_between(event) ? value : apart(c, value);
        break;
    case KYMO_ASYNC_BEGIN:
    case KYMO_ASYNC_END:
        value = apart(c, value);
        break;
    case KYMO_COUNTER:
        memcpy(&value, &event->value, sizeof(value));
        break;
    case KYMO_RESYNC:
        value = tick_of_ticks(c, value);
        break;
    case KYMO_SAMPLE:
        value = kymo__stack_copy_sample(&c->stacks, value);
        break;
    case KYMO_ARG_TEXT:
        value = text_key_of(c, value);
        break;
    case KYMO_PAYLOAD:
        kymo__payload_copy(&c->payloads, c->thread, event->key, event->payload,
                           event->payload_bytes);
        return kymo__writer_error(c->work->writer);
    }
    put_record(c, event->time, event->kind, detail, key_of(c, event->key), value);
    return kymo__writer_error(c->work->writer);
}

static void open_frame(struct copying *c, const struct kymo_calls *calls, uint32_t at)
{
    const struct kymo_open_call *frame = &calls->nest.frames[at];
    /* A recording that starts here would not know of earlier parts of a generator's life; we do,
       and keep resumes from being counted as calls. */
    unsigned detail = frame->enter == RESUME || frame->enter == THROW ? frame->enter : OPEN;
    put_record(c, c->from, KYMO_ENTER, detail | (frame->id ? KYMO_HAS_ID : 0),
               key_of(c, frame->key), apart(c, frame->id));
    for (unsigned i = 0; i < frame->arg_count; i++) {
        const struct kymo_nest_arg *a = &calls->nest.args[frame->args + i];
        bool text = a->kind == KYMO__ARG_TEXT_KEY;
        if (a->kind == KYMO__ARG_PAYLOAD)
            kymo__payload_copy(&c->payloads, c->thread, a->key, calls->nest.bytes.bytes + a->value,
                               a->length);
        else
            put_record(c, c->from, text ? KYMO_ARG_TEXT : KYMO_ARG, 0, key_of(c, a->key),
                       text ? text_key_of(c, a->value) : a->value);
    }
}

/* Start of the window: write the open calls. A span that ended inside a call above it has to end
   again when that call is written. */
static int open_calls(void *arg, const struct kymo_calls *calls)
{
    struct copying *c = arg;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < calls->nest.depth; i++) {
        open_frame(c, calls, i);
        if (calls->nest.frames[i].flags & KYMO__ENDED_INSIDE) {
            ended++;
            continue;
        }
        for (uint32_t below = 1; below <= ended; below++)
            put_record(c, c->from, KYMO_LEAVE, 0, key_of(c, calls->nest.frames[i - below].key), 0);
        ended = 0;
    }
    return kymo__writer_error(c->work->writer);
}

static int report_progress(struct work *work, uint64_t more)
{
    work->done += more;
    const struct kymo_rewrite_options *o = work->options;
    uint64_t done = work->done < work->all ? work->done : work->all;
    return o->progress ? o->progress(o->progress_arg, done, work->all) : 0;
}

static int copy_thread(struct copying *c, uint32_t index)
{
    const struct kymo_visitor visitor = {.arg = c, .open = open_calls, .event = copy_event};
    struct kymo_calls *calls = kymo__alloc(sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    c->calls = calls;
    int rc = kymo__calls_init(calls, c->part->capture, index, c->part->from, c->part->to, &visitor);
    if (rc == 0)
        rc = 1;
    while (rc > 0) {
        rc = kymo__calls_read(calls, STEP);
        int stop = report_progress(c->work, STEP);
        rc = rc >= 0 && stop < 0 ? stop : rc;
    }
    kymo__calls_fini(calls);
    kymo__free(calls);
    return rc;
}

static void define_thread(struct copying *c, uint32_t index, bool end)
{
    const struct kymo_reader *r = c->part->capture->reader;
    const struct kymo_reader_thread *t = &r->threads[index];
    struct kymo_writer *w = c->work->writer;
    uint32_t process = t->process < r->process_count ? t->process : 0;
    kymo__writer_define(
        w, &(struct kymo_def){.type = KYMO__DEF_THREAD,
                              .number = {c->thread, t->tid, tick_of_ticks(c, t->start_ticks),
                                         string_of(c, t->name), c->process + process}});
    /* Calls open at the end of one capture end there, not at the end of the last capture. */
    uint64_t last = tick_of(c, c->to);
    if (t->end_ticks && tick_of_ticks(c, t->end_ticks) < last)
        last = tick_of_ticks(c, t->end_ticks);
    else if (!end)
        return;
    kymo__writer_define(
        w, &(struct kymo_def){.type = KYMO__DEF_THREAD_END, .number = {c->thread, last}});
}

/* In the result, all tracks use the common clock. */
static void define_track(struct copying *c, uint32_t index)
{
    const struct kymo_thread_more *t = kymo__thread_more(c->part->capture->reader, index);
    if (t->track)
        kymo__writer_define(c->work->writer,
                            &(struct kymo_def){.type = KYMO__DEF_TRACK,
                                               .number = {c->thread, kymo__zigzag(t->device),
                                                          t->stream, KYMO__CLOCK_TICKS}});
}

static void define_clock(struct copying *c, bool first)
{
    const struct kymo_reader *r = c->part->capture->reader;
    const struct kymo_timebase *base = &c->part->capture->base;
    /* One clock for all: that of the first part. */
    if (!first)
        return;
    kymo_ns wall = base->wall_offset;
    for (size_t i = 0; i <= r->snapshot_count + 1; i++) {
        kymo_ns time = i == 0 ? c->from : c->to;
        if (i > 0 && i <= r->snapshot_count) {
            time = r->snapshots[i - 1].monotonic;
            if (time <= c->from || time >= c->to)
                continue;
            wall = r->snapshots[i - 1].wall - time;
        }
        uint64_t tick = tick_of(c, time);
        kymo_ns then = kymo__ns_add(time, wall);
        kymo__writer_define(c->work->writer,
                            &(struct kymo_def){.type = KYMO__DEF_CLOCK,
                                               .number = {tick, tick, kymo__zigzag(then)}});
    }
}

static void define_processes(struct copying *c)
{
    struct work *work = c->work;
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(c->part->capture, &info);
    for (uint32_t i = 0; i < info.processes; i++) {
        struct kymo_process_info process = {.size = sizeof(process)};
        kymo_capture_process(c->part->capture, i, &process);
        kymo__writer_define(work->writer,
                            &(struct kymo_def){.type = KYMO__DEF_PROCESS,
                                               .number = {c->process + i, (uint64_t)process.pid,
                                                          text_of(work->writer, process.name),
                                                          text_of(work->writer, process.machine)}});
    }
    work->processes += (uint32_t)info.processes;
}

static bool chosen(const struct kymo_part *part, uint32_t thread)
{
    return !part->chosen || part->chosen[thread];
}

static int copy_part(struct work *work, const struct kymo_part *part, bool first, bool several)
{
    struct kymo_reader *r = part->capture->reader;
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(part->capture, &info);
    struct copying c = {
        .work = work,
        .part = part,
        .from = part->from > info.start ? part->from : info.start,
        .to = part->to < info.end ? part->to : info.end,
        .process = work->processes,
        .apart = work->processes > 0,
        .key_of = kymo__alloc_zeroed((r->key_count + 1) * sizeof(uint32_t)),
    };
    c.stacks = (struct kymo_stack_copy){.writer = work->writer,
                                        .ids = &work->stacks,
                                        .key = stack_key,
                                        .string = stack_string,
                                        .arg = &c};
    c.payloads = (struct kymo_payload_copy){.writer = work->writer,
                                            .reader = r,
                                            .stacks = &c.stacks,
                                            .key = stack_key,
                                            .id = payload_id,
                                            .arg = &c};
    int rc = kymo__stack_copy_init(&c.stacks, part->capture);
    if (rc == 0)
        rc = kymo__payload_copy_init(&c.payloads);
    if (rc < 0 || !c.key_of) {
        rc = -ENOMEM;
        goto done;
    }
    define_clock(&c, first);
    if (several || r->process_count)
        define_processes(&c);
    for (uint32_t i = 0; rc == 0 && i < r->thread_count; i++) {
        if (!chosen(part, i))
            continue;
        c.thread = work->threads++;
        define_thread(&c, i, several);
        define_track(&c, i);
        rc = copy_thread(&c, i);
    }
done:
    kymo__stack_copy_fini(&c.stacks);
    kymo__payload_copy_fini(&c.payloads);
    kymo__free(c.key_of);
    return rc;
}

/* Find the time range of all parts together, on the clock of the result. */
static void range_of(const struct kymo_part *parts, size_t count, kymo_ns *first, kymo_ns *last)
{
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        struct kymo_info info = {.size = sizeof(info)};
        kymo_capture_info(parts[i].capture, &info);
        kymo_ns from = parts[i].from > info.start ? parts[i].from : info.start;
        kymo_ns to = parts[i].to < info.end ? parts[i].to : info.end;
        from = kymo__relation_time(&parts[i].relation, from);
        to = kymo__relation_time(&parts[i].relation, to);
        *first = from < *first ? from : *first;
        *last = to > *last ? to : *last;
    }
}

static uint64_t events_of(const struct kymo_part *parts, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < parts[i].capture->reader->thread_count; j++) {
            struct kymo_thread_info thread = {.size = sizeof(thread)};
            kymo_capture_thread(parts[i].capture, j, &thread);
            all += chosen(&parts[i], j) ? thread.records : 0;
        }
    return all;
}

int kymo__rewrite(const struct kymo_part *parts, size_t count, const char *path,
                  const struct kymo_rewrite_options *options)
{
    struct work work = {.options = options, .all = events_of(parts, count)};
    kymo_ns first, last;
    range_of(parts, count, &first, &last);
    work.base = first < 0 ? -first : 0;
    const struct kymo_file_header *from = &parts[0].capture->reader->header;
    struct kymo_file_header header = {
        .pid = from->pid,
        .clock = KYMO_CLOCK_MONOTONIC,
        .process_start = from->process_start,
        .ticks_rate = 1000000000,
        .ticks = (uint64_t)(first + work.base),
        .monotonic = first + work.base,
        .wall = kymo__ns_add(first, parts[0].capture->base.wall_offset),
    };
    memcpy(header.boot, from->boot, sizeof(header.boot));
    int rc = kymo__writer_new(path, &header, &work.writer);
    if (rc < 0)
        return rc;
    kymo__writer_define(work.writer, &(struct kymo_def){.type = KYMO__DEF_RANGE,
                                                        .number = {(uint64_t)(first + work.base),
                                                                   (uint64_t)(last + work.base)}});
    work.stacks.period = kymo__rewrite_period(parts, count);
    rc = kymo__rewrite_metadata(work.writer, parts, count, work.stacks.period);
    const struct kymo_rewrite_note *note = options->notes;
    for (; note && note->key; note++)
        kymo__rewrite_note(work.writer, note->key, note->value);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = copy_part(&work, &parts[i], i == 0, count > 1);
    int finished = kymo__writer_finish(work.writer, rc == 0);
    return rc < 0 ? rc : finished;
}
