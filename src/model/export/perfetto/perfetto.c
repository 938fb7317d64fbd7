/* perfetto.c — see perfetto.h. Writes the whole file: what precedes the threads, the start of each
   thread's sequence, and compression. */
#include "perfetto.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "alloc.h"
#include "hash.h"
#include "perfetto_parts.h"
#include "stacks.h"
#include "varint.h"

enum { LEVEL = 1, SNAPSHOTS_MOST = 4096 };

uint64_t kymo__perfetto_track(const struct kymo_perfetto *p, unsigned what, uint64_t a, uint64_t b)
{
    uint64_t h = kymo__hash_word(p->salt + what);
    h = kymo__hash_word(h ^ (h >> 29) ^ a);
    h = kymo__hash_word(h ^ (h >> 29) ^ b);
    return h | 1;
}

/* ---- before the threads ---- */

/* Write the first fields of the packet that starts a sequence or, unless it is the FIRST, starts it
   over: names and clocks have to be introduced again. */
static size_t first_packet(struct kymo_proto *out, uint64_t sequence, bool first)
{
    size_t packet = kymo__proto_open(out, TRACE_PACKET);
    kymo__proto_uint(out, PACKET_SEQUENCE, sequence);
    kymo__proto_uint(out, PACKET_FLAGS, STATE_CLEARED);
    if (first)
        kymo__proto_uint(out, PACKET_FIRST, 1);
    return packet;
}

size_t kymo__perfetto_main_packet(struct kymo_proto *out)
{
    size_t packet = kymo__proto_open(out, TRACE_PACKET);
    kymo__proto_uint(out, PACKET_SEQUENCE, KYMO__PERFETTO_MAIN);
    return packet;
}

static void add_clock(struct kymo_proto *out, unsigned id, int64_t time, bool incremental)
{
    size_t clock = kymo__proto_open(out, SNAPSHOT_CLOCK);
    kymo__proto_uint(out, CLOCK_ID, id);
    kymo__proto_uint(out, CLOCK_TIME, time > 0 ? (uint64_t)time : 0);
    if (incremental)
        kymo__proto_uint(out, CLOCK_INCREMENTAL, 1);
    kymo__proto_close(out, clock);
}

static void add_snapshot(struct kymo_proto *out, int64_t monotonic, int64_t wall)
{
    size_t packet = kymo__perfetto_main_packet(out),
           snapshot = kymo__proto_open(out, PACKET_CLOCK_SNAPSHOT);
    add_clock(out, CLOCK_MONOTONIC_ID, monotonic, false);
    add_clock(out, CLOCK_REALTIME_ID, wall, false);
    kymo__proto_uint(out, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_ID);
    kymo__proto_close(out, snapshot);
    kymo__proto_close(out, packet);
}

/* Write how the wall clock relates to monotonic time. Readers require time to advance between two
   snapshots. */
static void add_snapshots(struct kymo_proto *out, struct kymo_capture *capture,
                          const struct kymo_info *info)
{
    uint64_t ticks, step = 1 + info->snapshots / SNAPSHOTS_MOST;
    int64_t monotonic, wall, last = info->start > 0 ? info->start : 0;
    add_snapshot(out, last, info->wall_start);
    for (uint64_t i = 0; kymo_capture_snapshot(capture, i, &ticks, &monotonic, &wall) == 0;
         i += step)
        if (monotonic > last) {
            add_snapshot(out, monotonic, wall);
            last = monotonic;
        }
}

static uint64_t process_track(const struct kymo_perfetto *p, uint32_t index)
{
    return kymo__perfetto_track(p, TRACK_OF_PROCESS, index, 0);
}

static void add_process(struct kymo_proto *out, const struct kymo_perfetto *p,
                        const struct kymo_capture *capture, uint32_t index)
{
    struct kymo_process_info info;
    int64_t pid = kymo__crew_pid(capture, index, &info);
    size_t packet = kymo__perfetto_main_packet(out), track = kymo__proto_open(out, PACKET_TRACK);
    kymo__proto_uint(out, TRACK_UUID, process_track(p, index));
    size_t process = kymo__proto_open(out, TRACK_PROCESS);
    kymo__proto_uint(out, PROCESS_PID, (uint64_t)pid);
    kymo__proto_text(out, PROCESS_NAME, info.name);
    kymo__proto_close(out, process);
    kymo__proto_close(out, track);
    kymo__proto_close(out, packet);
}

/* Write the capture's metadata as an instant of the process at its start. */
static void add_metadata(struct kymo_proto *out, const struct kymo_perfetto *p,
                         struct kymo_capture *capture, kymo_ns start)
{
    const char *key, *value;
    size_t packet = kymo__perfetto_main_packet(out);
    kymo__proto_uint(out, PACKET_TIMESTAMP, start > 0 ? (uint64_t)start : 0);
    kymo__proto_uint(out, PACKET_CLOCK, CLOCK_MONOTONIC_ID);
    size_t event = kymo__proto_open(out, PACKET_TRACK_EVENT);
    kymo__proto_uint(out, EVENT_TYPE, TYPE_INSTANT);
    kymo__proto_uint(out, EVENT_TRACK, process_track(p, 0));
    kymo__proto_text(out, EVENT_NAME, "kymograph: recording");
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++) {
        size_t note = kymo__proto_open(out, EVENT_ANNOTATION);
        kymo__proto_text(out, ANNOTATION_NAME, *key ? key : "(unnamed)");
        kymo__proto_text(out, ANNOTATION_TEXT, value);
        kymo__proto_close(out, note);
    }
    kymo__proto_close(out, event);
    kymo__proto_close(out, packet);
}

static int write_beginning(struct kymo_perfetto *p, struct kymo_capture *capture,
                           const struct kymo_export_options *options, struct kymo_outfile *file)
{
    struct kymo_buffer bytes = {0};
    struct kymo_proto out = {.out = &bytes};
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    p->salt =
        kymo__hash_bytes(capture->reader->header.capture, sizeof(capture->reader->header.capture));
    kymo__proto_close(&out, first_packet(&out, KYMO__PERFETTO_MAIN, true));
    add_snapshots(&out, capture, &info);
    for (uint32_t i = 0; i < info.processes; i++)
        add_process(&out, p, capture, i);
    add_metadata(&out, p, capture, options->from > info.start ? options->from : info.start);
    int rc = kymo__perfetto_memory(&out, p, capture, options, process_track(p, 0));
    if (rc == 0)
        kymo__outfile_add(file, bytes.bytes, bytes.len);
    kymo__buffer_fini(&bytes);
    return rc;
}

/* ---- the start of a thread ---- */

static void add_interned(struct kymo_proto *out, unsigned field, unsigned id, const char *text)
{
    size_t entry = kymo__proto_open(out, field);
    kymo__proto_uint(out, NAME_ID, id);
    kymo__proto_text(out, NAME_TEXT, text);
    kymo__proto_close(out, entry);
}

static void add_own_names(struct kymo_proto *out)
{
    static const char *const categories[CATEGORIES] = {
        [CATEGORY_PYTHON] = "python",
        [CATEGORY_C] = "c",
        [CATEGORY_GC] = "gc",
        [CATEGORY_SPAN] = "span",
        [CATEGORY_INSTANT] = "instant",
        [CATEGORY_COUNTER] = "counter",
        [CATEGORY_FLOW] = "flow",
        [CATEGORY_ASYNC] = "async",
        [CATEGORY_TRACK] = "track",
        [CATEGORY_KYMO] = "kymograph",
        [CATEGORY_OPERATOR] = "operator",
    };
    static const char *const notes[NOTES] = {
        [NOTE_GENERATOR] = "generator",
        [NOTE_ENTER] = "enter",
        [NOTE_LEAVE] = "leave",
        [NOTE_STARTED] = "started",
        [NOTE_FINISHED] = "finished",
        [NOTE_END_LOST] = "end known",
        [NOTE_ID] = "id",
        [NOTE_EVENTS] = "events",
        [NOTE_REASON] = "reason",
        [NOTE_CALLS] = "calls until then",
    };
    size_t interned = kymo__proto_open(out, PACKET_INTERNED);
    for (unsigned i = 1; i < CATEGORIES; i++)
        add_interned(out, INTERNED_CATEGORY, i, categories[i]);
    for (unsigned i = 1; i < NOTES; i++)
        add_interned(out, INTERNED_ANNOTATION, i, notes[i]);
    kymo__proto_close(out, interned);
}

/* Write the unit and period of samples. */
static void add_timebase(struct kymo_proto *out, const struct kymo_tallies *tallies)
{
    bool wall = tallies->of_wall * 2 > tallies->samples;
    size_t defaults = kymo__proto_open(out, DEFAULTS_SAMPLE);
    size_t timebase = kymo__proto_open(out, SAMPLE_TIMEBASE);
    kymo__proto_uint(out, TIMEBASE_PERIOD, (uint64_t)tallies->period);
    kymo__proto_uint(out, TIMEBASE_COUNTER, COUNTER_CPU_CLOCK);
    kymo__proto_text(out, TIMEBASE_NAME, wall ? "samples of time" : "samples of CPU time");
    kymo__proto_close(out, timebase);
    kymo__proto_close(out, defaults);
}

static void add_thread(struct kymo_proto *out, const struct kymo_crew_thread *thread,
                       const struct kymo_perfetto_thread *t)
{
    size_t packet = first_packet(out, t->sequence, thread->first);
    size_t defaults = kymo__proto_open(out, PACKET_DEFAULTS);
    kymo__proto_uint(out, DEFAULTS_CLOCK, CLOCK_OWN);
    size_t event = kymo__proto_open(out, DEFAULTS_EVENT);
    kymo__proto_uint(out, EVENT_TRACK, t->track);
    kymo__proto_close(out, event);
    if (t->p->samples)
        add_timebase(out, &t->p->samples->tallies);
    kymo__proto_close(out, defaults);
    add_own_names(out);
    size_t track = kymo__proto_open(out, PACKET_TRACK);
    kymo__proto_uint(out, TRACK_UUID, t->track);
    size_t descriptor = kymo__proto_open(out, TRACK_THREAD);
    kymo__proto_uint(out, THREAD_PID, (uint64_t)thread->pid);
    kymo__proto_uint(out, THREAD_TID, thread->tid);
    kymo__proto_text(out, THREAD_NAME, thread->name);
    kymo__proto_close(out, descriptor);
    kymo__proto_close(out, track);
    kymo__proto_close(out, packet);
}

static void add_own_clock(struct kymo_proto *out, struct kymo_perfetto_thread *t)
{
    size_t packet = kymo__perfetto_packet(out, t);
    size_t snapshot = kymo__proto_open(out, PACKET_CLOCK_SNAPSHOT);
    add_clock(out, CLOCK_OWN, t->last, true);
    add_clock(out, CLOCK_MONOTONIC_ID, t->last, false);
    kymo__proto_close(out, snapshot);
    kymo__proto_close(out, packet);
}

int kymo__perfetto_begin(struct kymo_crew_thread *thread)
{
    struct kymo_perfetto_thread *t = thread->state;
    struct kymo_proto out = {.out = &thread->out};
    t->p = thread->arg;
    t->known = kymo__alloc_zeroed(t->p->callables.count);
    if (!t->known)
        return -ENOMEM;
    t->last = thread->since > 0 ? thread->since : 0;
    t->process = process_track(t->p, thread->info.process);
    t->track = kymo__perfetto_track(t->p, TRACK_OF_THREAD, thread->info.index, 0);
    t->sequence = KYMO__PERFETTO_MAIN + 1 + thread->info.index;
    t->prefix[0] = PACKET_SEQUENCE << 3;
    uint8_t *at = kymo__varint_put(t->prefix + 1, t->sequence);
    *at++ = PACKET_FLAGS << 3;
    *at++ = STATE_NEEDED;
    t->prefix_len = (unsigned)(at - t->prefix);
    add_thread(&out, thread, t);
    add_own_clock(&out, t);
    return out.error;
}

/* Lanes stay taken until their events end, and operators keep their payloads. */
static bool goes_on(const struct kymo_crew_thread *thread)
{
    const struct kymo_perfetto_thread *t = thread->state;
    return t->lanes.count != 0 || kymo__op_track_goes_on(&t->ops);
}

static void end_thread(struct kymo_crew_thread *thread)
{
    struct kymo_perfetto_thread *t = thread->state;
    kymo__op_track_fini(&t->ops);
    kymo__free(t->known);
    kymo__perfetto_known_free(t->sampled);
}

/* ---- whole ---- */

/* Compress a group of packets into one; readers unpack it. */
static int pack_packets(const struct kymo_buffer *chunk, struct kymo_buffer *packed)
{
    uLongf len = compressBound((uLong)chunk->len);
    int rc = kymo__buffer_reserve(packed, len + 32);
    if (rc < 0)
        return rc;
    /* The packet's header depends on its length, so leave room for it. */
    uint8_t head[32], *at = head;
    uint8_t *body = packed->bytes + sizeof(head);
    if (compress2(body, &len, chunk->bytes, (uLong)chunk->len, LEVEL) != Z_OK)
        return -ENOMEM;
    if (len > chunk->len - chunk->len / 8)
        return 1;
    uint8_t inner[16];
    uint8_t *end = kymo__varint_put(inner, PACKET_COMPRESSED << 3 | 2);
    end = kymo__varint_put(end, len);
    *at++ = TRACE_PACKET << 3 | 2;
    at = kymo__varint_put(at, len + (size_t)(end - inner));
    memcpy(at, inner, (size_t)(end - inner));
    at += end - inner;
    memcpy(packed->bytes, head, (size_t)(at - head));
    memmove(packed->bytes + (at - head), body, len);
    packed->len = (size_t)(at - head) + len;
    return 0;
}

static void make_head(struct kymo_perfetto *p, uint32_t index)
{
    const struct kymo_callable *callable = &p->callables.all[index];
    struct kymo_perfetto_head *head = &p->heads[index];
    static const uint8_t categories[] = {
        [KYMO_CLASS_NAME] = CATEGORY_SPAN,
        [KYMO_CLASS_FUNCTION] = CATEGORY_PYTHON,
        [KYMO_CLASS_NATIVE] = CATEGORY_C,
        [KYMO_CLASS_METHOD] = CATEGORY_C,
        [KYMO_CLASS_TYPE] = CATEGORY_C,
        [KYMO_CLASS_CALLABLE] = CATEGORY_C,
        [KYMO_CLASS_GC] = CATEGORY_GC,
        [KYMO_CLASS_WAIT] = CATEGORY_C,
        [KYMO_CLASS_OPERATOR] = CATEGORY_OPERATOR,
    };
    uint8_t *at = head->bytes, *start;
    *at++ = PACKET_TRACK_EVENT << 3 | 2;
    start = ++at;
    *at++ = EVENT_TYPE << 3;
    *at++ = TYPE_BEGIN;
    *at++ = EVENT_CATEGORY << 3;
    *at++ = callable->class < sizeof(categories) ? categories[callable->class] : CATEGORY_C;
    *at++ = EVENT_NAME_ID << 3;
    at = kymo__varint_put(at, (uint64_t)index + 1);
    if (*callable->file) {
        at = kymo__varint_put(at, EVENT_SOURCE_ID << 3);
        at = kymo__varint_put(at, (uint64_t)index + 1);
    }
    start[-1] = (uint8_t)(at - start);
    head->len = (uint8_t)(at - head->bytes);
}

int kymo__perfetto_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                         struct kymo_outfile *out)
{
    const struct kymo_crew_format format = {
        .state_size = sizeof(struct kymo_perfetto_thread),
        .begin = kymo__perfetto_begin,
        .enter = kymo__perfetto_enter,
        .leave = kymo__perfetto_leave,
        .other = kymo__perfetto_other,
        .goes_on = goes_on,
        .end = end_thread,
        .pack = out->path && !out->packing ? pack_packets : NULL,
    };
    struct kymo_perfetto p = {.capture = capture};
    int rc = kymo__callables_init(&p.callables, capture);
    if (rc == 0)
        rc = kymo__op_export_init(&p.ops, capture, options);
    if (rc == 0 && kymo__count_samples(capture))
        rc = kymo__samples_chosen(capture, options, 1, &p.samples);
    if (rc == 0) {
        p.heads = kymo__alloc(p.callables.count * sizeof(*p.heads));
        rc = p.heads ? write_beginning(&p, capture, options, out) : -ENOMEM;
    }
    if (rc == 0) {
        for (uint32_t i = 0; i < p.callables.count; i++)
            make_head(&p, i);
        rc = kymo__crew_write(capture, options, &format, &p, out);
    }
    kymo__free(p.heads);
    kymo__samples_free(p.samples);
    kymo__op_export_fini(&p.ops);
    kymo__callables_fini(&p.callables);
    return rc;
}
