/* writer.c — see writer.h. */
#include "writer.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "alloc.h"
#include "clock.h"
#include "defs.h"
#include "tracker.h"
#include "varint.h"

enum { LEVEL = 3 };

struct kymo_writer {
    struct kymo_sink sink;
    struct kymo_packer *packer;
    struct kymo_strtab strings;
    uint32_t keys;               /* keys given so far */
    struct kymo_buffer defs;     /* not written yet */
    uint64_t defs_written;       /* bytes of their stream written */
    struct kymo_chunk *chunks;   /* KYMO__BLOCK_CHUNKS of them: the block being filled */
    size_t full;                 /* full chunks */
    size_t used;                 /* records in the next one */
    uint32_t thread;             /* the thread being written */
    uint64_t number;             /* number of its next chunk */
    struct kymo_tracker tracker; /* tracks its records */
    struct kymo_buffer spans;    /* by key: 1 for names of spans */
    struct kymo_plans *plans;    /* of payloads */
    int error;
};

static void fail(struct kymo_writer *w, int rc)
{
    if (!w->error && rc < 0)
        w->error = rc;
}

static void append_block(struct kymo_writer *w, int rc, const struct kymo_packed *packed)
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
    append_block(w,
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

static bool is_span(void *arg, uint32_t key)
{
    const struct kymo_writer *w = arg;
    return key < w->spans.len && w->spans.bytes[key];
}

/* Write a summary of the thread's records if it is due; with LAST, it is. */
static void write_summary(struct kymo_writer *w, bool last)
{
    struct kymo_packed packed;
    int rc = w->error ? 0 : kymo__tracker_pack(&w->tracker, w->packer, last, &packed);
    if (rc)
        append_block(w, rc, &packed);
}

/* Track COUNT chunks that became the block HEADER of LEN bytes. */
static void follow_chunks(struct kymo_writer *w, const struct kymo_block_header *header, size_t len,
                          size_t count)
{
    int rc = kymo__tracker_begin(&w->tracker, header, len, w->chunks[0].records);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = kymo__tracker_records(&w->tracker, w->chunks[i].records,
                                   kymo__chunk_count(&w->chunks[i]));
    if (rc == 0)
        rc = kymo__tracker_end(&w->tracker);
    fail(w, rc);
    write_summary(w, false);
}

/* Switch to records of THREAD. */
static void change_thread(struct kymo_writer *w, uint32_t thread)
{
    write_summary(w, true);
    kymo__tracker_fini(&w->tracker);
    kymo__tracker_init(&w->tracker, is_span, w);
    w->thread = thread;
    w->number = 0;
}

/* Write the block being filled. */
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
    append_block(w, kymo__pack_chunks(w->packer, chunks, count, &packed), &packed);
    if (!w->error) {
        struct kymo_block_header header = *packed.header;
        follow_chunks(w, &header, packed.len, count);
    }
    memset(w->chunks, 0, count * sizeof(*w->chunks));
    w->full = w->used = 0;
}

int kymo__writer_new(const char *path, struct kymo_file_header *header, struct kymo_writer **writer)
{
    struct kymo_writer *w = kymo__alloc_zeroed(sizeof(*w));
    int rc = -ENOMEM;
    if (!w)
        goto fail;
    w->thread = KYMO__NO_THREAD;
    w->packer = kymo__packer_new(LEVEL);
    w->chunks = kymo__alloc_zeroed(KYMO__BLOCK_CHUNKS * sizeof(*w->chunks));
    w->plans = kymo__alloc_zeroed(sizeof(*w->plans));
    if (w->packer)
        kymo__packer_plans(w->packer, w->plans);
    if (!w->packer || !w->chunks || !w->plans)
        goto fail;
    if (getrandom(header->capture, sizeof(header->capture), GRND_NONBLOCK) !=
        (ssize_t)sizeof(header->capture)) {
        struct kymo_snapshot now = kymo__clock_snapshot();
        memcpy(header->capture, &now, sizeof(header->capture));
    }
    rc = kymo__sink_create(&w->sink, path, header);
    if (rc < 0)
        goto fail;
    *writer = w;
    return 0;
fail:
    if (w)
        kymo__writer_finish(w, false);
    return rc;
}

void kymo__writer_define(struct kymo_writer *w, const struct kymo_def *def)
{
    if (w->error)
        return;
    if (def->type == KYMO__DEF_GAP && def->number[0] != w->thread) {
        flush_records(w);
        change_thread(w, (uint32_t)def->number[0]);
    }
    if (w->defs.len + KYMO__DEF_MAX > KYMO__PACK_BYTES)
        flush_defs(w);
    int rc = kymo__buffer_reserve(&w->defs, KYMO__DEF_MAX);
    if (rc == 0 && def->type == KYMO__DEF_GAP)
        rc = kymo__tracker_gap(&w->tracker, def->number[3]);
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
    while (!w->error && w->spans.len <= id) {
        const uint8_t none = 0;
        fail(w, kymo__buffer_add(&w->spans, &none, 1));
    }
    if (!w->error)
        w->spans.bytes[id] = name && kymo__class_is_marked(class);
    if (name)
        kymo__writer_define(
            w, &(struct kymo_def){.type = KYMO__DEF_KEY, .number = {id, name, file, line, class}});
    return id;
}

static void put_record(struct kymo_writer *w, uint64_t ticks, uint64_t word)
{
    chunk(w, w->full)->records[w->used++] = (struct kymo_record){ticks, word};
}

/* Make room for COUNT records of THREAD that must stay together. False after a failure. */
static bool make_room(struct kymo_writer *w, uint32_t thread, size_t count)
{
    if (thread != w->thread) {
        flush_records(w);
        change_thread(w, thread);
    }
    if (w->used + count > KYMO__CHUNK_RECORDS) {
        w->full++;
        w->used = 0;
        if (w->full == KYMO__BLOCK_CHUNKS)
            flush_records(w);
    }
    return !w->error;
}

void kymo__writer_event(struct kymo_writer *w, uint32_t thread, uint64_t ticks, uint64_t word,
                        uint64_t value)
{
    unsigned kind = kymo__word_kind(word);
    bool valued =
        kymo__kind_has_value(kind) || (kind == KYMO_ENTER && kymo__word_detail(word) & KYMO_HAS_ID);
    if (!make_room(w, thread, 1 + valued))
        return;
    put_record(w, ticks, word);
    if (valued)
        put_record(w, value, KYMO_VALUE_WORD);
}

uint32_t kymo__writer_schema(struct kymo_writer *w, uint32_t name, const struct kymo_plan *plan,
                             const uint32_t *fields)
{
    uint8_t text[KYMO_FIELDS_MOST * (KYMO__VARINT_MAX + 1)], *end = text;
    uint32_t number = w->plans->count + 1;
    if (number > KYMO_SCHEMAS_MOST)
        return 0;
    for (unsigned i = 0; i < plan->count; i++) {
        end = kymo__varint_put(end, fields[i]);
        *end++ = plan->type[i];
    }
    kymo__writer_define(w, &(struct kymo_def){.type = KYMO__DEF_SCHEMA,
                                              .number = {name, number},
                                              .text = text,
                                              .text_len = (size_t)(end - text)});
    w->plans->plan[number] = *plan;
    w->plans->count = number;
    return number;
}

void kymo__writer_payload(struct kymo_writer *w, uint32_t thread, uint32_t key, uint32_t number,
                          const uint8_t *bytes, size_t len)
{
    unsigned count = kymo__chain_records(len);
    if (!make_room(w, thread, 1 + count))
        return;
    put_record(w, 0, kymo_word(KYMO_PAYLOAD, 0, key));
    for (unsigned i = 0; i < count; i++) {
        struct kymo_record record = kymo__chain_record(number, bytes, len, i);
        put_record(w, record.ticks, record.word);
    }
}

int kymo__writer_error(const struct kymo_writer *w)
{
    return w->error;
}

int kymo__writer_finish(struct kymo_writer *w, bool keep)
{
    bool made = w->sink.path != NULL; /* false if it was never created */
    if (keep && made) {
        flush_records(w);
        write_summary(w, true);
        flush_defs(w);
        if (!w->error)
            fail(w, kymo__sink_finish(&w->sink, w->packer));
        if (!w->error)
            fail(w, kymo__sink_publish(&w->sink));
    }
    int rc = w->error;
    if (made)
        kymo__sink_close(&w->sink);
    kymo__strtab_fini(&w->strings);
    kymo__buffer_fini(&w->defs);
    kymo__buffer_fini(&w->spans);
    kymo__tracker_fini(&w->tracker);
    kymo__packer_free(w->packer);
    kymo__free(w->chunks);
    kymo__free(w->plans);
    kymo__free(w);
    return rc;
}
