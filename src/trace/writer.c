/* writer.c — see writer.h. */
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "defs.h"

enum { LEVEL = 3 };

struct kymo_writer {
    struct kymo_sink sink;
    char *path; /* wanted */
    struct kymo_packer *packer;
    struct kymo_strtab strings;
    uint32_t keys;             /* given so far */
    struct kymo_buffer defs;   /* not written yet */
    uint64_t defs_written;     /* bytes of their stream */
    struct kymo_chunk *chunks; /* KYMO__BLOCK_CHUNKS of them: the block being filled */
    size_t full;               /* chunks that are */
    size_t used;               /* records in the one after */
    uint32_t thread;           /* whose records these are */
    uint64_t number;           /* of its chunks, the next */
    int error;
};

static void fail(struct kymo_writer *w, int rc)
{
    if (!w->error && rc < 0)
        w->error = rc;
}

static void append(struct kymo_writer *w, int rc, const struct kymo_packed *packed)
{
    fail(w, rc);
    if (!w->error)
        fail(w, kymo__sink_append(&w->sink, packed->bytes, packed->len));
}

static void flush_defs(struct kymo_writer *w)
{
    struct kymo_packed packed;
    if (!w->defs.len || w->error)
        return;
    append(w,
           kymo__pack_bytes(w->packer, KYMO__BLOCK_DEFS, w->defs_written, w->defs.bytes,
                            w->defs.len, &packed),
           &packed);
    w->defs_written += w->defs.len;
    w->defs.len = 0;
}

static struct kymo_chunk *chunk(struct kymo_writer *w, size_t i)
{
    return &w->chunks[i];
}

/* Write the block that is being filled. */
static void flush_records(struct kymo_writer *w)
{
    size_t count = w->full + (w->used > 0);
    if (!count || w->error)
        return;
    /* Names come before what uses them. */
    flush_defs(w);
    struct kymo_chunk *chunks[KYMO__BLOCK_CHUNKS];
    struct kymo_packed packed;
    for (size_t i = 0; i < count; i++) {
        chunks[i] = chunk(w, i);
        chunks[i]->type = KYMO__BLOCK_RECORDS;
        chunks[i]->thread = w->thread;
        chunks[i]->number = w->number++;
    }
    append(w, kymo__pack_chunks(w->packer, chunks, count, &packed), &packed);
    memset(w->chunks, 0, count * sizeof(*w->chunks));
    w->full = w->used = 0;
}

int kymo__writer_new(const char *path, struct kymo_file_header *header, struct kymo_writer **writer)
{
    struct kymo_writer *w = kymo__alloc_zeroed(sizeof(*w));
    size_t size = strlen(path) + 32;
    char *temporary = kymo__alloc(size);
    int rc = -ENOMEM;
    if (!w || !temporary)
        goto fail;
    w->sink.fd = -1;
    w->thread = KYMO__NO_THREAD;
    w->path = kymo__alloc_text(path, strlen(path));
    w->packer = kymo__packer_new(LEVEL);
    w->chunks = kymo__alloc_zeroed(KYMO__BLOCK_CHUNKS * sizeof(*w->chunks));
    if (!w->path || !w->packer || !w->chunks)
        goto fail;
    rc = kymo__sink_check(path);
    if (rc < 0)
        goto fail;
    if (getrandom(header->capture, sizeof(header->capture), GRND_NONBLOCK) !=
        (ssize_t)sizeof(header->capture)) {
        struct kymo_snapshot now = kymo__clock_snapshot();
        memcpy(header->capture, &now, sizeof(header->capture));
    }
    snprintf(temporary, size, "%s.part-%ld", path, (long)getpid());
    rc = kymo__sink_create(&w->sink, temporary, header);
    if (rc < 0)
        goto fail;
    kymo__free(temporary);
    *writer = w;
    return 0;
fail:
    kymo__free(temporary);
    if (w)
        kymo__writer_finish(w, false);
    return rc;
}

void kymo__writer_define(struct kymo_writer *w, const struct kymo_def *def)
{
    if (w->error)
        return;
    if (w->defs.len + KYMO__DEF_MAX > KYMO__PACK_BYTES)
        flush_defs(w);
    int rc = kymo__buffer_reserve(&w->defs, KYMO__DEF_MAX);
    fail(w, rc);
    if (rc == 0)
        w->defs.len = (size_t)(kymo__def_put(w->defs.bytes + w->defs.len, def) - w->defs.bytes);
}

uint32_t kymo__writer_string(struct kymo_writer *w, const char *text)
{
    size_t len = strlen(text);
    if (w->error)
        return 0;
    int added;
    int64_t id = kymo__strtab_add(&w->strings, text, len, &added);
    if (id < 0) {
        fail(w, (int)id);
        return 0;
    }
    for (size_t at = 0; added && (at < len || at == 0); at += KYMO__DEF_TEXT) {
        struct kymo_def def = {.type = at ? KYMO__DEF_MORE : KYMO__DEF_STRING};
        def.number[0] = (uint64_t)id;
        def.text = (const uint8_t *)text + at;
        def.text_len = len - at < KYMO__DEF_TEXT ? len - at : KYMO__DEF_TEXT;
        kymo__writer_define(w, &def);
    }
    return (uint32_t)id;
}

uint32_t kymo__writer_key(struct kymo_writer *w, uint32_t name, uint32_t file, uint32_t line,
                          uint32_t class)
{
    uint32_t id = ++w->keys;
    if (name)
        kymo__writer_define(
            w, &(struct kymo_def){.type = KYMO__DEF_KEY, .number = {id, name, file, line, class}});
    return id;
}

static void put(struct kymo_writer *w, uint64_t ticks, uint64_t word)
{
    chunk(w, w->full)->records[w->used++] = (struct kymo_record){ticks, word};
}

void kymo__writer_event(struct kymo_writer *w, uint32_t thread, uint64_t ticks, uint64_t word,
                        uint64_t value)
{
    unsigned kind = kymo__word_kind(word);
    bool valued =
        kymo__kind_has_value(kind) || (kind == KYMO_ENTER && kymo__word_detail(word) & KYMO_HAS_ID);
    if (thread != w->thread) {
        flush_records(w);
        w->thread = thread;
        w->number = 0;
    }
    /* A value stays with its event. */
    if (w->used + 1 + valued > KYMO__CHUNK_RECORDS) {
        w->full++;
        w->used = 0;
        if (w->full == KYMO__BLOCK_CHUNKS)
            flush_records(w);
    }
    if (w->error)
        return;
    put(w, ticks, word);
    if (valued)
        put(w, value, KYMO_VALUE_WORD);
}

int kymo__writer_error(const struct kymo_writer *w)
{
    return w->error;
}

int kymo__writer_finish(struct kymo_writer *w, bool keep)
{
    bool made = w->sink.path != NULL; /* and not before it was created */
    if (keep && made) {
        flush_records(w);
        flush_defs(w);
        if (!w->error)
            fail(w, kymo__sink_finish(&w->sink, w->packer));
        if (!w->error)
            fail(w, kymo__sink_move(&w->sink, w->path));
    }
    int rc = w->error;
    if (made && (rc < 0 || !keep))
        unlink(w->sink.path);
    if (made)
        kymo__sink_close(&w->sink);
    kymo__strtab_fini(&w->strings);
    kymo__buffer_fini(&w->defs);
    kymo__packer_free(w->packer);
    kymo__free(w->chunks);
    kymo__free(w->path);
    kymo__free(w);
    return rc;
}
