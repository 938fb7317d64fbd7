/* follow.c — see follow.h. */
#include "follow.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "capfile.h"
#include "lock.h"
#include "names.h"

enum { TRACKERS_MOST = 4096 }; /* threads beyond this many have no summaries */

void kymo__follow_init(struct kymo_follow *f, struct kymo_names *names, struct kymo_capfile *file)
{
    *f = (struct kymo_follow){.names = names, .file = file};
    pthread_mutex_init(&f->lock, NULL);
}

/* Do not follow LANE any more. */
static void give_up(struct kymo_follow_lane *lane)
{
    if (lane->tracker)
        kymo__tracker_fini(lane->tracker);
    kymo__free(lane->tracker);
    lane->tracker = NULL;
    lane->gone = true;
}

void kymo__follow_fini(struct kymo_follow *f)
{
    for (size_t i = 0; i < f->count; i++) {
        give_up(&f->lanes[i]);
        kymo__free(f->lanes[i].queue);
    }
    kymo__free(f->lanes);
    kymo__free(f->noted);
    kymo__readback_fini(&f->back);
    pthread_mutex_destroy(&f->lock);
}

static bool is_span(void *arg, uint32_t key)
{
    return kymo__names_is_span(arg, key);
}

static void begin_lane(struct kymo_follow *f, struct kymo_follow_lane *lane)
{
    lane->tracker = f->used < TRACKERS_MOST ? kymo__alloc(sizeof(*lane->tracker)) : NULL;
    lane->gone = !lane->tracker;
    if (lane->gone)
        return;
    kymo__tracker_init(lane->tracker, is_span, f->names);
    f->used++;
}

/* The lane of THREAD, or NULL if it is not followed. */
static struct kymo_follow_lane *lane_of(struct kymo_follow *f, uint32_t thread)
{
    while (f->count <= thread) {
        if (kymo__array_grow(&f->lanes, &f->capacity, f->count, sizeof(*f->lanes)) < 0)
            return NULL;
        f->lanes[f->count++] = (struct kymo_follow_lane){0};
    }
    struct kymo_follow_lane *lane = &f->lanes[thread];
    if (!lane->tracker && !lane->gone)
        begin_lane(f, lane);
    return lane->gone ? NULL : lane;
}

/* Gaps must be known before the records after them; they were defined before those were stored. */
static void take_gaps(struct kymo_follow *f)
{
    size_t count;
    struct kymo_gap_notice *gaps = kymo__names_take_gaps(f->names, &count);
    for (size_t i = 0; gaps && i < count; i++) {
        struct kymo_follow_lane *lane = lane_of(f, gaps[i].thread);
        if (lane && kymo__tracker_gap(lane->tracker, gaps[i].first_ticks) < 0)
            give_up(lane);
    }
    kymo__free(gaps);
}

void kymo__follow_summary(struct kymo_follow *f, struct kymo_packer *packer,
                          struct kymo_follow_lane *lane, bool last)
{
    struct kymo_packed packed;
    int rc = lane->tracker ? kymo__tracker_pack(lane->tracker, packer, last, &packed) : 0;
    if (rc > 0)
        kymo__capfile_append(f->file,
                             &packed); /* on failure the summary is missing, which is allowed */
}

void kymo__follow_chunks(struct kymo_follow *f, struct kymo_packer *packer,
                         const struct kymo_block_header *header, uint64_t offset,
                         struct kymo_chunk *const *chunks, size_t count)
{
    take_gaps(f);
    struct kymo_follow_lane *lane = lane_of(f, header->thread);
    struct kymo_tracker *t = lane ? lane->tracker : NULL;
    if (!t)
        return;
    if (t->next_chunk != header->first_chunk) {
        kymo__follow_later(f, header, offset);
        return;
    }
    int rc = kymo__tracker_begin(t, header, (size_t)kymo__block_bytes(header), chunks[0]->records);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = kymo__tracker_records(t, chunks[i]->records, kymo__chunk_count(chunks[i]));
    if (rc == 0)
        rc = kymo__tracker_end(t);
    if (rc < 0)
        give_up(lane);
    kymo__follow_summary(f, packer, lane, false);
}

/* ---- blocks that wait for their turn ---- */

void kymo__follow_later(struct kymo_follow *f, const struct kymo_block_header *header,
                        uint64_t offset)
{
    kymo__lock(&f->lock);
    if (kymo__array_grow(&f->noted, &f->noted_capacity, f->noted_count, sizeof(*f->noted)) == 0)
        f->noted[f->noted_count++] = (struct kymo_noted){*header, offset};
    else
        f->lost = true; /* `kymograph index` makes the summaries from the file */
    kymo__unlock(&f->lock);
}

static bool comes_before(const struct kymo_noted *a, const struct kymo_noted *b)
{
    if (a->header.first_chunk != b->header.first_chunk)
        return a->header.first_chunk < b->header.first_chunk;
    return a->header.skipped < b->header.skipped; /* parts of a chunk */
}

/* Add NOTED to the queue. Blocks are written nearly in order. */
static int lane_queue(struct kymo_follow_lane *lane, const struct kymo_noted *noted)
{
    if (lane->at > lane->count / 2) {
        lane->count -= lane->at;
        memmove(lane->queue, lane->queue + lane->at, lane->count * sizeof(*lane->queue));
        lane->at = lane->followed = 0;
    }
    int rc = kymo__array_grow(&lane->queue, &lane->capacity, lane->count, sizeof(*lane->queue));
    if (rc < 0)
        return rc;
    size_t at = lane->count++;
    for (; at > lane->at && comes_before(noted, &lane->queue[at - 1]); at--)
        lane->queue[at] = lane->queue[at - 1];
    lane->queue[at] = *noted;
    return 0;
}

bool kymo__follow_collect(struct kymo_follow *f)
{
    kymo__lock(&f->lock);
    struct kymo_noted *noted = f->noted;
    size_t count = f->noted_count;
    bool lost = f->lost;
    f->noted = NULL;
    f->noted_count = f->noted_capacity = 0;
    kymo__unlock(&f->lock);
    for (size_t i = 0; i < count && !lost; i++) {
        struct kymo_follow_lane *lane = lane_of(f, noted[i].header.thread);
        lost = lane && lane_queue(lane, &noted[i]) < 0;
    }
    kymo__free(noted);
    if (lost) {
        kymo__lock(&f->lock);
        f->lost = true;
        kymo__unlock(&f->lock);
        return false;
    }
    take_gaps(f);
    return true;
}

void kymo__follow_block(struct kymo_follow_lane *lane, const struct kymo_noted *noted,
                        const struct kymo_readback *back, int rc)
{
    struct kymo_tracker *t = lane->tracker;
    if (!t)
        return;
    if (rc == 0)
        rc = kymo__tracker_begin(t, &noted->header, (size_t)kymo__block_bytes(&noted->header),
                                 back->records);
    if (rc == 0)
        rc = kymo__tracker_records(t, back->records, back->count);
    if (rc == 0)
        rc = kymo__tracker_end(t);
    if (rc < 0)
        give_up(lane);
}

void kymo__follow_up(struct kymo_follow *f, struct kymo_packer *packer, bool (*goes_on)(void *),
                     void *arg)
{
    if (!goes_on(arg) || !kymo__follow_collect(f))
        return;
    for (size_t i = 0; i < f->count; i++) {
        struct kymo_follow_lane *lane = &f->lanes[i];
        while (lane->tracker && lane->at < lane->count) {
            const struct kymo_noted *next = &lane->queue[lane->at];
            if (!f->holes && next->header.first_chunk != lane->tracker->next_chunk)
                break;
            if (!goes_on(arg))
                return;
            int rc =
                kymo__readback_block(&f->back, f->file->sink.file.fd, &next->header, next->offset);
            kymo__follow_block(lane, next, &f->back, rc);
            kymo__follow_summary(f, packer, lane, false);
            lane->followed = ++lane->at;
        }
    }
}
