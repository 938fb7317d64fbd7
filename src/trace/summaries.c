/* summaries.c — see summaries.h. */
#include "summaries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "checkpoint.h"
#include "crc32c.h"
#include "file.h"
#include "scan.h"

char *kymo__index_path(const char *path)
{
    size_t len = strlen(path);
    char *index = kymo__alloc(len + sizeof(".index"));
    if (!index)
        return NULL;
    memcpy(index, path, len);
    memcpy(index + len, ".index", sizeof(".index"));
    return index;
}

static int add_summary(struct kymo_reader *r, uint64_t offset,
                       const struct kymo_block_header *header, bool aside)
{
    int rc = kymo__array_grow(&r->summaries, &r->summary_capacity, r->summary_count,
                              sizeof(*r->summaries));
    if (rc == 0)
        r->summaries[r->summary_count++] =
            (struct kymo_summary){.header = *header, .offset = offset, .aside = aside};
    return rc;
}

int kymo__summaries_take(struct kymo_reader *r, uint64_t offset,
                         const struct kymo_block_header *header)
{
    return add_summary(r, offset, header, false);
}

/* ---- the index file ---- */

/* Does HEADER match the capture as it is now? */
static bool belongs(const struct kymo_reader *r, const struct kymo_index_header *header)
{
    return memcmp(header->capture, r->header.capture, sizeof(header->capture)) == 0 &&
           header->file_bytes == r->file_bytes && header->live_records == r->live_records;
}

static int read_blocks(struct kymo_reader *r, uint32_t blocks)
{
    uint64_t offset = sizeof(struct kymo_index_header);
    off_t size = lseek(r->index_fd, 0, SEEK_END);
    for (uint32_t i = 0; i < blocks; i++) {
        struct kymo_block_header header;
        ssize_t n = kymo__file_read(r->index_fd, &header, sizeof(header), offset);
        if (n != (ssize_t)sizeof(header) || !kymo__block_valid(&header) ||
            offset + kymo__block_bytes(&header) > (uint64_t)size)
            return KYMO_EBLOCK;
        int rc = header.type == KYMO__BLOCK_SUMMARY ? add_summary(r, offset, &header, true) : 0;
        if (rc < 0)
            return rc;
        offset += kymo__block_bytes(&header);
    }
    return 0;
}

/* If PATH has a valid index file, use it instead of the capture's own summaries. */
static int load_index(struct kymo_reader *r, const char *path)
{
    char *name = kymo__index_path(path);
    if (!name)
        return -ENOMEM;
    r->index_fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    kymo__free(name);
    if (r->index_fd < 0)
        return 0;
    struct kymo_index_header header;
    ssize_t n = kymo__file_read(r->index_fd, &header, sizeof(header), 0);
    bool good = n == (ssize_t)sizeof(header) &&
                memcmp(header.magic, KYMO__INDEX_MAGIC, sizeof(header.magic)) == 0 &&
                header.crc == kymo__crc32c(&header, offsetof(struct kymo_index_header, crc)) &&
                header.major == KYMO__MAJOR && belongs(r, &header);
    size_t own = r->summary_count;
    int rc = good ? read_blocks(r, header.blocks) : KYMO_EBLOCK;
    if (rc == 0) {
        memmove(r->summaries, r->summaries + own, (r->summary_count - own) * sizeof(*r->summaries));
        r->summary_count -= own;
        r->index_file = KYMO__INDEX_USED;
        return 0;
    }
    r->summary_count = own;
    r->index_file = KYMO__INDEX_STALE;
    return rc == -ENOMEM ? rc : 0;
}

/* ---- summaries and runs ---- */

static int by_place(const void *a, const void *b)
{
    const struct kymo_block_header *x = &((const struct kymo_summary *)a)->header;
    const struct kymo_block_header *y = &((const struct kymo_summary *)b)->header;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->first_chunk != y->first_chunk)
        return x->first_chunk < y->first_chunk ? -1 : 1;
    return x->skipped < y->skipped ? -1 : x->skipped > y->skipped;
}

/* Is RUN the one at which SUMMARY starts (0), or before (-1) or after it (1)? */
static int compare_run(const struct kymo_run *run, const struct kymo_block_header *summary)
{
    if (run->first_chunk != summary->first_chunk)
        return run->first_chunk < summary->first_chunk ? -1 : 1;
    return run->skipped < summary->skipped ? -1 : run->skipped > summary->skipped;
}

int kymo__summaries_arrange(struct kymo_reader *r, const char *path)
{
    int rc = load_index(r, path);
    if (rc < 0)
        return rc;
    if (r->summary_count)
        qsort(r->summaries, r->summary_count, sizeof(*r->summaries), by_place);
    size_t kept = 0, run = 0;
    uint64_t before = 0;
    uint32_t thread = KYMO__NO_THREAD;
    for (size_t i = 0; i < r->summary_count; i++) {
        struct kymo_summary s = r->summaries[i];
        if (s.header.thread >= r->thread_count)
            continue;
        const struct kymo_reader_thread *t = &r->threads[s.header.thread];
        if (s.header.thread != thread) {
            thread = s.header.thread;
            run = t->run;
            before = 0;
        }
        size_t end = (size_t)t->run + t->runs;
        for (; run < end && compare_run(&r->runs[run], &s.header) < 0; run++)
            if (r->runs[run].last_ticks > before)
                before = r->runs[run].last_ticks;
        if (run >= end || compare_run(&r->runs[run], &s.header) != 0)
            continue; /* of a block that is damaged or not there yet */
        struct kymo_thread_more *more = kymo__thread_more_new(r, thread);
        if (!more)
            return -ENOMEM;
        if (more->summaries && r->summaries[kept - 1].run == run)
            continue; /* a duplicate */
        s.run = run;
        s.before = before;
        if (!more->summaries++)
            more->summary = kept;
        r->summaries[kept++] = s;
    }
    r->summary_count = kept;
    return 0;
}

/* ---- one summary ---- */

static int load_summary(struct kymo_reader *r, const struct kymo_summary *s,
                        struct kymo_buffer *payload)
{
    return kymo__scan_payload_from(r, s->aside ? r->index_fd : r->fd, s->offset, &s->header,
                                   payload);
}

/* How many gaps of THREAD a reader has met after reading up to tick BEFORE. */
static uint64_t gaps_before(const struct kymo_reader *r, uint32_t thread, uint64_t before)
{
    uint64_t count = 0;
    for (size_t i = 0; i < r->gap_count && r->gaps[i].first_ticks <= before; i++)
        count += r->gaps[i].thread == thread;
    return count;
}

int kymo__summary_state(struct kymo_reader *r, const struct kymo_summary *s, uint32_t thread,
                        struct kymo_nest *nest)
{
    struct kymo_buffer payload = {0};
    uint64_t gaps;
    int rc = load_summary(r, s, &payload);
    if (rc == 0) {
        const uint8_t *at = payload.bytes;
        rc = kymo__checkpoint_get(&at, payload.bytes + payload.len, nest, &gaps);
        if (rc > 0 &&
            ((uint64_t)nest->now > s->before || gaps != gaps_before(r, thread, s->before)))
            rc = 0;
    }
    kymo__buffer_fini(&payload);
    return rc == KYMO_EBLOCK ? 0 : rc;
}

int kymo__summary_cells(struct kymo_reader *r, const struct kymo_summary *s,
                        struct kymo_buffer *scratch, struct kymo_cells *cells)
{
    struct kymo_nest state = {0};
    uint64_t gaps;
    cells->count = cells->cell_count = 0;
    int rc = load_summary(r, s, scratch);
    if (rc == 0) {
        const uint8_t *at = scratch->bytes, *end = scratch->bytes + scratch->len;
        rc = kymo__checkpoint_get(&at, end, &state, &gaps);
        if (rc >= 0)
            rc = kymo__cells_get(at, end, cells);
    }
    kymo__nest_fini(&state);
    return rc;
}
