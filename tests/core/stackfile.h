/* stackfile.h — the samples of a capture and the definitions of their stacks, as they stand in
   the file and in the live file beside it. It reads the definitions itself, so that what is
   tested is what the recorder writes and not what the reader makes of it. */
#ifndef KYMO_STACKFILE_H
#define KYMO_STACKFILE_H

#include <kymo/kymo.h>

#include "check.h"
#include "defs.h"
#include "scan.h"
#include "varint.h"

enum { STACKFILE_MOST = 1 << 16, STACKFILE_THREADS = 64 };

struct stackfile {
    struct kymo_reader *reader;
    struct stackfile_def {
        uint64_t number[KYMO__DEF_NUMBERS];
        bool there;
    } * modules, *frames, *nodes, *stacks; /* by id, below STACKFILE_MOST */
    uint64_t definitions;                  /* of stacks; each is there once */
    uint64_t chains;                       /* definitions of one or more nodes */

    uint64_t samples, periods;
    uint64_t undefined; /* samples whose stack has no definition */
    uint64_t without;   /* samples without a stack */
    uint64_t in_hot;    /* periods whose innermost frame is in a given range */
    uint64_t hot_low, hot_high;
    kymo_ns first, last; /* times of samples */
    uint32_t threads;
    struct stackfile_thread {
        int64_t tid;
        uint64_t samples, periods, lost;
        char name[32];
    } thread[STACKFILE_THREADS]; /* the first ones */
};

/* One definition, for table TABLE of F. */
static inline void stackfile_add(struct stackfile *f, struct stackfile_def *table, int type,
                                 const uint64_t *number)
{
    CHECK_LE(number[0], STACKFILE_MOST - 1);
    struct stackfile_def *one = &table[number[0]];
    CHECK(!one->there); /* once */
    one->there = true;
    memcpy(one->number, number, sizeof(one->number));
    /* What a definition refers to comes before it. */
    if (type == KYMO__DEF_FRAME && number[1] == 0 && number[2])
        CHECK(f->modules[number[2]].there);
    if (type == KYMO__DEF_NODE) {
        CHECK(f->frames[number[2]].there);
        CHECK(!number[1] || f->nodes[number[1]].there);
    }
    if (type == KYMO__DEF_STACK) {
        CHECK(f->nodes[number[1]].there);
        f->definitions++;
    }
}

static inline void stackfile_apply(struct stackfile *f, const uint8_t *at, size_t len)
{
    const uint8_t *end = at + len;
    struct kymo_def def;
    while (at < end && (at = kymo__def_get(at, end, &def))) {
        struct stackfile_def *table = def.type == KYMO__DEF_MODULE  ? f->modules
                                      : def.type == KYMO__DEF_FRAME ? f->frames
                                      : def.type == KYMO__DEF_NODE  ? f->nodes
                                      : def.type == KYMO__DEF_STACK ? f->stacks
                                                                    : NULL;
        if (!table)
            continue;
        stackfile_add(f, table, def.type, def.number);
        f->chains += def.type == KYMO__DEF_NODE;
        const uint8_t *further = def.text;
        while (def.type == KYMO__DEF_NODE && further < def.text + def.text_len) {
            def.number[1] = def.number[0]++;
            further = kymo__varint_get(further, def.text + def.text_len, &def.number[2]);
            CHECK(further != NULL);
            stackfile_add(f, table, def.type, def.number);
        }
    }
}

struct stackfile_scan {
    struct stackfile *file;
    uint64_t end; /* of the definitions read so far, in their stream */
};

static inline int stackfile_block(void *arg, uint64_t offset,
                                  const struct kymo_block_header *header)
{
    struct stackfile_scan *scan = arg;
    struct kymo_buffer bytes = {0};
    if (header->type != KYMO__BLOCK_DEFS)
        return 0;
    CHECK_OK(kymo__scan_payload(scan->file->reader, offset, header, &bytes));
    stackfile_apply(scan->file, bytes.bytes, bytes.len);
    scan->end = header->first_chunk + bytes.len;
    kymo__buffer_fini(&bytes);
    return 0;
}

/* The end of the definitions, which a killed process left in its live file. */
static inline void stackfile_live(struct stackfile *f, const char *path, uint64_t from)
{
    char live[600];
    struct kymo_live_header header;
    struct kymo_chunk *chunk = malloc(sizeof(*chunk));
    snprintf(live, sizeof(live), "%s.live", path);
    FILE *file = fopen(live, "rb");
    if (file && fread(&header, sizeof(header), 1, file) == 1)
        for (uint32_t i = 0; i < header.chunks; i++) {
            CHECK_EQ(
                fseek(file, (long)(header.chunk_offset + (uint64_t)i * sizeof(*chunk)), SEEK_SET),
                0);
            if (fread(chunk, sizeof(*chunk), 1, file) != 1)
                break;
            if (chunk->state != KYMO__CHUNK_FREE && chunk->type == KYMO__BLOCK_DEFS &&
                chunk->number >= from)
                stackfile_apply(f, (const uint8_t *)chunk->records, chunk->used);
        }
    if (file)
        fclose(file);
    free(chunk);
}

/* The frame definition of the INDEX-th frame of stack ID, innermost first; NULL when it is not
   so deep. */
static inline const uint64_t *stackfile_frame(const struct stackfile *f, uint32_t id, size_t index)
{
    uint64_t node = f->stacks[id].number[1];
    for (; node && index; index--)
        node = f->nodes[node].number[1];
    return node ? f->frames[f->nodes[node].number[2]].number : NULL;
}

static inline void stackfile_sample(struct stackfile *f, const struct kymo_event *event)
{
    uint32_t stack = (uint32_t)event->id;
    uint64_t periods = event->id >> 32;
    CHECK_LE(1, periods);
    f->samples++;
    f->periods += periods;
    f->first = f->samples == 1 ? event->time : f->first;
    f->last = event->time;
    if (event->thread < STACKFILE_THREADS) {
        f->thread[event->thread].samples++;
        f->thread[event->thread].periods += periods;
    }
    CHECK_LE(stack, STACKFILE_MOST - 1);
    if (!stack) {
        f->without++;
        return;
    }
    if (!f->stacks[stack].there) {
        f->undefined++;
        return;
    }
    for (size_t i = 0; f->hot_high; i++) {
        const uint64_t *frame = stackfile_frame(f, stack, i);
        if (!frame)
            break;
        uint64_t base = frame[2] ? f->modules[frame[2]].number[1] : 0, pc = frame[3] + base;
        if (frame[1] == 0) { /* the innermost native one */
            f->in_hot += pc > f->hot_low && pc <= f->hot_high ? periods : 0;
            break;
        }
    }
}

/* Read all there is at PATH. Periods with the innermost native frame from LOW up to HIGH are
   counted. */
static inline void stackfile_read(struct stackfile *f, const char *path, const void *low,
                                  const void *high)
{
    *f = (struct stackfile){.hot_low = (uintptr_t)low, .hot_high = (uintptr_t)high};
    f->modules = calloc(STACKFILE_MOST, sizeof(*f->modules));
    f->frames = calloc(STACKFILE_MOST, sizeof(*f->frames));
    f->nodes = calloc(STACKFILE_MOST, sizeof(*f->nodes));
    f->stacks = calloc(STACKFILE_MOST, sizeof(*f->stacks));
    CHECK_OK(kymo__reader_open(path, &f->reader));
    struct stackfile_scan scan = {.file = f};
    uint64_t offset = sizeof(struct kymo_file_header);
    CHECK_OK(kymo__scan_blocks(f->reader, &offset, stackfile_block, &scan));
    stackfile_live(f, path, scan.end);

    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_open(path, &capture));
    CHECK_OK(kymo_capture_info(capture, &info));
    f->threads = (uint32_t)info.threads;
    for (uint32_t i = 0; i < f->threads && i < STACKFILE_THREADS; i++) {
        struct kymo_thread_info thread = {.size = sizeof(thread)};
        CHECK_OK(kymo_capture_thread(capture, i, &thread));
        f->thread[i].tid = thread.tid;
        f->thread[i].lost = thread.lost;
        snprintf(f->thread[i].name, sizeof(f->thread[i].name), "%s", thread.name);
    }
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    int rc;
    while ((rc = kymo_cursor_next(cursor, &event)) > 0)
        if (event.kind == KYMO_SAMPLE)
            stackfile_sample(f, &event);
    CHECK_OK(rc);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

/* The thread with system id TID, or one without anything. */
static inline struct stackfile_thread stackfile_thread(const struct stackfile *f, int64_t tid)
{
    struct stackfile_thread none = {0};
    for (uint32_t i = 0; i < f->threads && i < STACKFILE_THREADS; i++)
        if (f->thread[i].tid == tid)
            return f->thread[i];
    return none;
}

static inline void stackfile_free(struct stackfile *f)
{
    kymo__reader_close(f->reader);
    free(f->modules);
    free(f->frames);
    free(f->nodes);
    free(f->stacks);
}

/* The value of metadata KEY of the capture at PATH, or "". */
static inline const char *stackfile_meta(const char *path, const char *key)
{
    static char value[256];
    struct kymo_capture *capture;
    const char *name, *text;
    value[0] = '\0';
    CHECK_OK(kymo_open(path, &capture));
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &name, &text) == 0; i++)
        if (strcmp(name, key) == 0)
            snprintf(value, sizeof(value), "%s", text);
    kymo_close(capture);
    return value;
}

#endif
