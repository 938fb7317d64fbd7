/* snapshot.c — see snapshot.h.

   The file is a pickled dictionary of what torch.cuda.memory._snapshot returns:

       segments       [{address, total_size, blocks: [{address, size, state, frames}], …}]: what is
                      alive at the end
       device_traces  for each device, entries in order of time: {action, addr, size, stream,
                      time_us, frames, category, user_metadata}
       allocator_settings, external_annotations

   A process is a device. PyTorch's viewer goes through the entries backwards from the segments at
   the end, so every alloc must find its block, every block its segment, and the blocks of a segment
   must fill it exactly, with "inactive" ones between them. It fails if entries have categories of
   which none is "unknown", and draws a free only as the pair free_requested, free_completed. */
#include "snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"
#include "snapshot_parts.h"

/* ---- stacks ---- */

static int by_node(const void *a, const void *b)
{
    const struct kymo_tally *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Find out which frames to show, and their names. */
static int name_stacks(struct kymo_torch_snapshot *s)
{
    const struct kymo_sites *sites = &s->replay.sites;
    const struct kymo_samples_options options = {
        .tally = {.from = INT64_MIN, .to = INT64_MAX}, .nodes = 1, .native = s->options->native};
    struct kymo_tallies t = {.period = 1, .period_known = true};
    t.all = kymo__alloc((sites->count + 1) * sizeof(*t.all));
    s->frames_of = kymo__alloc_zeroed((sites->count + 1) * sizeof(*s->frames_of));
    s->shown = kymo__alloc((KYMO__SHOWN_MOST + 1) * sizeof(*s->shown));
    if (!t.all || !s->frames_of || !s->shown) {
        kymo__free(t.all);
        return -ENOMEM;
    }
    for (size_t i = 0; i < sites->count; i++)
        t.all[t.count++] = (struct kymo_tally){
            .node = kymo__stackdefs_find(&s->capture->reader->stacks, sites->all[i].stack)};
    qsort(t.all, t.count, sizeof(*t.all), by_node);
    int rc = kymo__samples_of(s->capture, &options, &t, &s->stacks);
    if (rc < 0)
        return rc;
    s->frame_of = kymo__alloc_zeroed((s->stacks->named + 2) * sizeof(*s->frame_of));
    return s->frame_of ? 0 : -ENOMEM;
}

static void write_frame(struct kymo_torch_snapshot *s, uint32_t named)
{
    struct kymo_pickle *p = &s->pickle;
    if (s->frame_of[named]) {
        kymo__pickle_again(p, s->frame_of[named]);
        return;
    }
    const struct kymo_callable *callable = kymo__samples_callable(s->stacks, named);
    uint32_t line = named < s->stacks->named ? s->stacks->names.named[named].line : callable->line;
    kymo__pickle_open(p);
    kymo__pickle_word(p, "name", callable->name);
    kymo__pickle_word(p, "filename", callable->file);
    kymo__pickle_number(p, "line", line);
    kymo__pickle_close(p);
    s->frame_of[named] = kymo__pickle_remember(p);
}

static void write_frames(struct kymo_torch_snapshot *s, uint32_t site)
{
    struct kymo_pickle *p = &s->pickle;
    uint32_t node =
        kymo__stackdefs_find(&s->capture->reader->stacks, s->replay.sites.all[site].stack);
    kymo__pickle_text(p, "frames");
    if (s->frames_of[site]) {
        kymo__pickle_again(p, s->frames_of[site]);
        return;
    }
    struct kymo_pickle_list list = kymo__pickle_list(p);
    size_t count = node ? kymo__samples_shown(s->stacks, node, s->shown) : 0;
    for (size_t i = 0; i < count; i++) {
        kymo__pickle_next(p, &list);
        write_frame(s, s->shown[i].named);
    }
    kymo__pickle_done(p, &list);
    s->frames_of[site] = kymo__pickle_remember(p);
}

static void no_frames(struct kymo_torch_snapshot *s)
{
    kymo__pickle_text(&s->pickle, "frames");
    struct kymo_pickle_list none = kymo__pickle_list(&s->pickle);
    kymo__pickle_done(&s->pickle, &none);
}

/* ---- the trace ---- */

static uint64_t address_of(uint64_t address)
{
    return address & ((UINT64_C(1) << KYMO__ADDRESS_BITS) - 1);
}

static uint64_t microseconds(struct kymo_torch_snapshot *s, kymo_ns time)
{
    int64_t wall = kymo__ns_add(s->info.wall_start, time - s->info.start);
    return wall > 0 ? (uint64_t)wall / 1000 : 0;
}

static void open_entry(struct kymo_torch_snapshot *s, const char *action, uint64_t address,
                       uint64_t size, kymo_ns time)
{
    struct kymo_pickle *p = &s->pickle;
    kymo__pickle_next(p, &s->trace);
    kymo__pickle_open(p);
    kymo__pickle_word(p, "action", action);
    kymo__pickle_number(p, "addr", address_of(address));
    kymo__pickle_number(p, "size", size);
    kymo__pickle_number(p, "stream", 0);
    kymo__pickle_number(p, "time_us", microseconds(s, time));
}

static void write_entry(void *arg, enum kymo_host_action action,
                        const struct kymo_host_segment *segment,
                        const struct kymo_kept_block *block, uint64_t ticks)
{
    struct kymo_torch_snapshot *s = arg;
    struct kymo_pickle *p = &s->pickle;
    const struct kymo_heap_site *site = &s->replay.sites.all[block->site];
    kymo_ns time = kymo__timebase_ns(&s->capture->base, ticks, &s->hint);
    static const char *const words[][2] = {
        [KYMO__SEGMENT_ALLOC] = {"segment_alloc"},
        [KYMO__SEGMENT_FREE] = {"segment_free"},
        [KYMO__BLOCK_ALLOC] = {"alloc"},
        [KYMO__BLOCK_FREE] = {"free_requested", "free_completed"},
    };
    bool of_block = action == KYMO__BLOCK_ALLOC || action == KYMO__BLOCK_FREE;
    for (int i = 0; segment->process == s->process && i < 2 && words[action][i]; i++) {
        open_entry(s, words[action][i], of_block ? block->address : segment->address,
                   of_block ? block->bytes : segment->bytes, time);
        write_frames(s, block->site);
        if (action == KYMO__BLOCK_ALLOC) {
            kymo__pickle_word(p, "category", kymo_heap_category_word(site->category));
            kymo__pickle_word(p, "user_metadata",
                              kymo__key_name(s->capture->reader, site->function));
        }
        kymo__pickle_close(p);
    }
}

/* Say in the trace itself what is not in it. */
static void write_note(struct kymo_torch_snapshot *s)
{
    struct kymo_pickle *p = &s->pickle;
    const struct kymo_kept_blocks *k = &s->kept;
    char note[320];
    int len = snprintf(note, sizeof(note), "kymograph %s: ", KYMO_VERSION);
    if (s->live)
        snprintf(note + len, sizeof(note) - (size_t)len,
                 "only what was alive at the end was recorded: a block is all memory of a stack, "
                 "at an address of no meaning");
    else if (k->folded.count)
        snprintf(note + len, sizeof(note) - (size_t)len,
                 "%" PRIu64 " short-lived or small allocations are left out, %" PRIu64
                 " bytes in all, the largest %" PRIu64 "; %" PRIu64 " of them, %" PRIu64
                 " bytes, were alive at the end",
                 k->folded.count, k->folded.bytes, k->folded.largest, k->folded.alive,
                 k->folded.alive_bytes);
    else
        snprintf(note + len, sizeof(note) - (size_t)len, "all allocations are here");
    kymo_ns end = s->options->to < s->info.end ? s->options->to : s->info.end;
    open_entry(s, "snapshot", 0, 0, end);
    no_frames(s);
    kymo__pickle_word(p, "category", "unknown");
    kymo__pickle_word(p, "user_metadata", note);
    kymo__pickle_close(p);
}

static void write_traces(struct kymo_torch_snapshot *s)
{
    struct kymo_pickle *p = &s->pickle;
    struct kymo_pickle_list traces = kymo__pickle_list(p);
    for (s->process = 0; s->process < s->info.processes; s->process++) {
        kymo__pickle_next(p, &traces);
        s->trace = kymo__pickle_list(p);
        kymo__host_segments_walk(&s->segments, write_entry, s);
        write_note(s);
        kymo__pickle_done(p, &s->trace);
    }
    kymo__pickle_done(p, &traces);
}

/* ---- what is alive at the end ---- */

static void write_block(struct kymo_torch_snapshot *s, struct kymo_pickle_list *list,
                        uint64_t address, uint64_t size, const struct kymo_kept_block *block)
{
    struct kymo_pickle *p = &s->pickle;
    if (!size)
        return;
    kymo__pickle_next(p, list);
    kymo__pickle_open(p);
    kymo__pickle_number(p, "address", address_of(address));
    kymo__pickle_number(p, "size", size);
    kymo__pickle_number(p, "requested_size", block ? size : 0);
    kymo__pickle_word(p, "state", block ? "active_allocated" : "inactive");
    if (block)
        write_frames(s, block->site);
    else
        no_frames(s);
    kymo__pickle_close(p);
}

/* Is BLOCK alive at the end, and a block of its own? */
static bool remains(const struct kymo_kept_block *block)
{
    return block->bytes && !block->holds && block->died == UINT64_MAX;
}

/* Write SEGMENT with the blocks from position AT on. */
static void write_segment(struct kymo_torch_snapshot *s, const struct kymo_host_segment *segment,
                          size_t at, size_t end)
{
    struct kymo_pickle *p = &s->pickle;
    const struct kymo_kept_block *blocks = s->kept.all;
    uint64_t active = 0, next = segment->address;
    for (size_t i = at; i < end; i++)
        active += remains(&blocks[i]) ? blocks[i].bytes : 0;
    kymo__pickle_open(p);
    kymo__pickle_number(p, "device", segment->process);
    kymo__pickle_number(p, "address", address_of(segment->address));
    kymo__pickle_number(p, "total_size", segment->bytes);
    kymo__pickle_number(p, "allocated_size", active);
    kymo__pickle_number(p, "active_size", active);
    kymo__pickle_number(p, "requested_size", active);
    kymo__pickle_number(p, "stream", 0);
    kymo__pickle_word(p, "segment_type", segment->alone ? "large" : "small");
    kymo__pickle_text(p, "segment_pool_id");
    kymo__pickle_zeros(p);
    kymo__pickle_text(p, "is_expandable");
    kymo__pickle_bool(p, false);
    no_frames(s);
    kymo__pickle_text(p, "blocks");
    struct kymo_pickle_list list = kymo__pickle_list(p);
    for (size_t i = at; i < end; i++) {
        if (!remains(&blocks[i]))
            continue;
        write_block(s, &list, next, blocks[i].address - next, NULL);
        write_block(s, &list, blocks[i].address, blocks[i].bytes, &blocks[i]);
        next = blocks[i].address + blocks[i].bytes;
    }
    write_block(s, &list, next, segment->address + segment->bytes - next, NULL);
    kymo__pickle_done(p, &list);
    kymo__pickle_close(p);
}

/* After a walk, segments that are open remain. */
static void write_segments(struct kymo_torch_snapshot *s)
{
    struct kymo_pickle *p = &s->pickle;
    struct kymo_pickle_list list = kymo__pickle_list(p);
    size_t at = 0;
    for (size_t i = 0; i < s->segments.count; i++) {
        size_t end = at;
        while (end < s->kept.count && (!s->kept.all[end].bytes || s->kept.all[end].segment == i))
            end++;
        if (s->segments.all[i].open) {
            kymo__pickle_next(p, &list);
            write_segment(s, &s->segments.all[i], at, end);
        }
        at = end;
    }
    kymo__pickle_done(p, &list);
}

/* ---- the whole ---- */

static void write_settings(struct kymo_torch_snapshot *s)
{
    struct kymo_pickle *p = &s->pickle;
    const struct kymo_kept_blocks *k = &s->kept;
    kymo__pickle_open(p);
    kymo__pickle_word(p, "writer", "kymograph " KYMO_VERSION);
    kymo__pickle_word(p, "memory", "host");
    kymo__pickle_word(p, "mode", kymo__heap_metadata(s->capture, KYMO__HEAP_MODE));
    uint64_t rate = strtoull(kymo__heap_metadata(s->capture, KYMO__HEAP_RATE), NULL, 10);
    if (rate)
        kymo__pickle_number(p, "rate", rate);
    kymo__pickle_word(p, "sizes", "requested");
    kymo__pickle_text(p, "trace_alloc_record_context");
    kymo__pickle_bool(p, true);
    kymo__pickle_number(p, "trace_alloc_max_entries", k->limit);
    kymo__pickle_text(p, "trace_alloc_overflowed");
    kymo__pickle_bool(p, k->folded.count > 0);
    kymo__pickle_number(p, "folded_allocations", k->folded.count);
    kymo__pickle_number(p, "folded_bytes", k->folded.bytes);
    kymo__pickle_number(p, "folded_largest", k->folded.largest);
    kymo__pickle_number(p, "folded_alive", k->folded.alive);
    kymo__pickle_number(p, "folded_alive_bytes", k->folded.alive_bytes);
    kymo__pickle_number(p, "overlapping", k->overlapping);
    kymo__pickle_number(p, "freed_before_start", s->replay.unknown_frees);
    kymo__pickle_close(p);
}

static int write_all(struct kymo_torch_snapshot *s, struct kymo_outfile *out)
{
    struct kymo_pickle *p = &s->pickle;
    kymo__pickle_begin(p, out);
    kymo__pickle_open(p);
    kymo__pickle_text(p, "device_traces");
    write_traces(s);
    kymo__pickle_text(p, "segments");
    write_segments(s);
    kymo__pickle_text(p, "allocator_settings");
    write_settings(s);
    kymo__pickle_text(p, "external_annotations");
    struct kymo_pickle_list none = kymo__pickle_list(p);
    kymo__pickle_done(p, &none);
    kymo__pickle_close(p);
    return kymo__pickle_end(p);
}

int kymo__snapshot_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                         struct kymo_outfile *out)
{
    if (!kymo__may_have_heap(capture))
        return -ENODATA;
    struct kymo_torch_snapshot s = {.capture = capture,
                                    .options = options,
                                    .info = {.size = offsetof(struct kymo_info, samples)}};
    s.no_arenas = strstr(kymo__heap_metadata(capture, KYMO__HEAP_DOMAINS), "python") != NULL;
    s.live = strcmp(kymo__heap_metadata(capture, KYMO__HEAP_MODE), "live") == 0;
    kymo_capture_info(capture, &s.info);
    int rc = kymo__snapshot_blocks(&s);
    if (rc == 0)
        rc = name_stacks(&s);
    if (rc == 0)
        rc = write_all(&s, out);
    kymo__samples_free(s.stacks);
    kymo__host_segments_fini(&s.segments);
    kymo__kept_fini(&s.kept);
    kymo__replay_fini(&s.replay);
    kymo__free(s.shown);
    kymo__free(s.frames_of);
    kymo__free(s.frame_of);
    return rc;
}
