/* runs.c — see runs.h; and reading the payload of a run. */
#include "runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "dictionary.h"
#include "scan.h"

void kymo__run_fini(struct kymo_run *run)
{
    if (!run->is_live || !run->live)
        return;
    kymo__free(run->live->records);
    kymo__free(run->live);
    run->live = NULL;
}

int kymo__runs_take(struct kymo_reader *r, uint64_t offset, const struct kymo_block_header *header)
{
    int rc = header->chunks > KYMO__BLOCK_CHUNKS ? KYMO_EBLOCK
                                                 : kymo__dictionary_thread(r, header->thread);
    if (rc == KYMO_EBLOCK) {
        r->damaged_blocks++; /* no recorder writes such a block */
        return 0;
    }
    if (rc == 0 && r->run_count == UINT32_MAX)
        rc = -ENOMEM;
    if (rc == 0)
        rc = kymo__array_grow(&r->runs, &r->run_capacity, r->run_count, sizeof(*r->runs));
    if (rc == 0)
        r->runs[r->run_count++] = (struct kymo_run){
            .offset = offset,
            .first_chunk = header->first_chunk,
            .first_ticks = header->first_ticks,
            .last_ticks = header->last_ticks,
            .thread = header->thread,
            .events = header->records,
            .skipped = header->skipped,
            .chunks = (uint8_t)header->chunks,
            .type = header->type,
            .values = kymo__value_bytes(header) > 0,
        };
    return rc;
}

/* ---- in order ---- */

static int by_thread(const void *a, const void *b)
{
    const struct kymo_run *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->first_chunk != y->first_chunk)
        return x->first_chunk < y->first_chunk ? -1 : 1;
    if (x->type == KYMO__BLOCK_TRACK && x->skipped != y->skipped)
        return x->skipped < y->skipped ? -1 : 1;
    if (x->is_live != y->is_live)
        return x->is_live ? 1 : -1; /* the file first: it cannot change */
    if (x->skipped != y->skipped)
        return x->skipped < y->skipped ? -1 : 1;
    return x->chunks > y->chunks ? -1 : x->chunks < y->chunks;
}

/* How many events at the start of run Y are also in X, the one kept before it. */
static uint64_t repeated(const struct kymo_run *x, const struct kymo_run *y)
{
    if (x->thread != y->thread || y->first_chunk >= x->first_chunk + x->chunks)
        return 0;
    if (x->first_chunk < y->first_chunk || x->chunks > 1)
        return UINT64_MAX; /* a block moves to its next chunk only after all of the last */
    uint64_t end = (uint64_t)x->skipped + x->events;
    return end > y->skipped ? end - y->skipped : 0;
}

/* Remove EVENTS events, but not all, from the start of RUN, a live chunk. */
static void cut_beginning(struct kymo_run *run, uint64_t events)
{
    struct kymo_live_run *live = run->live;
    run->events -= (uint32_t)events;
    run->skipped += (uint32_t)events;
    size_t from = 0;
    while (events || kymo__kind_follows(kymo__word_kind(live->records[from].word)))
        events -= !kymo__kind_follows(kymo__word_kind(live->records[from++].word));
    live->length -= from;
    memmove(live->records, live->records + from, live->length * sizeof(*live->records));
}

/* During recording, a chunk may be copied half full while the next one, started meanwhile, is found
   in the file. Keep the contiguous part of each thread. */
static void cut_at_holes(struct kymo_reader *r)
{
    size_t kept = 0;
    uint64_t next = 0;
    uint32_t thread = KYMO__NO_THREAD;
    for (size_t i = 0; i < r->run_count; i++) {
        struct kymo_run *run = &r->runs[i];
        bool track = run->type == KYMO__BLOCK_TRACK; /* it counts events, not chunks */
        uint64_t first = run->first_chunk << (track ? 32 : 0) | (track ? run->skipped : 0);
        if (run->thread != thread)
            next = 0;
        thread = run->thread;
        if (first != next) {
            kymo__run_fini(run);
            next = UINT64_MAX; /* and drop everything after it */
            continue;
        }
        if (track)
            next += run->events;
        else
            next = run->is_live && run->live->open ? UINT64_MAX : next + run->chunks;
        r->runs[kept++] = *run;
    }
    r->run_count = kept;
}

void kymo__runs_arrange(struct kymo_reader *r)
{
    bool sorted = true;
    for (size_t i = 1; sorted && i < r->run_count; i++)
        sorted = by_thread(&r->runs[i - 1], &r->runs[i]) <= 0;
    if (!sorted)
        qsort(r->runs, r->run_count, sizeof(*r->runs), by_thread);
    size_t kept = 0;
    for (size_t i = 0; i < r->run_count; i++) {
        struct kymo_run *run = &r->runs[i], *last = kept ? &r->runs[kept - 1] : NULL;
        uint64_t twice = last ? repeated(last, run) : 0;
        if (twice && (!run->is_live || twice >= run->events)) {
            kymo__run_fini(run);
            continue;
        }
        if (twice)
            cut_beginning(run, twice);
        r->runs[kept++] = *run;
    }
    r->run_count = kept;
    if (r->running && !r->flight)
        cut_at_holes(r);
    for (size_t i = 0; i < r->run_count; i++) {
        struct kymo_reader_thread *t = &r->threads[r->runs[i].thread];
        if (!t->runs++)
            t->run = (uint32_t)i;
        if (r->runs[i].is_live)
            r->live_records += r->runs[i].events;
    }
}

/* ---- their payload ---- */

/* Is HEADER that of the block which RUN was made from? */
static bool is_block_of(const struct kymo_run *run, const struct kymo_block_header *header)
{
    return header->type == run->type && header->thread == run->thread &&
           header->records == run->events && header->first_chunk == run->first_chunk &&
           header->chunks == run->chunks && header->skipped == run->skipped &&
           (kymo__value_bytes(header) > 0) == run->values &&
           (run->shifted ||
            (header->first_ticks == run->first_ticks && header->last_ticks == run->last_ticks));
}

void kymo__reader_damaged(struct kymo_reader *reader, struct kymo_run *run)
{
    reader->damaged_blocks += !run->damaged;
    run->damaged = true;
}

int kymo__reader_payload(struct kymo_reader *reader, struct kymo_run *run,
                         struct kymo_block_header *header, struct kymo_buffer *encoded)
{
    int rc = run->damaged ? 0 : kymo__scan_header(reader, run->offset, header);
    /* The index may list a block as fine whose own header is damaged. */
    if (rc >= 0)
        rc = rc && is_block_of(run, header)
                 ? kymo__scan_stored(reader, reader->fd, run->offset, header, encoded)
                 : KYMO_EBLOCK;
    if (rc == KYMO_EBLOCK)
        kymo__reader_damaged(reader, run);
    return rc;
}

int kymo__reader_has(struct kymo_reader *reader, const struct kymo_run *run,
                     const struct kymo_wanted_kinds *wanted, struct kymo_buffer *scratch)
{
    struct kymo_block_header header;
    int rc = run->damaged ? 0 : kymo__scan_header(reader, run->offset, &header);
    if (rc <= 0 || !is_block_of(run, &header))
        return rc < 0 ? rc : 0;
    rc = kymo__scan_tokens(reader, run->offset, &header, scratch);
    if (rc < 0)
        return rc == KYMO_EBLOCK ? 0 : rc;
    return kymo__tokens_find(scratch->bytes, scratch->bytes + scratch->len, wanted);
}
