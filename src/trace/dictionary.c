/* dictionary.c — see dictionary.h. */
#include "dictionary.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "varint.h"

/* Ids are dense, and what each stands for took some bytes of the file, or of the one
   chunk of definitions in the live file. A greater one was not written by a recorder,
   and believing it would mean allocating whatever it says. */
static uint64_t most_ids(const struct kymo_reader *r, unsigned bytes_each)
{
    uint64_t live = r->live_bytes < KYMO__CHUNK_BYTES ? r->live_bytes : KYMO__CHUNK_BYTES;
    uint64_t most = 64 + (r->file_bytes + live) / bytes_each;
    return most < UINT32_MAX ? most : UINT32_MAX;
}

/* Grow *ARRAY so that INDEX, of at most MOST, is in it, with zeros. */
static int reach(void *array, size_t *count, size_t *capacity, uint64_t index, uint64_t most,
                 size_t element)
{
    if (index < *count)
        return 0;
    if (index >= most)
        return -KYMO_EBLOCK;
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
    /* Its tick and its system id alone are this long, however well they compress. */
    return reach(&r->threads, &r->thread_count, &r->thread_capacity, index, most_ids(r, 8),
                 sizeof(*r->threads));
}

static int add_text(struct kymo_reader *r, const struct kymo_def *def)
{
    uint64_t id = def->number[0];
    int rc = reach(&r->strings, &r->string_count, &r->string_capacity, id, most_ids(r, 1),
                   sizeof(*r->strings));
    if (rc < 0)
        return rc;
    struct kymo_buffer *s = &r->strings[id].text;
    if (def->type == KYMO__DEF_STRING)
        s->len = 0; /* said again from the start: the first time was cut short */
    rc = kymo__buffer_reserve(s, def->text_len + 1);
    if (rc < 0)
        return rc;
    rc = kymo__buffer_add(s, def->text, def->text_len);
    s->bytes[s->len] = '\0';
    return rc;
}

static int add_key(struct kymo_reader *r, const uint64_t *n)
{
    int rc =
        reach(&r->keys, &r->key_count, &r->key_capacity, n[0], most_ids(r, 1), sizeof(*r->keys));
    if (rc < 0)
        return rc;
    r->keys[n[0]] = (struct kymo_reader_key){.name = (uint32_t)n[1],
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
        return 0; /* a value without a key is no use */
    struct kymo_reader_string *key = &r->strings[n[0]];
    if (!key->meta) {
        int rc = kymo__array_grow(&r->metas, &r->meta_capacity, r->meta_count, sizeof(*r->metas));
        if (rc < 0)
            return rc;
        r->metas[r->meta_count].key = (uint32_t)n[0];
        key->meta = (uint32_t)++r->meta_count;
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

static int apply(struct kymo_reader *r, const struct kymo_def *def)
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
    }
    return 0;
}

int kymo__dictionary_apply(struct kymo_reader *reader, const uint8_t *bytes, size_t len)
{
    const uint8_t *at = bytes, *end = bytes + len;
    struct kymo_def def;
    while (at < end && (at = kymo__def_get(at, end, &def))) {
        if (apply(reader, &def) == -ENOMEM)
            return -ENOMEM;
    }
    return 0;
}

void kymo__dictionary_fini(struct kymo_reader *r)
{
    for (size_t i = 0; i < r->string_count; i++)
        kymo__buffer_fini(&r->strings[i].text);
    kymo__free(r->strings);
    kymo__free(r->threads);
    kymo__free(r->keys);
    kymo__free(r->metas);
    kymo__free(r->snapshots);
    kymo__free(r->gaps);
    kymo__free(r->processes);
    kymo__stackdefs_fini(&r->stacks);
}
