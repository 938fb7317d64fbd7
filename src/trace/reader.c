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
#include "runs.h"
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

/* Blocks of definitions. Most are applied as they are found: the stream usually comes in order. The
   others are kept until all are known; second copies are used only for what the first ones lack. */
struct found {
    struct kymo_reader *reader;
    struct kymo_index_entry *defs;
    size_t count, capacity;
    struct kymo_buffer encoded; /* scratch */
    uint64_t covered;           /* up to where in the stream they were applied */
    uint64_t bytes;             /* of those applied */
};

enum { ANY_FILE = 8 << 20, EACH_BYTE = 64, NODE_BYTES = 4 };

/* How many bytes of definitions a capture of this size may have. Real ones compress to a tenth at
   best; without a limit, a few kilobytes of zeros could fill the memory. */
static uint64_t most_definitions(const struct kymo_reader *r)
{
    return ANY_FILE + EACH_BYTE * r->file_bytes;
}

/* Apply the definitions in a block, which follow those applied before. Returns 0, KYMO_EBLOCK if it is
   damaged, or another negative code. */
static int apply_block(struct found *f, uint64_t offset, const struct kymo_block_header *header)
{
    struct kymo_reader *r = f->reader;
    if (f->bytes + header->encoded_bytes > most_definitions(r))
        return KYMO_EEXPANDS;
    f->bytes += header->encoded_bytes;
    int rc = kymo__scan_payload(r, offset, header, &f->encoded);
    if (rc < 0)
        return rc;
    f->covered = header->first_chunk + header->encoded_bytes;
    uint64_t further = r->stacks.further;
    rc = kymo__dictionary_apply(r, f->encoded.bytes, f->encoded.len);
    /* As if they had been defined one by one, or a limit for bytes would not limit memory. */
    f->bytes += (r->stacks.further - further) * NODE_BYTES;
    return rc;
}

static int take_definitions(struct found *f, uint64_t offset,
                            const struct kymo_block_header *header)
{
    if (header->first_chunk < f->covered)
        return 0; /* a copy of what was there */
    if (header->type == KYMO__BLOCK_DEFS && header->first_chunk == f->covered) {
        int rc = apply_block(f, offset, header);
        f->reader->damaged_blocks += rc == KYMO_EBLOCK;
        return rc == KYMO_EBLOCK ? 0 : rc;
    }
    int rc = kymo__array_grow(&f->defs, &f->capacity, f->count, sizeof(*f->defs));
    if (rc == 0)
        f->defs[f->count++] = (struct kymo_index_entry){offset, *header};
    return rc;
}

static int take_block(void *arg, uint64_t offset, const struct kymo_block_header *header)
{
    struct found *f = arg;
    switch (header->type) {
    case KYMO__BLOCK_DEFS:
    case KYMO__BLOCK_COPY:
        return take_definitions(f, offset, header);
    case KYMO__BLOCK_SUMMARY:
        return kymo__summaries_take(f->reader, offset, header);
    case KYMO__BLOCK_RECORDS:
    case KYMO__BLOCK_NOTES:
    case KYMO__BLOCK_TRACK:
        return kymo__runs_take(f->reader, offset, header);
    case KYMO__BLOCK_INDEX:
        return 0;
    }
    f->reader->unknown_parts++;
    return 0;
}

static int take_late_block(void *arg, uint64_t offset, const struct kymo_block_header *header)
{
    return header->type == KYMO__BLOCK_DEFS ? take_definitions(arg, offset, header) : 0;
}

static int by_position(const void *a, const void *b)
{
    const struct kymo_index_entry *x = a, *y = b;
    if (x->header.first_chunk != y->header.first_chunk)
        return x->header.first_chunk < y->header.first_chunk ? -1 : 1;
    return (int)x->header.type - (int)y->header.type; /* the original before its copy */
}

/* Apply the definitions that were kept, in stream order. */
static int apply_definitions(struct found *f)
{
    int rc = 0;
    if (f->count)
        qsort(f->defs, f->count, sizeof(*f->defs), by_position);
    for (size_t i = 0; rc == 0 && i < f->count; i++) {
        if (f->defs[i].header.first_chunk < f->covered)
            continue;
        rc = apply_block(f, f->defs[i].offset, &f->defs[i].header);
        f->reader->damaged_blocks += rc == KYMO_EBLOCK;
        rc = rc == KYMO_EBLOCK ? 0 : rc;
    }
    return rc;
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

static int count_gaps(struct kymo_reader *r)
{
    for (size_t i = 0; i < r->gap_count; i++) {
        struct kymo_thread_more *more = kymo__thread_more_new(r, r->gaps[i].thread);
        if (!more)
            return -ENOMEM;
        more->gaps++;
        more->lost += r->gaps[i].reason == KYMO_GAP_FLIGHT ? 0 : r->gaps[i].count;
    }
    return 0;
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
    return rc < 0 ? rc : kymo__scan_blocks(r, &offset, take_late_block, found);
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
    const bool recording = !r->finished && rescue.found && !rescue.stopped;
    r->running = recording &&
                 kymo__process_alive(r->header.pid, r->header.process_start, r->header.boot) == 1;
    r->killed = recording && !r->running;
    if (rc == -ENOENT)
        rc = walk_blocks(r, &rescue, &found);
    if (rc == 0)
        rc = apply_definitions(&found);
    if (rc == 0)
        rc = kymo__rescue_apply(&rescue, r, found.covered);
    if (rc == 0) {
        kymo__runs_arrange(r);
        /* A thread reports its gaps as they happen, the flight recorder long after. */
        if (r->gap_count)
            qsort(r->gaps, r->gap_count, sizeof(*r->gaps), by_first_tick);
        rc = count_gaps(r);
        r->ending = judge_ending(r);
        if (rc == 0)
            rc = kymo__summaries_arrange(r, path);
    }
done:
    kymo__rescue_fini(&rescue);
    kymo__free(found.defs);
    kymo__buffer_fini(&found.encoded);
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
        kymo__run_fini(&reader->runs[i]);
    kymo__free(reader->runs);
    kymo__dictionary_fini(reader);
    kymo__unpacker_free(reader->unpacker);
    kymo__buffer_fini(&reader->stored);
    kymo__free(reader);
}

struct checking {
    struct kymo_reader *reader;
    struct kymo_buffer encoded;
};

static int check_block(void *arg, uint64_t offset, const struct kymo_block_header *header)
{
    struct checking *c = arg;
    if (kymo__block_has_chunks(header->type) &&
        (header->thread >= c->reader->thread_count || header->chunks > KYMO__BLOCK_CHUNKS))
        c->reader->damaged_blocks++; /* no recorder writes such a block */
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
        if (!r->runs[i].damaged || r->runs[i].is_live)
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
