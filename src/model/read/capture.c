/* capture.c — open a capture and answer questions about it. */
#include "capture.h"

#include <errno.h>
#include <string.h>

#include <kymo/track.h>

#include "alloc.h"
#include "decode.h"
#include "handout.h"
#include "stacks.h"

static int fill_info(const struct kymo_capture *capture, struct kymo_info *info);

kymo_ns kymo__track_ns(const struct kymo_capture *c, uint32_t thread, uint64_t time, size_t *hint)
{
    uint32_t clock = kymo__thread_more(c->reader, thread)->clock;
    if (clock == KYMO__CLOCK_TICKS)
        return kymo__timebase_ns(&c->base, time, hint);
    if (clock < c->reader->clock_count && c->clocks[clock].count)
        return kymo__timebase_ns(&c->clocks[clock], time, hint);
    return time < INT64_MAX ? (kymo_ns)time : INT64_MAX;
}

/* Set up the clocks of tracks, and convert the start and end of their runs to the capture's clock,
   for code that inspects runs before decoding them. */
static int open_clocks(struct kymo_capture *c)
{
    struct kymo_reader *r = c->reader;
    c->clocks = kymo__alloc_zeroed((r->clock_count + 1) * sizeof(*c->clocks));
    int rc = c->clocks ? 0 : -ENOMEM;
    for (size_t i = KYMO__CLOCK_NS + 1; rc == 0 && i < r->clock_count; i++)
        if (r->clocks[i].count)
            rc = kymo__timebase_init(&c->clocks[i], r->clocks[i].times, r->clocks[i].count,
                                     (double)r->clocks[i].rate);
    for (size_t i = 0; rc == 0 && i < r->run_count; i++) {
        struct kymo_run *run = &r->runs[i];
        size_t hint = 0;
        if (run->type != KYMO__BLOCK_TRACK || run->first_ticks > run->last_ticks)
            continue;
        run->shifted = 1;
        kymo_ns first = kymo__track_ns(c, run->thread, run->first_ticks, &hint);
        kymo_ns last = kymo__track_ns(c, run->thread, run->last_ticks, &hint);
        run->first_ticks = kymo__timebase_ticks(&c->base, first);
        run->last_ticks = kymo__timebase_ticks(&c->base, last);
    }
    return rc;
}

int kymo_open(const char *path, struct kymo_capture **capture)
{
    if (!path || !capture)
        return -EINVAL;
    struct kymo_capture *c = kymo__alloc_zeroed(sizeof(*c));
    if (!c)
        return -ENOMEM;
    int rc = kymo__reader_open(path, &c->reader);
    if (rc == 0) {
        struct kymo_reader *r = c->reader;
        const struct kymo_file_header *h = &r->header;
        /* Use the header's snapshot if the definitions are damaged. */
        const struct kymo_snapshot first = {h->ticks, h->monotonic, h->wall};
        rc = kymo__timebase_init(&c->base, r->snapshot_count ? r->snapshots : &first,
                                 r->snapshot_count ? r->snapshot_count : 1, (double)h->ticks_rate);
    }
    if (rc == 0)
        rc = open_clocks(c);
    if (rc < 0) {
        kymo_close(c);
        return rc;
    }
    struct kymo_info info = {.size = sizeof(info)};
    fill_info(c, &info);
    c->end = info.end;
    *capture = c;
    return 0;
}

void kymo_close(struct kymo_capture *capture)
{
    if (!capture)
        return;
    for (size_t i = 0; capture->clocks && i < capture->reader->clock_count; i++)
        kymo__timebase_fini(&capture->clocks[i]);
    kymo__free(capture->clocks);
    kymo__reader_close(capture->reader);
    kymo__timebase_fini(&capture->base);
    kymo__free(capture);
}

int kymo__capture_share(struct kymo_capture *capture, struct kymo_capture **shared)
{
    /* Copy what a reader changes while reading: its scratch space, and the state of the runs, each
       of which belongs to one thread of the capture. */
    struct kymo_capture *c = kymo__alloc_zeroed(sizeof(*c));
    struct kymo_reader *r = kymo__alloc(sizeof(*r));
    struct kymo_unpacker *unpacker = kymo__unpacker_new();
    if (!c || !r || !unpacker) {
        kymo__unpacker_free(unpacker);
        kymo__free(r);
        kymo__free(c);
        return -ENOMEM;
    }
    *r = *capture->reader;
    r->unpacker = unpacker;
    r->stored = (struct kymo_buffer){0};
    r->damaged_blocks = 0;
    c->reader = r;
    c->base = capture->base;
    c->clocks = capture->clocks;
    c->end = capture->end;
    *shared = c;
    return 0;
}

void kymo__capture_unshare(struct kymo_capture *capture, struct kymo_capture *shared)
{
    if (!shared)
        return;
    capture->reader->damaged_blocks += shared->reader->damaged_blocks;
    kymo__unpacker_free(shared->reader->unpacker);
    kymo__buffer_fini(&shared->reader->stored);
    kymo__free(shared->reader);
    kymo__free(shared);
}

static kymo_ns at(const struct kymo_capture *c, uint64_t ticks)
{
    size_t hint = 0;
    return kymo__timebase_ns(&c->base, ticks, &hint);
}

/* Fill in everything but the number of samples, which requires reading the records. */
static int fill_info(const struct kymo_capture *capture, struct kymo_info *info)
{
    const struct kymo_reader *r = capture->reader;
    uint64_t first = UINT64_MAX, last = 0;
    struct kymo_info full = {
        .version_major = r->header.major,
        .version_minor = r->header.minor,
        .ending = r->ending,
        .error = r->error,
        .clock = (int)r->header.clock,
        .ticks_per_second = capture->base.ticks_per_second,
        .snapshots = r->snapshot_count,
        .pid = r->header.pid,
        .file_bytes = r->file_bytes,
        .live_bytes = r->live_bytes,
        .threads = r->thread_count,
        .recovered_records = r->live_records,
        .damaged_blocks = r->damaged_blocks,
        .damaged_bytes = r->damaged_bytes,
        .indexed = r->indexed,
        .expired_records = r->ring_records,
        .unknown_parts = r->unknown_parts,
        .processes = r->process_count ? r->process_count : 1,
        .stacks = r->stacks.stack_count,
        .samples = capture->samples,
    };
    if (capture->joined) {
        full.ending = capture->ending;
        full.error = capture->error;
        full.file_bytes = capture->file_bytes;
        full.live_bytes = capture->live_bytes;
        full.recovered_records = capture->recovered;
        full.unknown_parts = capture->unknown;
        full.version_minor = capture->version_minor;
    }
    for (size_t i = 0; i < r->run_count; i++) {
        const struct kymo_run *run = &r->runs[i];
        if (run->damaged || run->first_ticks > run->last_ticks)
            continue;
        full.records += run->events;
        first = run->first_ticks < first ? run->first_ticks : first;
        last = run->last_ticks > last ? run->last_ticks : last;
    }
    if (r->ranged) {
        first = r->range_first < first ? r->range_first : first;
        last = r->range_last > last ? r->range_last : last;
    }
    for (size_t i = 0; i < r->gap_count; i++) {
        bool expired = r->gaps[i].reason == KYMO_GAP_FLIGHT;
        full.gaps += !expired;
        *(expired ? &full.expired_records : &full.lost_records) += r->gaps[i].count;
    }
    if (first > last)
        first = last = r->header.ticks;
    full.start = at(capture, first);
    full.end = at(capture, last);
    full.wall_start = full.start + capture->base.wall_offset;
    return kymo__hand_out(info, &full, sizeof(full));
}

int kymo_capture_info(const struct kymo_capture *capture, struct kymo_info *info)
{
    /* Count samples only if the caller asks and only once. */
    if (info->size >= sizeof(*info))
        kymo__count_samples((struct kymo_capture *)(uintptr_t)capture);
    return fill_info(capture, info);
}

int64_t kymo_capture_verify(struct kymo_capture *capture)
{
    struct kymo_reader *r = capture->reader;
    struct kymo_buffer encoded = {0};
    struct kymo_decoder *decoder = kymo__alloc_zeroed(sizeof(*decoder));
    int rc = decoder ? 0 : -ENOMEM;
    for (size_t i = 0; rc >= 0 && i < r->run_count; i++) {
        struct kymo_run *run = &r->runs[i];
        struct kymo_block_header header;
        if (run->is_live || run->damaged)
            continue;
        rc = kymo__reader_payload(r, run, &header, &encoded);
        if (rc == 0) {
            struct kymo_record records[256];
            kymo__decode_block(decoder, &header, encoded.bytes, encoded.len);
            while ((rc = kymo__decode(decoder, records, 256)) > 0)
                continue;
            if (rc == KYMO_EBLOCK)
                kymo__reader_damaged(r, run);
        }
        rc = rc == KYMO_EBLOCK ? 0 : rc;
    }
    if (rc >= 0)
        rc = kymo__reader_verify(r);
    kymo__buffer_fini(&encoded);
    if (decoder)
        kymo__decode_fini(decoder);
    kymo__free(decoder);
    return rc < 0 ? rc : (int64_t)r->damaged_blocks;
}

/* Return the metadata value for KEY, or "". */
static const char *metadata(const struct kymo_reader *r, const char *key)
{
    for (size_t i = 0; i < r->meta_count; i++)
        if (strcmp(kymo__reader_string(r, r->metas[i].key), key) == 0)
            return kymo__reader_string(r, r->metas[i].value);
    return "";
}

int kymo_capture_process(const struct kymo_capture *capture, uint32_t index,
                         struct kymo_process_info *process)
{
    const struct kymo_reader *r = capture->reader;
    struct kymo_process_info full = {.index = index, .pid = r->header.pid};
    if (index >= (r->process_count ? r->process_count : 1))
        return -EINVAL;
    if (index < r->process_count && r->processes[index].defined) {
        full.pid = (int64_t)r->processes[index].pid;
        full.name = kymo__reader_string(r, r->processes[index].name);
        full.machine = kymo__reader_string(r, r->processes[index].machine);
    } else {
        full.name = metadata(r, "process_name");
        full.machine = metadata(r, "host");
    }
    return kymo__hand_out(process, &full, sizeof(full));
}

int kymo_capture_thread(const struct kymo_capture *capture, uint32_t index,
                        struct kymo_thread_info *thread)
{
    const struct kymo_reader *r = capture->reader;
    if (index >= r->thread_count)
        return -EINVAL;
    const struct kymo_reader_thread *t = &r->threads[index];
    uint64_t first = UINT64_MAX, last = 0;
    struct kymo_thread_info full = {
        .index = index,
        .tid = (int64_t)t->tid,
        .name = kymo__reader_string(r, t->name),
        .process = t->process < r->process_count ? t->process : 0,
        .pid = r->header.pid,
    };
    if (full.process < r->process_count && r->processes[full.process].defined)
        full.pid = (int64_t)r->processes[full.process].pid;
    for (size_t i = t->run; i < (size_t)t->run + t->runs; i++) {
        const struct kymo_run *run = &r->runs[i];
        if (run->damaged || run->first_ticks > run->last_ticks)
            continue;
        full.records += run->events;
        first = run->first_ticks < first ? run->first_ticks : first;
        last = run->last_ticks > last ? run->last_ticks : last;
    }
    full.lost = kymo__thread_more(r, index)->lost;
    if (first <= last) {
        full.first = at(capture, first);
        full.last = at(capture, last);
    }
    return kymo__hand_out(thread, &full, sizeof(full));
}

int kymo_capture_track(const struct kymo_capture *capture, uint32_t index,
                       struct kymo_track_info *info)
{
    const struct kymo_reader *r = capture->reader;
    if (index >= r->thread_count || !kymo__thread_more(r, index)->track)
        return -ENOENT;
    const struct kymo_thread_more *t = kymo__thread_more(r, index);
    const struct kymo_track_info full = {
        .device = t->device,
        .stream = t->stream,
        .clock = (int)t->clock,
        .clock_name = t->clock == KYMO__CLOCK_TICKS ? "ticks"
                      : t->clock > KYMO__CLOCK_NS && t->clock < r->clock_count
                          ? kymo__reader_string(r, r->clocks[t->clock].name)
                          : "monotonic",
    };
    return kymo__hand_out(info, &full, sizeof(full));
}

int kymo_capture_metadata(const struct kymo_capture *capture, uint32_t index, const char **key,
                          const char **value)
{
    const struct kymo_reader *r = capture->reader;
    if (index >= r->meta_count)
        return -ENOENT;
    *key = kymo__reader_string(r, r->metas[index].key);
    *value = kymo__reader_string(r, r->metas[index].value);
    return 0;
}

int kymo_capture_snapshot(const struct kymo_capture *capture, uint64_t index, uint64_t *ticks,
                          int64_t *monotonic, int64_t *wall)
{
    const struct kymo_reader *r = capture->reader;
    if (index >= r->snapshot_count)
        return -ENOENT;
    *ticks = r->snapshots[index].ticks;
    *monotonic = r->snapshots[index].monotonic;
    *wall = r->snapshots[index].wall;
    return 0;
}

int kymo_capture_gap(const struct kymo_capture *capture, uint64_t index, uint32_t *thread,
                     int *reason, uint64_t *count, kymo_ns *first, kymo_ns *last)
{
    const struct kymo_reader *r = capture->reader;
    if (index >= r->gap_count)
        return -ENOENT;
    const struct kymo_reader_gap *gap = &r->gaps[index];
    if (thread)
        *thread = gap->thread;
    if (reason)
        *reason = (int)gap->reason;
    if (count)
        *count = gap->count;
    if (first)
        *first = at(capture, gap->first_ticks);
    if (last)
        *last = at(capture, gap->last_ticks);
    return 0;
}
