/* rescue.c — see rescue.h.

   The recorder may be running, so after copying a chunk its header is read again, and the copy
   counts only if it is still the same chunk. */
#include "rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "dictionary.h"
#include "file.h"
#include "runs.h"
#include "sink.h"
#include "trackparts.h"

#define CHUNK_HEADER offsetof(struct kymo_chunk, records)

static bool same_chunk(const struct kymo_chunk *a, const struct kymo_chunk *b)
{
    return b->state != KYMO__CHUNK_FREE && a->type == b->type && a->thread == b->thread &&
           a->number == b->number;
}

/* Not kymo__chunk_count: if a chunk was written to while being copied, a record may be missing and
   the next one present. */
static size_t count_records(const struct kymo_chunk *chunk)
{
    size_t count = 0;
    while (count < KYMO__CHUNK_RECORDS && chunk->records[count].word)
        count++;
    return count;
}

/* COUNT without the last of the RECORDS if that is an event whose value or payload was not stored yet:
   the process ended, or had got no further, between the two. */
static size_t leave_out_unfinished(const struct kymo_record *records, size_t count)
{
    const uint64_t word = count ? records[count - 1].word : 0;
    const unsigned kind = kymo__word_kind(word);
    bool more = kymo__kind_has_value(kind) || kymo__kind_has_payload(kind) ||
                (kind == KYMO_ENTER && kymo__word_detail(word) & KYMO_HAS_ID);
    return count - more;
}

/* Keep the COUNT records at RECORDS; RUN says which thread they belong to. */
static int keep_run(struct kymo_rescue *rescue, const struct kymo_record *records, size_t count,
                    struct kymo_run run, bool open)
{
    int rc = kymo__array_grow(&rescue->runs, &rescue->run_capacity, rescue->run_count,
                              sizeof(*rescue->runs));
    if (rc < 0)
        return rc;
    run.live = kymo__alloc(sizeof(*run.live));
    struct kymo_record *copy = kymo__alloc(count * sizeof(*copy));
    if (!run.live || !copy) {
        kymo__free(run.live);
        kymo__free(copy);
        return -ENOMEM;
    }
    if (count) /* nothing may be at NULL */
        memcpy(copy, records, count * sizeof(*copy));
    *run.live = (struct kymo_live_run){.records = copy, .length = count, .open = open};
    run.is_live = 1;
    run.chunks = 1;
    run.first_ticks = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        uint64_t ticks = copy[i].ticks;
        unsigned kind = kymo__word_kind(copy[i].word);
        if (kymo__kind_follows(kind))
            continue;
        run.events++;
        if (kind == KYMO_PAYLOAD)
            continue; /* it shares its event's time */
        if (ticks < run.first_ticks)
            run.first_ticks = ticks;
        if (ticks > run.last_ticks)
            run.last_ticks = ticks;
    }
    rescue->runs[rescue->run_count++] = run;
    return 0;
}

static int keep_records(struct kymo_rescue *rescue, const struct kymo_chunk *chunk, size_t count)
{
    size_t passed = chunk->passed;
    if (count <= passed)
        return 0;
    const struct kymo_run run = {
        .type = KYMO__BLOCK_RECORDS,
        .thread = chunk->thread,
        .first_chunk = chunk->number,
        .skipped = kymo__count_events(chunk->records, passed),
    };
    return keep_run(rescue, chunk->records + passed, count - passed, run,
                    chunk->state != KYMO__CHUNK_FULL);
}

/* A chunk of tracks: make a run for each sequence of events of one track. */
static int keep_tracks(struct kymo_rescue *rescue, const struct kymo_chunk *chunk, size_t count)
{
    struct kymo_track_part *parts = kymo__alloc(KYMO__TRACK_PARTS_MOST * sizeof(*parts));
    struct kymo_buffer together = {0};
    if (!parts)
        return -ENOMEM;
    size_t all = kymo__track_parts(chunk->records, count, chunk->passed, parts);
    kymo__track_parts_sort(parts, all);
    int rc = 0;
    for (size_t done = 0, n; rc == 0 && done < all; done += n) {
        const struct kymo_run run = {
            .type = KYMO__BLOCK_TRACK,
            .thread = parts[done].thread,
            .first_chunk = parts[done].before >> 32,
            .skipped = (uint32_t)parts[done].before,
        };
        n = kymo__track_parts_together(parts + done, all - done);
        together.len = 0;
        for (size_t i = done; rc == 0 && i < done + n; i++)
            rc = kymo__buffer_add(&together, parts[i].records,
                                  parts[i].count * sizeof(struct kymo_record));
        if (rc == 0)
            rc = keep_run(rescue, (const void *)together.bytes,
                          together.len / sizeof(struct kymo_record), run,
                          chunk->state != KYMO__CHUNK_FULL);
    }
    kymo__buffer_fini(&together);
    kymo__free(parts);
    return rc;
}

static int keep_definitions(struct kymo_rescue *rescue, const struct kymo_chunk *chunk,
                            uint64_t offset)
{
    uint32_t used = chunk->used;
    if (used > KYMO__CHUNK_BYTES - CHUNK_HEADER)
        return 0;
    rescue->defs.len = 0;
    rescue->defs_position = chunk->number;
    rescue->defs_offset = offset;
    return kymo__buffer_add(&rescue->defs, chunk->records, used);
}

static int keep_chunk(struct kymo_rescue *rescue, int fd, uint64_t offset, struct kymo_chunk *chunk)
{
    struct kymo_chunk *again = chunk + 1; /* the scratch has room for two */
    /* A chunk of definitions may be emptied and restarted at any moment; a few attempts find it at
       rest. */
    for (int attempt = 0; attempt < 16; attempt++) {
        ssize_t n = kymo__file_read(fd, chunk, CHUNK_HEADER, offset);
        if (n < (ssize_t)CHUNK_HEADER || chunk->state == KYMO__CHUNK_FREE)
            return n < 0 ? (int)n : 0;
        n = kymo__file_read(fd, chunk, sizeof(*chunk), offset);
        if (n < (ssize_t)sizeof(*chunk))
            return n < 0 ? (int)n : 0; /* cut short: the rest was never written */
        /* A record whose word was set is complete now; it may not have been when copied. */
        size_t count = chunk->type == KYMO__BLOCK_DEFS ? 0 : count_records(chunk);
        n = kymo__file_read(fd, chunk->records, count * sizeof(chunk->records[0]),
                            offset + CHUNK_HEADER);
        if (n < (ssize_t)(count * sizeof(chunk->records[0])))
            return n < 0 ? (int)n : 0;
        n = kymo__file_read(fd, again, CHUNK_HEADER, offset);
        if (n < (ssize_t)CHUNK_HEADER)
            return n < 0 ? (int)n : 0;
        if (!same_chunk(chunk, again))
            continue;
        count = leave_out_unfinished(chunk->records, count);
        switch (chunk->type) {
        case KYMO__BLOCK_DEFS:
            return keep_definitions(rescue, chunk, offset);
        case KYMO__BLOCK_TRACK:
            return keep_tracks(rescue, chunk, count);
        case KYMO__BLOCK_RECORDS:
            return keep_records(rescue, chunk, count);
        }
        rescue->unknown++;
        return 0;
    }
    return 0;
}

static int keep_gaps(struct kymo_rescue *rescue, int fd, const struct kymo_live_header *header)
{
    struct kymo_gap_slot slots[256];
    for (uint64_t first = 0; first < header->gap_slots; first += 256) {
        uint64_t most = header->gap_slots - first < 256 ? header->gap_slots - first : 256;
        ssize_t n = kymo__file_read(fd, slots, most * sizeof(slots[0]),
                                    header->gap_offset + first * sizeof(slots[0]));
        for (ssize_t i = 0; i < n / (ssize_t)sizeof(slots[0]); i++) {
            if (!slots[i].thread || !slots[i].count)
                continue;
            int rc = kymo__array_grow(&rescue->gaps, &rescue->gap_capacity, rescue->gap_count,
                                      sizeof(slots[0]));
            if (rc < 0)
                return rc;
            rescue->gaps[rescue->gap_count++] = slots[i];
        }
        if (n < (ssize_t)(most * sizeof(slots[0])))
            return n < 0 ? (int)n : 0;
    }
    return 0;
}

static int load_file(struct kymo_rescue *rescue, int fd, const uint8_t capture[16])
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return 0;
    struct kymo_live_header header;
    ssize_t n = kymo__file_read(fd, &header, sizeof(header), 0);
    if (n < 0)
        return (int)n;
    if (n < (ssize_t)sizeof(header) || memcmp(header.magic, KYMO__LIVE_MAGIC, 8) != 0 ||
        memcmp(header.capture, capture, sizeof(header.capture)) != 0 ||
        header.major != KYMO__MAJOR || header.chunk_bytes != KYMO__CHUNK_BYTES)
        return 0;
    rescue->found = true;
    rescue->bytes = (uint64_t)st.st_size;
    rescue->error = header.error;
    rescue->stopped = header.stopped;
    rescue->flight = header.flight;
    rescue->ring_records = header.ring_records;
    int rc = header.gap_offset < rescue->bytes ? keep_gaps(rescue, fd, &header) : 0;
    struct kymo_chunk *scratch = kymo__alloc(sizeof(*scratch) * 2);
    if (!scratch)
        return -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < header.chunks; i++) {
        uint64_t offset = header.chunk_offset + (uint64_t)i * header.chunk_bytes;
        if (offset >= rescue->bytes)
            break;
        rc = keep_chunk(rescue, fd, offset, scratch);
    }
    kymo__free(scratch);
    return rc;
}

int kymo__rescue_load(struct kymo_rescue *rescue, const char *path, const uint8_t capture[16])
{
    char *live = kymo__live_path(path);
    if (!live)
        return -ENOMEM;
    rescue->fd = open(live, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    kymo__free(live);
    if (rescue->fd < 0)
        return errno == ENOENT || errno == ENAMETOOLONG ? 0 : -errno;
    /* It stays as it is while it is locked. If it is being handed on, or has been (see spare.h), its
       recorder has written everything to the capture. */
    if (kymo__file_lock(rescue->fd, false) == -EAGAIN)
        return 0;
    return load_file(rescue, rescue->fd, capture);
}

int kymo__rescue_definitions(struct kymo_rescue *rescue)
{
    if (!rescue->defs_offset)
        return 0;
    struct kymo_chunk *scratch = kymo__alloc(sizeof(*scratch) * 2);
    if (!scratch)
        return -ENOMEM;
    int rc = keep_chunk(rescue, rescue->fd, rescue->defs_offset, scratch);
    kymo__free(scratch);
    return rc;
}

static int apply_gap(struct kymo_reader *r, const struct kymo_gap_slot *slot)
{
    int rc = kymo__dictionary_thread(r, slot->thread - 1);
    if (rc == 0)
        rc = kymo__array_grow(&r->gaps, &r->gap_capacity, r->gap_count, sizeof(*r->gaps));
    if (rc == 0)
        r->gaps[r->gap_count++] = (struct kymo_reader_gap){
            slot->thread - 1, slot->reason, slot->count, slot->first_ticks, slot->last_ticks};
    return rc == KYMO_EBLOCK ? 0 : rc;
}

int kymo__rescue_apply(struct kymo_rescue *rescue, struct kymo_reader *reader, uint64_t covered)
{
    reader->live_bytes = rescue->bytes;
    reader->flight = rescue->flight;
    reader->ring_records = rescue->ring_records;
    reader->unknown_parts += rescue->unknown;
    if (rescue->error && !reader->error)
        reader->error = rescue->error;
    uint64_t skip = covered > rescue->defs_position ? covered - rescue->defs_position : 0;
    int rc = 0;
    if (skip < rescue->defs.len)
        rc = kymo__dictionary_apply(reader, rescue->defs.bytes + skip,
                                    rescue->defs.len - (size_t)skip);
    for (size_t i = 0; rc == 0 && i < rescue->gap_count; i++)
        rc = apply_gap(reader, &rescue->gaps[i]);
    for (size_t i = 0; rc == 0 && i < rescue->run_count; i++) {
        struct kymo_run *run = &rescue->runs[i];
        rc = kymo__dictionary_thread(reader, run->thread);
        if (rc == KYMO_EBLOCK) {
            rc = 0;
            continue;
        }
        if (rc == 0)
            rc = kymo__array_grow(&reader->runs, &reader->run_capacity, reader->run_count,
                                  sizeof(*reader->runs));
        if (rc == 0) {
            reader->runs[reader->run_count++] = *run;
            run->live = NULL; /* now owned by the reader */
        }
    }
    return rc;
}

void kymo__rescue_fini(struct kymo_rescue *rescue)
{
    if (rescue->fd >= 0)
        close(rescue->fd);
    for (size_t i = 0; i < rescue->run_count; i++)
        kymo__run_fini(&rescue->runs[i]);
    kymo__free(rescue->runs);
    kymo__free(rescue->gaps);
    kymo__buffer_fini(&rescue->defs);
}
