/* dictionary.c — see dictionary.h. */
#include "dictionary.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "varint.h"

/* Ids are dense, and each definition took some bytes of the file, or of the single chunk of
   definitions in the live file. No recorder wrote a greater id, and trusting one would mean
   allocating as much as it says. */
static uint64_t most_ids(const struct kymo_reader *r, unsigned bytes_each)
{
    uint64_t live = r->live_bytes < KYMO__CHUNK_BYTES ? r->live_bytes : KYMO__CHUNK_BYTES;
    uint64_t most = 64 + (r->file_bytes + live) / bytes_each;
    return most < UINT32_MAX ? most : UINT32_MAX;
}

/* Grow *ARRAY with zeros so that it includes INDEX, which must be at most MOST. */
static int reach(void *array, size_t *count, size_t *capacity, uint64_t index, uint64_t most,
                 size_t element)
{
    if (index < *count)
        return 0;
    if (index >= most)
        return KYMO_EBLOCK;
    while (*count <= index) {
        int rc = kymo__array_grow(array, capacity, *count, element);
        if (rc < 0)
            return rc;
        char *base;
        memcpy(&base, array, sizeof(base));
        memset(base + *count * element, 0, element);
        (*count)++;
    }
    return 0;
}

int kymo__dictionary_thread(struct kymo_reader *r, uint64_t index)
{
    /* Its tick and system id alone take this much, however well they compress. */
    return reach(&r->threads, &r->thread_count, &r->thread_capacity, index, most_ids(r, 8),
                 sizeof(*r->threads));
}

struct kymo_thread_more *kymo__thread_more_new(struct kymo_reader *r, uint32_t thread)
{
    struct kymo_reader_thread *t = &r->threads[thread];
    if (!t->more) {
        size_t next = r->more_count ? r->more_count : 1;
        if (reach(&r->mores, &r->more_count, &r->more_capacity, next, UINT32_MAX,
                  sizeof(*r->mores)) < 0)
            return NULL;
        t->more = (uint32_t)next;
    }
    return &r->mores[t->more];
}

/* Texts lie one after the other in blocks: there may be millions, and most are short. */
struct kymo_text_block {
    struct kymo_text_block *before;
    size_t used, room;
    char bytes[];
};

enum { TEXT_BLOCK = 64 << 10 };

/* NEED bytes in a block, or NULL. */
static char *take_text(struct kymo_reader *r, size_t need)
{
    struct kymo_text_block *block = r->texts;
    if (!block || block->room - block->used < need) {
        size_t room = TEXT_BLOCK - sizeof(*block);
        room = need > room ? need : room;
        block = kymo__alloc(sizeof(*block) + room);
        if (!block)
            return NULL;
        *block = (struct kymo_text_block){.before = r->texts, .room = room};
        r->texts = block;
    }
    block->used += need;
    return block->bytes + block->used - need;
}

/* The room for LEN bytes and a zero of a text that came in parts, so that adding to it again and
   again does not copy it each time. */
static size_t grown_room(size_t len)
{
    return (size_t)1 << (64 - __builtin_clzll(len));
}

/* Make room for LEN more bytes, and a zero, after the text of S. Returns 0 or -ENOMEM. */
static int reserve_text(struct kymo_reader *r, struct kymo_reader_string *s, size_t len)
{
    if (!s->len) {
        s->text = take_text(r, len + 1);
        s->grown = 0;
        return s->text ? 0 : -ENOMEM;
    }
    if (s->grown && s->len + len < grown_room(s->len))
        return 0;
    char *text = take_text(r, grown_room(s->len + len));
    if (!text)
        return -ENOMEM;
    memcpy(text, s->text, s->len);
    s->text = text;
    s->grown = 1;
    return 0;
}

static int add_text(struct kymo_reader *r, const struct kymo_def *def)
{
    uint64_t id = def->number[0];
    int rc = reach(&r->strings, &r->string_count, &r->string_capacity, id, most_ids(r, 1),
                   sizeof(*r->strings));
    if (rc < 0)
        return rc;
    struct kymo_reader_string *s = &r->strings[id];
    if (def->type == KYMO__DEF_STRING)
        s->len = 0; /* repeated from the start: the first time was cut short */
    if (def->text_len >= UINT32_MAX - s->len)
        return KYMO_EBLOCK;
    rc = reserve_text(r, s, def->text_len);
    if (rc < 0)
        return rc;
    if (def->text_len)
        memcpy(s->text + s->len, def->text, def->text_len);
    s->len += (uint32_t)def->text_len;
    s->text[s->len] = '\0';
    return 0;
}

static int add_key(struct kymo_reader *r, const uint64_t *n)
{
    int rc =
        reach(&r->keys, &r->key_count, &r->key_capacity, n[0], most_ids(r, 1), sizeof(*r->keys));
    if (rc < 0)
        return rc;
    uint32_t schema = r->keys[n[0]].schema;
    r->keys[n[0]] = (struct kymo_reader_key){.schema = schema,
                                             .name = (uint32_t)n[1],
                                             .file = (uint32_t)n[2],
                                             .line = (uint32_t)n[3],
                                             .class = (uint32_t)n[4]};
    return 0;
}

static int add_thread(struct kymo_reader *r, const struct kymo_def *def)
{
    const uint64_t *n = def->number;
    int rc = kymo__dictionary_thread(r, n[0]);
    if (rc < 0)
        return rc;
    struct kymo_reader_thread *t = &r->threads[n[0]];
    if (def->type == KYMO__DEF_THREAD_NAME) {
        t->name = (uint32_t)n[1];
    } else if (def->type == KYMO__DEF_THREAD_END) {
        t->end_ticks = n[1];
    } else {
        t->defined = true;
        t->tid = n[1];
        t->start_ticks = n[2];
        t->name = t->name ? t->name : (uint32_t)n[3];
        t->process = n[4] < UINT32_MAX ? (uint32_t)n[4] : 0;
    }
    return 0;
}

static int add_meta(struct kymo_reader *r, const uint64_t *n)
{
    if (n[0] >= r->string_count)
        return 0; /* a value without a key is useless */
    struct kymo_reader_string *key = &r->strings[n[0]];
    if (!key->meta) {
        int rc = kymo__array_grow(&r->metas, &r->meta_capacity, r->meta_count, sizeof(*r->metas));
        if (rc < 0)
            return rc;
        r->metas[r->meta_count].key = (uint32_t)n[0];
        key->meta = (uint32_t)++r->meta_count & 0x7FFFFFFFu;
    }
    r->metas[key->meta - 1].value = (uint32_t)n[1];
    return 0;
}

static int add_clock(struct kymo_reader *r, const uint64_t *n)
{
    int rc = kymo__array_grow(&r->snapshots, &r->snapshot_capacity, r->snapshot_count,
                              sizeof(*r->snapshots));
    if (rc == 0)
        r->snapshots[r->snapshot_count++] =
            (struct kymo_snapshot){n[0], (int64_t)n[1], kymo__unzigzag(n[2])};
    return rc;
}

static int add_process(struct kymo_reader *r, const uint64_t *n)
{
    int rc = reach(&r->processes, &r->process_count, &r->process_capacity, n[0], most_ids(r, 4),
                   sizeof(*r->processes));
    if (rc == 0)
        r->processes[n[0]] = (struct kymo_reader_process){
            .pid = n[1], .name = (uint32_t)n[2], .machine = (uint32_t)n[3], .defined = true};
    return rc;
}

static int add_range(struct kymo_reader *r, const uint64_t *n)
{
    if (n[0] <= n[1]) {
        r->ranged = true;
        r->range_first = n[0];
        r->range_last = n[1];
    }
    return 0;
}

static int add_gap(struct kymo_reader *r, const uint64_t *n)
{
    int rc = kymo__dictionary_thread(r, n[0]);
    if (rc == 0)
        rc = kymo__array_grow(&r->gaps, &r->gap_capacity, r->gap_count, sizeof(*r->gaps));
    if (rc == 0)
        r->gaps[r->gap_count++] =
            (struct kymo_reader_gap){(uint32_t)n[0], (uint32_t)n[1], n[2], n[3], n[4]};
    return rc;
}

static int add_schema(struct kymo_reader *r, const struct kymo_def *def)
{
    const uint64_t *n = def->number;
    struct kymo_reader_schema schema = {.number = (uint32_t)n[1]};
    const uint8_t *at = def->text, *end = at + def->text_len;
    if (!n[0] || n[1] > KYMO_SCHEMAS_MOST)
        return 0;
    while (at < end && schema.plan.count < KYMO_FIELDS_MOST) {
        uint64_t key;
        at = kymo__varint_get(at, end, &key);
        if (!at || at == end || key > UINT32_MAX || !kymo__field_valid(*at))
            return 0; /* from a newer version: its payloads cannot be read */
        schema.field[schema.plan.count] = (uint32_t)key;
        schema.plan.type[schema.plan.count++] = *at++;
    }
    int rc =
        reach(&r->keys, &r->key_count, &r->key_capacity, n[0], most_ids(r, 1), sizeof(*r->keys));
    if (rc == 0)
        rc = kymo__array_grow(&r->schemas, &r->schema_capacity, r->schema_count,
                              sizeof(*r->schemas));
    if (rc < 0)
        return rc;
    r->schemas[r->schema_count++] = schema;
    r->keys[n[0]].schema = (uint32_t)r->schema_count;
    return 0;
}

static int add_track(struct kymo_reader *r, const uint64_t *n)
{
    int rc = kymo__dictionary_thread(r, n[0]);
    if (rc < 0)
        return rc;
    struct kymo_thread_more *more = kymo__thread_more_new(r, (uint32_t)n[0]);
    if (!more)
        return -ENOMEM;
    more->track = true;
    more->device = kymo__unzigzag(n[1]);
    more->stream = n[2];
    more->clock = n[3] < KYMO__CLOCKS_MOST ? (uint32_t)n[3] : KYMO__CLOCK_NS;
    return 0;
}

static int add_track_clock(struct kymo_reader *r, const struct kymo_def *def)
{
    const uint64_t *n = def->number;
    if (n[0] <= KYMO__CLOCK_NS)
        return 0;
    int rc = reach(&r->clocks, &r->clock_count, &r->clock_capacity, n[0], KYMO__CLOCKS_MOST,
                   sizeof(*r->clocks));
    if (rc < 0)
        return rc;
    struct kymo_reader_clock *clock = &r->clocks[n[0]];
    if (def->type == KYMO__DEF_TRACK_CLOCK) {
        clock->name = (uint32_t)n[1];
        clock->rate = n[2];
        return 0;
    }
    rc = kymo__array_grow(&clock->times, &clock->capacity, clock->count, sizeof(*clock->times));
    if (rc == 0)
        clock->times[clock->count++] = (struct kymo_snapshot){n[1], (int64_t)n[2], 0};
    return rc;
}

static int apply_def(struct kymo_reader *r, const struct kymo_def *def)
{
    switch (def->type) {
    case KYMO__DEF_STRING:
    case KYMO__DEF_MORE:
        return add_text(r, def);
    case KYMO__DEF_KEY:
        return add_key(r, def->number);
    case KYMO__DEF_THREAD:
    case KYMO__DEF_THREAD_NAME:
    case KYMO__DEF_THREAD_END:
        return add_thread(r, def);
    case KYMO__DEF_META:
        return add_meta(r, def->number);
    case KYMO__DEF_CLOCK:
        return add_clock(r, def->number);
    case KYMO__DEF_GAP:
        return add_gap(r, def->number);
    case KYMO__DEF_PROCESS:
        return add_process(r, def->number);
    case KYMO__DEF_RANGE:
        return add_range(r, def->number);
    case KYMO__DEF_MODULE:
    case KYMO__DEF_FRAME:
    case KYMO__DEF_NODE:
    case KYMO__DEF_STACK:
        return kymo__stackdefs_apply(&r->stacks, def);
    case KYMO__DEF_SCHEMA:
        return add_schema(r, def);
    case KYMO__DEF_TRACK:
        return add_track(r, def->number);
    case KYMO__DEF_TRACK_CLOCK:
    case KYMO__DEF_TRACK_TIME:
        return add_track_clock(r, def);
    }
    return 0;
}

int kymo__dictionary_apply(struct kymo_reader *reader, const uint8_t *bytes, size_t len)
{
    const uint8_t *at = bytes, *end = bytes + len;
    struct kymo_def def;
    while (at < end) {
        const int type = *at;
        at = kymo__def_get(at, end, &def);
        if (!at)
            break;
        reader->unknown_parts += !kymo__def_numbers(type);
        if (apply_def(reader, &def) == -ENOMEM)
            return -ENOMEM;
    }
    return 0;
}

void kymo__dictionary_fini(struct kymo_reader *r)
{
    for (struct kymo_text_block *block = r->texts, *before; block; block = before) {
        before = block->before;
        kymo__free(block);
    }
    kymo__free(r->strings);
    kymo__free(r->threads);
    kymo__free(r->mores);
    kymo__free(r->keys);
    kymo__free(r->metas);
    kymo__free(r->snapshots);
    kymo__free(r->gaps);
    kymo__free(r->processes);
    kymo__stackdefs_fini(&r->stacks);
    kymo__free(r->schemas);
    for (size_t i = 0; i < r->clock_count; i++)
        kymo__free(r->clocks[i].times);
    kymo__free(r->clocks);
}
