/* reader.c — see reader.h.

   The live file is read before the capture: a chunk may move from one to the other at any moment,
   and this order sees it at least once. Chunks found in both are taken from the capture. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "crc32c.h"
#include "dictionary.h"
#include "file.h"
#include "procid.h"
#include "rescue.h"
#include "scan.h"
#include "summaries.h"

static int read_file_header(struct kymo_reader *r)
{
    struct kymo_file_header *h = &r->header;
    ssize_t n = kymo__file_read(r->fd, h, sizeof(*h), 0);
    if (n < 0)
        return (int)n;
    if (n == 0)
        return KYMO_EMPTYFILE;
    size_t magic = n < 8 ? (size_t)n : 8;
    if (memcmp(h->magic, KYMO__FILE_MAGIC, magic) != 0)
        return KYMO_ENOTCAPTURE;
    if (n < (ssize_t)offsetof(struct kymo_file_header, header_bytes))
        return KYMO_EDAMAGED;
    if (h->major > KYMO__MAJOR)
        return KYMO_ENEWER;
    if (n < (ssize_t)sizeof(*h) ||
        h->crc != kymo__crc32c(h, offsetof(struct kymo_file_header, crc)))
        return KYMO_EDAMAGED;
    return 0;
}

static int open_file(struct kymo_reader *r, const char *path)
{
    r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r->fd < 0)
        return -errno;
    struct stat st;
    if (fstat(r->fd, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode))
        return KYMO_ENOTCAPTURE;
    return read_file_header(r);
}

/* Blocks of definitions, kept until all are known: second copies are used only for what the first
   ones lack. */
struct found {
    struct kymo_reader *reader;
    struct kymo_index_entry *defs;
    size_t count, capacity;
};

static int take_block(void *arg, uint64_t offset, const struct kymo_block_header *header)
{
    struct found *f = arg;
    struct kymo_reader *r = f->reader;
    if (header->type == KYMO__BLOCK_DEFS || header->type == KYMO__BLOCK_COPY) {
        int rc = kymo__array_grow(&f->defs, &f->capacity, f->count, sizeof(*f->defs));
        if (rc == 0)
            f->defs[f->count++] = (struct kymo_index_entry){offset, *header};
        return rc;
    }
    if (header->type == KYMO__BLOCK_SUMMARY)
        return kymo__summaries_take(r, offset, header);
    if (header->type != KYMO__BLOCK_RECORDS && header->type != KYMO__BLOCK_TRACK)
        return 0;
    int rc = kymo__dictionary_thread(r, header->thread);
    if (rc == KYMO_EBLOCK) {
        r->damaged_blocks++;
        return 0;
    }
    if (rc == 0)
        rc = kymo__array_grow(&r->runs, &r->run_capacity, r->run_count, sizeof(*r->runs));
    if (rc == 0)
        r->runs[r->run_count++] = (struct kymo_run){.header = *header, .offset = offset};
    return rc;
}

static int take_definitions(void *arg, uint64_t offset, const struct kymo_block_header *header)
{
    return header->type == KYMO__BLOCK_DEFS ? take_block(arg, offset, header) : 0;
}

static int by_position(const void *a, const void *b)
{
    const struct kymo_index_entry *x = a, *y = b;
    if (x->header.first_chunk != y->header.first_chunk)
        return x->header.first_chunk < y->header.first_chunk ? -1 : 1;
    return (int)x->header.type - (int)y->header.type; /* the original before its copy */
}

/* How many bytes of definitions a capture of this size may have. Real ones compress to a tenth at
   best; without a limit, a few kilobytes of zeros could fill the memory. */
static uint64_t most_definitions(const struct kymo_reader *r)
{
    enum { ANY_FILE = 8 << 20, EACH_BYTE = 64 };
    return ANY_FILE + EACH_BYTE * r->file_bytes;
}

/* Apply definitions in stream order. *COVERED is set to where they end. */
static int apply_definitions(struct found *f, uint64_t *covered)
{
    struct kymo_reader *r = f->reader;
    struct kymo_buffer encoded = {0};
    uint64_t bytes = 0;
    int rc = 0;
    *covered = 0;
    if (f->count)
        qsort(f->defs, f->count, sizeof(*f->defs), by_position);
    for (size_t i = 0; rc == 0 && i < f->count; i++) {
        const struct kymo_block_header *header = &f->defs[i].header;
        if (header->first_chunk < *covered)
            continue;
        bytes += header->encoded_bytes;
        if (bytes > most_definitions(r)) {
            rc = KYMO_EEXPANDS;
            break;
        }
        rc = kymo__scan_payload(r, f->defs[i].offset, header, &encoded);
        if (rc == KYMO_EBLOCK) {
            r->damaged_blocks++;
            rc = 0;
            continue;
        }
        if (rc == 0)
            rc = kymo__dictionary_apply(r, encoded.bytes, encoded.len);
        *covered = header->first_chunk + header->encoded_bytes;
    }
    kymo__buffer_fini(&encoded);
    return rc;
}

static int by_thread(const void *a, const void *b)
{
    const struct kymo_run *run = a, *other = b;
    const struct kymo_block_header *x = &run->header, *y = &other->header;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->first_chunk != y->first_chunk)
        return x->first_chunk < y->first_chunk ? -1 : 1;
    if (x->type == KYMO__BLOCK_TRACK && x->skipped != y->skipped)
        return x->skipped < y->skipped ? -1 : 1;
    if (!run->records != !other->records)
        return run->records ? 1 : -1; /* the file first: it cannot change */
    if (x->skipped != y->skipped)
        return x->skipped < y->skipped ? -1 : 1;
    return x->chunks > y->chunks ? -1 : x->chunks < y->chunks;
}

/* How many events at the start of RUN are also in LAST, the run kept before it. */
static uint64_t repeated(const struct kymo_run *last, const struct kymo_run *run)
{
    const struct kymo_block_header *x = &last->header, *y = &run->header;
    if (x->thread != y->thread || y->first_chunk >= x->first_chunk + x->chunks)
        return 0;
    if (x->first_chunk < y->first_chunk || x->chunks > 1)
        return UINT64_MAX; /* a block moves to its next chunk only after all of the last */
    uint64_t end = (uint64_t)x->skipped + x->records;
    return end > y->skipped ? end - y->skipped : 0;
}

/* Remove EVENTS events, but not all, from the start of RUN, a live chunk. */
static void cut_beginning(struct kymo_run *run, uint64_t events)
{
    run->header.records -= (uint32_t)events;
    run->header.skipped += (uint32_t)events;
    size_t from = 0;
    while (events || kymo__kind_follows(kymo__word_kind(run->records[from].word)))
        events -= !kymo__kind_follows(kymo__word_kind(run->records[from++].word));
    run->length -= from;
    memmove(run->records, run->records + from, run->length * sizeof(*run->records));
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
        bool track = run->header.type == KYMO__BLOCK_TRACK; /* it counts events, not chunks */
        uint64_t first =
            run->header.first_chunk << (track ? 32 : 0) | (track ? run->header.skipped : 0);
        if (run->header.thread != thread)
            next = 0;
        thread = run->header.thread;
        if (first != next) {
            kymo__free(run->records);
            next = UINT64_MAX; /* and drop everything after it */
            continue;
        }
        if (track)
            next += run->header.records;
        else
            next = run->open ? UINT64_MAX : next + run->header.chunks;
        r->runs[kept++] = *run;
    }
    r->run_count = kept;
}

/* Sort the runs by thread and number, drop duplicates, and assign each thread its own. */
static void arrange_runs(struct kymo_reader *r)
{
    if (r->run_count)
        qsort(r->runs, r->run_count, sizeof(*r->runs), by_thread);
    size_t kept = 0;
    for (size_t i = 0; i < r->run_count; i++) {
        struct kymo_run *run = &r->runs[i], *last = kept ? &r->runs[kept - 1] : NULL;
        uint64_t twice = last ? repeated(last, run) : 0;
        if (twice && (!run->records || twice >= run->header.records)) {
            kymo__free(run->records);
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
        struct kymo_reader_thread *t = &r->threads[r->runs[i].header.thread];
        if (!t->runs++)
            t->run = i;
        if (r->runs[i].records)
            r->live_records += r->runs[i].header.records;
    }
}

static int by_first_tick(const void *a, const void *b)
{
    const struct kymo_reader_gap *x = a, *y = b;
    if (x->first_ticks != y->first_ticks)
        return x->first_ticks < y->first_ticks ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->last_ticks < y->last_ticks ? -1 : x->last_ticks > y->last_ticks;
}

static void count_gaps(struct kymo_reader *r)
{
    for (size_t i = 0; i < r->gap_count; i++) {
        struct kymo_reader_thread *t = &r->threads[r->gaps[i].thread];
        t->gaps++;
        t->lost += r->gaps[i].reason == KYMO_GAP_FLIGHT ? 0 : r->gaps[i].count;
    }
}

static int judge_ending(const struct kymo_reader *r)
{
    if (r->running)
        return KYMO_ENDED_RUNNING;
    if (r->error)
        return KYMO_ENDED_FAILED;
    return r->finished ? KYMO_ENDED_CLEAN : KYMO_ENDED_KILLED;
}

static uint64_t size_now(const struct kymo_reader *r)
{
    off_t size = lseek(r->fd, 0, SEEK_END);
    return size > 0 ? (uint64_t)size : 0;
}

/* Find the blocks without an index. */
static int walk_blocks(struct kymo_reader *r, struct kymo_rescue *rescue, struct found *found)
{
    uint64_t offset = sizeof(struct kymo_file_header);
    int rc = kymo__scan_blocks(r, &offset, take_block, found);
    if (rc < 0 || !r->running)
        return rc;
    /* The records seen so far may use names defined after the definitions were read. */
    rc = kymo__rescue_definitions(rescue);
    r->file_bytes = size_now(r);
    return rc < 0 ? rc : kymo__scan_blocks(r, &offset, take_definitions, found);
}

static int load_file(struct kymo_reader *r, const char *path)
{
    int rc = open_file(r, path);
    if (rc < 0)
        return rc;
    r->unpacker = kymo__unpacker_new();
    if (!r->unpacker || kymo__stackdefs_init(&r->stacks) < 0)
        return -ENOMEM;
    struct kymo_rescue rescue = {.fd = -1};
    struct found found = {.reader = r};
    rc = kymo__rescue_load(&rescue, path, r->header.capture);
    if (rc < 0)
        goto done;
    r->file_bytes = size_now(r);
    struct kymo_footer footer = {0};
    rc = kymo__scan_index(r, &footer, take_block, &found);
    r->indexed = rc == 0;
    r->finished = footer.index_blocks != 0;
    r->error = r->finished ? footer.error : 0;
    r->running = !r->finished && rescue.found && !rescue.stopped &&
                 kymo__process_alive(r->header.pid, r->header.process_start, r->header.boot) == 1;
    if (rc == -ENOENT)
        rc = walk_blocks(r, &rescue, &found);
    uint64_t covered;
    if (rc == 0)
        rc = apply_definitions(&found, &covered);
    if (rc == 0)
        rc = kymo__rescue_apply(&rescue, r, covered);
    if (rc == 0) {
        arrange_runs(r);
        /* A thread reports its gaps as they happen, the flight recorder long after. */
        if (r->gap_count)
            qsort(r->gaps, r->gap_count, sizeof(*r->gaps), by_first_tick);
        count_gaps(r);
        r->ending = judge_ending(r);
        rc = kymo__summaries_arrange(r, path);
    }
done:
    kymo__rescue_fini(&rescue);
    kymo__free(found.defs);
    return rc;
}

int kymo__reader_open(const char *path, struct kymo_reader **reader)
{
    struct kymo_reader *r = kymo__alloc_zeroed(sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->fd = r->index_fd = -1;
    int rc = load_file(r, path);
    if (rc < 0) {
        kymo__reader_close(r);
        return rc;
    }
    *reader = r;
    return 0;
}

void kymo__reader_close(struct kymo_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    if (reader->index_fd >= 0)
        close(reader->index_fd);
    kymo__free(reader->summaries);
    for (size_t i = 0; i < reader->run_count; i++)
        kymo__free(reader->runs[i].records);
    kymo__free(reader->runs);
    kymo__dictionary_fini(reader);
    kymo__unpacker_free(reader->unpacker);
    kymo__buffer_fini(&reader->stored);
    kymo__free(reader);
}

void kymo__reader_damaged(struct kymo_reader *reader, struct kymo_run *run)
{
    reader->damaged_blocks += !run->damaged;
    run->damaged = true;
}

int kymo__reader_payload(struct kymo_reader *reader, struct kymo_run *run,
                         struct kymo_buffer *encoded)
{
    struct kymo_block_header header = run->header;
    if (run->shifted) {
        header.first_ticks = run->own_first;
        header.last_ticks = run->own_last;
    }
    int rc = run->damaged ? KYMO_EBLOCK : kymo__scan_payload(reader, run->offset, &header, encoded);
    if (rc == KYMO_EBLOCK)
        kymo__reader_damaged(reader, run);
    return rc;
}

struct checking {
    struct kymo_reader *reader;
    struct kymo_buffer encoded;
};

static int check_block(void *arg, uint64_t offset, const struct kymo_block_header *header)
{
    struct checking *c = arg;
    if (header->type == KYMO__BLOCK_RECORDS && header->thread >= c->reader->thread_count)
        c->reader->damaged_blocks++; /* no recorder gives such an index */
    if (header->type != KYMO__BLOCK_DEFS && header->type != KYMO__BLOCK_COPY &&
        header->type != KYMO__BLOCK_INDEX && header->type != KYMO__BLOCK_SUMMARY)
        return 0;
    int rc = kymo__scan_payload(c->reader, offset, header, &c->encoded);
    c->reader->damaged_blocks += rc == KYMO_EBLOCK;
    return rc == KYMO_EBLOCK ? 0 : rc;
}

int kymo__reader_verify(struct kymo_reader *r)
{
    struct checking checking = {.reader = r};
    uint64_t offset = sizeof(struct kymo_file_header);
    int rc = 0;
    r->damaged_blocks = r->damaged_bytes = 0;
    for (size_t i = 0; rc >= 0 && i < r->run_count; i++) {
        struct kymo_block_header header = {0};
        if (!r->runs[i].damaged)
            continue;
        /* A damaged header is found again on the way through the file. */
        rc = kymo__scan_header(r, r->runs[i].offset, &header);
        r->damaged_blocks += rc > 0;
    }
    if (rc >= 0)
        rc = kymo__scan_blocks(r, &offset, check_block, &checking);
    kymo__buffer_fini(&checking.encoded);
    return rc;
}

const char *kymo__reader_string(const struct kymo_reader *reader, uint32_t id)
{
    return id < reader->string_count && reader->strings[id].len ? reader->strings[id].text : "";
}
