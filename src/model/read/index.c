/* index.c — see index.h. Reads every thread run by run as kymo__calls does, so that the states it
   writes are the same as those a reader computes without the index. */
#include "index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "calls.h"
#include "crc32c.h"
#include "file.h"
#include "scan.h"
#include "summaries.h"
#include "tracker.h"

enum { LEVEL = 3, STEP = 1 << 16 };

struct indexing {
    struct kymo_capture *capture;
    int fd;
    uint64_t end; /* size of the file so far */
    uint32_t blocks;
    struct kymo_packer *packer;
    struct kymo_stream *stream;
    struct kymo_tracker tracker;
    uint64_t done, all, reported; /* events; and `done` at the last progress call */
    int (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
};

static bool is_span(void *arg, uint32_t key)
{
    const struct kymo_reader *r = arg;
    return key < r->key_count && r->keys[key].name && kymo__class_is_marked(r->keys[key].class);
}

static int summarize_blocks(struct indexing *x, bool last)
{
    struct kymo_packed packed;
    int rc = kymo__tracker_pack(&x->tracker, x->packer, last, &packed);
    if (rc <= 0)
        return rc;
    rc = kymo__file_write(x->fd, packed.bytes, packed.len, x->end);
    x->end += packed.len;
    x->blocks++;
    return rc;
}

static int tell_progress(struct indexing *x)
{
    if (!x->progress || x->done - x->reported < STEP)
        return 0;
    x->reported = x->done;
    return x->progress(x->progress_arg, x->done < x->all ? x->done : x->all, x->all);
}

static int take_event(struct indexing *x, const struct kymo_event *event)
{
    if (event->kind == KYMO_GAP)
        return kymo__tracker_damage(&x->tracker, event->ticks);
    return kymo__tracker_event(&x->tracker, event->ticks,
                               kymo_word(event->kind, event->detail, event->key), event->id);
}

/* Fill HEADER with what it was, or would be, in the file. Returns about how many bytes RUN takes
   there. */
static size_t header_of(struct kymo_reader *r, const struct kymo_run *run,
                        struct kymo_block_header *header)
{
    const struct kymo_live_run *live = kymo__run_live(run);
    struct kymo_block_header stored = {0};
    *header = (struct kymo_block_header){
        .type = run->type,
        .records = run->events,
        .thread = run->thread,
        .chunks = run->chunks,
        .first_chunk = run->first_chunk,
        .first_ticks = run->first_ticks,
        .last_ticks = run->last_ticks,
        .skipped = run->skipped,
    };
    if (live)
        return live->length * sizeof(*live->records) / 8;
    return kymo__scan_header(r, run->offset, &stored) > 0 ? (size_t)kymo__block_bytes(&stored) : 0;
}

/* Process RUN of the stream's thread. */
static int follow_run(struct indexing *x, size_t run)
{
    const struct kymo_run *here = &x->capture->reader->runs[run];
    struct kymo_stream *s = x->stream;
    struct kymo_event event;
    s->run = run;
    s->run_end = run + 1;
    s->gap = s->gap_end = 0; /* the tracker has them */
    int rc = kymo__stream_next(s, &event);
    if (rc <= 0)
        return rc;
    const struct kymo_record first = {event.ticks, kymo_word(event.kind, 0, event.key)};
    struct kymo_block_header header;
    size_t bytes = header_of(x->capture->reader, here, &header);
    rc = kymo__tracker_begin(&x->tracker, &header, bytes, &first);
    while (rc == 0) {
        rc = take_event(x, &event);
        if (rc == 0)
            rc = kymo__stream_next(s, &event);
        if (rc <= 0)
            break;
        rc = 0;
    }
    x->done += here->events;
    if (rc == 0)
        rc = kymo__tracker_end(&x->tracker);
    if (rc == 0)
        rc = summarize_blocks(x, false);
    return rc < 0 ? rc : tell_progress(x);
}

static int index_thread(struct indexing *x, uint32_t thread)
{
    struct kymo_reader *r = x->capture->reader;
    const struct kymo_reader_thread *t = &r->threads[thread];
    int rc = 0;
    kymo__tracker_init(&x->tracker, is_span, r);
    x->tracker.nest.limit = kymo__calls_deepest(r);
    kymo__stream_init(x->stream, x->capture, thread, 0, UINT64_MAX);
    for (size_t i = 0; rc == 0 && t->runs && i < r->gap_count; i++)
        if (r->gaps[i].thread == thread)
            rc = kymo__tracker_gap(&x->tracker, r->gaps[i].first_ticks);
    for (size_t i = t->run; rc == 0 && i < (size_t)t->run + t->runs; i++)
        rc = follow_run(x, i);
    if (rc == 0)
        rc = summarize_blocks(x, true);
    kymo__stream_fini(x->stream);
    kymo__tracker_fini(&x->tracker);
    return rc;
}

static int write_header(struct indexing *x)
{
    const struct kymo_reader *r = x->capture->reader;
    struct kymo_index_header header = {
        .major = KYMO__MAJOR,
        .minor = KYMO__MINOR,
        .header_bytes = sizeof(header),
        .file_bytes = r->file_bytes,
        .live_records = r->live_records,
        .blocks = x->blocks,
    };
    memcpy(header.magic, KYMO__INDEX_MAGIC, sizeof(header.magic));
    memcpy(header.capture, r->header.capture, sizeof(header.capture));
    header.crc = kymo__crc32c(&header, offsetof(struct kymo_index_header, crc));
    return kymo__file_write(x->fd, &header, sizeof(header), 0);
}

static int write_all(struct indexing *x)
{
    struct kymo_reader *r = x->capture->reader;
    int rc = 0;
    for (size_t i = 0; i < r->run_count; i++)
        x->all += r->runs[i].events;
    x->packer = kymo__packer_new(LEVEL);
    x->stream = kymo__alloc(sizeof(*x->stream));
    if (!x->packer || !x->stream)
        rc = -ENOMEM;
    x->end = sizeof(struct kymo_index_header);
    for (uint32_t i = 0; rc == 0 && i < r->thread_count; i++)
        rc = kymo__thread_more(r, i)->track ? 0
                                            : index_thread(x, i); /* a track never has open calls */
    if (rc == 0)
        rc = write_header(x);
    kymo__packer_free(x->packer);
    kymo__free(x->stream);
    return rc;
}

/* May the file at PATH be replaced? */
static int check_place(const char *path)
{
    char magic[8];
    struct stat st;
    if (stat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    int fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return KYMO_EOCCUPIED;
    ssize_t n = kymo__file_read(fd, magic, sizeof(magic), 0);
    close(fd);
    bool index = n == 0 || (n == (ssize_t)sizeof(magic) &&
                            memcmp(magic, KYMO__INDEX_MAGIC, sizeof(magic)) == 0);
    return index ? 0 : KYMO_EOCCUPIED;
}

int kymo__index_write(struct kymo_capture *capture, const char *path,
                      int (*progress)(void *arg, uint64_t done, uint64_t all), void *arg,
                      struct kymo_index_result *result)
{
    struct indexing x = {.capture = capture, .fd = -1, .progress = progress, .progress_arg = arg};
    char *index = kymo__index_path(path);
    size_t size = index ? strlen(index) + 32 : 0;
    char *temporary = index ? kymo__alloc(size) : NULL;
    int rc = temporary ? check_place(index) : -ENOMEM;
    if (rc < 0)
        goto done;
    snprintf(temporary, size, "%s.part-%ld", index, (long)getpid());
    x.fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (x.fd < 0) {
        rc = -errno;
        goto done;
    }
    rc = write_all(&x);
    if (close(x.fd) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && rename(temporary, index) < 0)
        rc = -errno;
    if (rc < 0)
        unlink(temporary);
    else
        *result = (struct kymo_index_result){x.blocks, x.end};
done:
    kymo__free(temporary);
    kymo__free(index);
    return rc;
}
