/* listing.h — everything a capture says, as text: what a golden file is compared by. */
#ifndef KYMO_LISTING_H
#define KYMO_LISTING_H

#include <inttypes.h>
#include <kymo/kymo.h>
#include <kymo/payload.h>
#include <kymo/track.h>
#include <stdio.h>

static inline void list_info(FILE *out, const struct kymo_capture *capture,
                             const struct kymo_info *info)
{
    fprintf(out, "version %d.%d\n", info->version_major, info->version_minor);
    fprintf(out, "ending %d error %d indexed %d\n", info->ending, info->error, info->indexed);
    fprintf(out, "clock %d at %.0f per second\n", info->clock, info->ticks_per_second);
    fprintf(out, "pid %" PRId64 "\n", info->pid);
    fprintf(out, "from %" PRId64 " to %" PRId64 " wall %" PRId64 "\n", info->start, info->end,
            info->wall_start);
    fprintf(out, "bytes %" PRIu64 " live %" PRIu64 "\n", info->file_bytes, info->live_bytes);
    fprintf(out, "records %" PRIu64 " recovered %" PRIu64 "\n", info->records,
            info->recovered_records);
    fprintf(out, "gaps %" PRIu64 " lost %" PRIu64 "\n", info->gaps, info->lost_records);
    fprintf(out, "damaged %" PRIu64 " blocks %" PRIu64 " bytes\n", info->damaged_blocks,
            info->damaged_bytes);
    uint64_t ticks;
    int64_t monotonic, wall;
    for (uint64_t i = 0; kymo_capture_snapshot(capture, i, &ticks, &monotonic, &wall) == 0; i++)
        fprintf(out, "snapshot %" PRIu64 " = %" PRId64 " = %" PRId64 "\n", ticks, monotonic, wall);
    const char *key, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        fprintf(out, "metadata %s = %s\n", key, value);
    struct kymo_process_info process = {.size = sizeof(process)};
    for (uint32_t i = 0; info->processes > 1 && kymo_capture_process(capture, i, &process) == 0;
         i++)
        fprintf(out, "process %u pid %" PRId64 " \"%s\" on \"%s\"\n", process.index, process.pid,
                process.name, process.machine);
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    for (uint32_t i = 0; kymo_capture_thread(capture, i, &thread) == 0; i++)
        fprintf(out,
                "thread %u tid %" PRId64 " \"%s\" records %" PRIu64 " lost %" PRIu64
                " from %" PRId64 " to %" PRId64 "\n",
                thread.index, thread.tid, thread.name, thread.records, thread.lost, thread.first,
                thread.last);
    for (uint32_t i = 0; info->processes > 1 && kymo_capture_thread(capture, i, &thread) == 0; i++)
        fprintf(out, "thread %u is of process %u, pid %" PRId64 "\n", thread.index, thread.process,
                thread.pid);
}

static inline void list_tracks(FILE *out, const struct kymo_capture *capture,
                               const struct kymo_info *info)
{
    struct kymo_track_info track = {.size = sizeof(track)};
    for (uint32_t i = 0; i < info->threads; i++)
        if (kymo_capture_track(capture, i, &track) == 0)
            fprintf(out,
                    "thread %u is a track: device %" PRId64 " stream %" PRIu64 " clock \"%s\"\n", i,
                    track.device, track.stream, track.clock_name);
}

static inline void list_stacks(FILE *out, const struct kymo_capture *capture,
                               const struct kymo_info *info)
{
    struct kymo_stack_frame frames[64];
    struct kymo_capture_module module = {.size = sizeof(module)};
    uint32_t id;
    if (!info->stacks)
        return;
    fprintf(out, "stacks %" PRIu64 " samples %" PRIu64 "\n", info->stacks, info->samples);
    for (uint32_t i = 1; kymo_capture_module_at(capture, i, &module) == 0; i++)
        fprintf(out, "module %u \"%s\" \"%s\" base %" PRIx64 " code %" PRIx64 " to %" PRIx64 "\n",
                i, module.path, module.build_id, module.base, module.low, module.high);
    for (uint64_t i = 0; kymo_capture_stack_at(capture, i, &id) == 0; i++) {
        size_t count = kymo_capture_stack(capture, id, frames, 64);
        fprintf(out, "stack %u of %zu\n", id, count);
        for (size_t j = 0; j < count && j < 64; j++) {
            const struct kymo_stack_frame *f = &frames[j];
            if (f->kind == KYMO_FRAME_MANAGED)
                fprintf(out, "  %s \"%s\":%u line %u\n", f->name, f->file, f->first_line, f->line);
            else
                fprintf(out, "  kind %u module %u \"%s\" at %" PRIx64 "\n", f->kind, f->module,
                        f->path, f->address);
        }
    }
}

static inline void list_event(FILE *out, const struct kymo_event *e)
{
    static const char *const kinds[] = {
        [KYMO_ENTER] = "enter",
        [KYMO_LEAVE] = "leave",
        [KYMO_INSTANT] = "instant",
        [KYMO_COUNTER] = "counter",
        [KYMO_FLOW_OUT] = "flow out",
        [KYMO_FLOW_IN] = "flow in",
        [KYMO_ASYNC_BEGIN] = "async begin",
        [KYMO_ASYNC_END] = "async end",
        [KYMO_GAP] = "gap",
        [KYMO_COMPLETE] = "complete",
        [KYMO_ARG] = "arg",
        [KYMO_OFF] = "off",
        [KYMO_SAMPLE] = "sample",
        [KYMO_ARG_TEXT] = "arg text",
        [KYMO_PAYLOAD] = "payload",
    };
    fprintf(out, "%" PRId64 " %" PRIu64 " thread %u %s", e->time, e->ticks, e->thread,
            e->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[e->kind] ? kinds[e->kind] : "?");
    if (e->detail)
        fprintf(out, " detail %u", e->detail);
    if (e->key)
        fprintf(out, " key %u \"%s\"", e->key, e->name);
    if (e->file[0] || e->line || e->class_)
        fprintf(out, " \"%s\":%u class %u", e->file, e->line, e->class_);
    if (e->id)
        fprintf(out, " id %" PRIu64, e->id);
    if (e->kind == KYMO_COUNTER)
        fprintf(out, " value %.17g", e->value);
    if (e->kind == KYMO_ARG_TEXT)
        fprintf(out, " text \"%s\"", e->text);
    for (size_t i = 0; e->kind == KYMO_PAYLOAD && i < e->payload_bytes; i++)
        fprintf(out, "%s%02x", i ? "" : " bytes ", ((const uint8_t *)e->payload)[i]);
    fputc('\n', out);
}

/* All of CAPTURE to OUT. Returns 0 or a negative code. */
static inline int list_capture(FILE *out, struct kymo_capture *capture)
{
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    struct kymo_info info = {.size = sizeof(info)};
    int64_t damaged = kymo_capture_verify(capture);
    int rc = damaged < 0 ? (int)damaged : kymo_capture_info(capture, &info);
    if (rc == 0)
        rc = kymo_cursor_new(capture, NULL, &cursor);
    if (rc < 0)
        return rc;
    list_info(out, capture, &info);
    list_tracks(out, capture, &info);
    list_stacks(out, capture, &info);
    while ((rc = kymo_cursor_next(cursor, &event)) > 0) {
        struct kymo_value value = {.size = sizeof(value)};
        list_event(out, &event);
        for (unsigned i = 0; kymo_event_value(capture, &event, i, &value) == 0; i++)
            fprintf(out, "  %s: type %d number %" PRIu64 " text \"%.*s\" length %zu\n", value.name,
                    value.type, value.number,
                    value.type == KYMO_FIELD_BYTES || value.type > KYMO_FIELD_NAME
                        ? 0
                        : (int)value.length,
                    value.text, value.length);
    }
    kymo_cursor_free(cursor);
    return rc;
}

#endif
