/* symbolizer.c — resolve many places at once: known places come from a cache, and new ones are
   resolved file by file, in order of address.

   Every place ever requested has an answer, found by binary and offset. */
#include <errno.h>
#include <kymo/symbol.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "binary.h"
#include "generated.h"
#include "map.h"

struct answer {
    uint64_t offset;
    size_t first;    /* its first symbol in found */
    uint32_t count;  /* number of symbols; 0: not resolved yet */
    uint32_t binary; /* from 1 */
    uint64_t call;   /* the last call that requested it */
};

struct kymo_symbolizer {
    int mode;
    struct kymo_texts texts;
    struct kymo_strtab paths; /* path, zero byte, build id: the id is that of the binary */
    struct kymo_binary **binaries;
    size_t binaries_capacity;
    struct answer *answers;
    size_t answer_count, answer_capacity;
    struct kymo_map answer_of; /* answers, from 1, by a mix of binary and offset */
    struct kymo_symbols found; /* of all answers */
    struct kymo_symbols out;   /* of this call */
    struct kymo_wanted *wanted;
    size_t wanted_count, wanted_capacity;
    uint64_t call;
    struct kymo_generated generated;
};

int kymo_symbolizer_new(int mode, struct kymo_symbolizer **symbolizer)
{
    if (mode < KYMO_SYMBOL_FULL || mode > KYMO_SYMBOL_NONE)
        return -EINVAL;
    struct kymo_symbolizer *s = kymo__alloc_zeroed(sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->mode = mode;
    *symbolizer = s;
    return 0;
}

void kymo_symbolizer_free(struct kymo_symbolizer *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->paths.count; i++) {
        if (s->binaries[i])
            kymo__binary_fini(s->binaries[i]);
        kymo__free(s->binaries[i]);
    }
    kymo__generated_fini(&s->generated);
    kymo__strtab_fini(&s->paths);
    kymo__texts_fini(&s->texts);
    kymo__free(s->binaries);
    kymo__free(s->answers);
    kymo__map_fini(&s->answer_of);
    kymo__free(s->found.list);
    kymo__free(s->out.list);
    kymo__free(s->wanted);
    kymo__free(s);
}

/* ---- binaries ---- */

/* The number of PLACE's binary, from 1, or negative. */
static int64_t binary_of(struct kymo_symbolizer *s, const struct kymo_place *place)
{
    char room[1024], *key = room;
    const char *path = place->path ? place->path : "";
    size_t path_len = strlen(path), id_len = place->build_id ? place->build_id_bytes : 0;
    size_t len = path_len + 1 + id_len;
    if (len > sizeof(room) && !(key = kymo__alloc(len)))
        return -ENOMEM;
    memcpy(key, path, path_len + 1);
    if (id_len)
        memcpy(key + path_len + 1, place->build_id, id_len);
    int added = 0;
    int64_t id = -ENOMEM;
    if (kymo__array_grow(&s->binaries, &s->binaries_capacity, s->paths.count,
                         sizeof(*s->binaries)) == 0)
        id = kymo__strtab_add(&s->paths, key, len, &added);
    if (added)
        s->binaries[id - 1] = NULL;
    if (key != room)
        kymo__free(key);
    return id;
}

/* Binary NUMBER, opened. */
static int binary_open(struct kymo_symbolizer *s, uint32_t number, struct kymo_binary **binary)
{
    if (!s->binaries[number - 1]) {
        const struct kymo_str *key = kymo__strtab_get(&s->paths, number);
        size_t path_len = strlen(key->text);
        struct kymo_build_id id = {(const uint8_t *)key->text + path_len + 1,
                                   (uint32_t)(key->len - path_len - 1)};
        struct kymo_binary *made = kymo__alloc(sizeof(*made));
        if (!made)
            return -ENOMEM;
        int rc = kymo__binary_init(made, key->text, id, s->mode);
        if (rc < 0) {
            kymo__free(made);
            return rc;
        }
        s->binaries[number - 1] = made;
    }
    *binary = s->binaries[number - 1];
    return 0;
}

/* ---- answers ---- */

/* The number of the answer for OFFSET of BINARY, from 1, created if needed; 0 if memory is
   short. */
static uint32_t answer_for(struct kymo_symbolizer *s, uint32_t binary, uint64_t offset)
{
    uint64_t key = offset ^ (uint64_t)binary << 48;
    uint32_t number;
    for (size_t at = 0; (number = kymo__map_next(&s->answer_of, key, &at)) != 0;) {
        const struct answer *answer = &s->answers[number - 1];
        if (answer->offset == offset && answer->binary == binary)
            return number;
    }
    if (s->answer_count >= UINT32_MAX / 2 || kymo__map_reserve(&s->answer_of) < 0 ||
        kymo__array_grow(&s->answers, &s->answer_capacity, s->answer_count, sizeof(*s->answers)) <
            0)
        return 0;
    s->answers[s->answer_count] = (struct answer){.offset = offset, .binary = binary};
    number = (uint32_t)++s->answer_count;
    kymo__map_add(&s->answer_of, key, number);
    return number;
}

/* ---- in one go ---- */

static int want_module(struct kymo_symbolizer *s, uint32_t number)
{
    struct answer *answer = &s->answers[number - 1];
    if (answer->count || answer->call == s->call)
        return 0;
    if (kymo__array_grow(&s->wanted, &s->wanted_capacity, s->wanted_count, sizeof(*s->wanted)) < 0)
        return -ENOMEM;
    answer->call = s->call;
    s->wanted[s->wanted_count++] =
        (struct kymo_wanted){.address = answer->offset, .answer = number};
    return 0;
}

static int by_binary(const void *a, const void *b, void *arg)
{
    const struct kymo_wanted *x = a, *y = b;
    const struct answer *answers = arg;
    uint32_t n = answers[x->answer - 1].binary, m = answers[y->answer - 1].binary;
    if (n != m)
        return n < m ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* Resolve what is wanted, one binary after the other. */
static int find_wanted(struct kymo_symbolizer *s)
{
    if (s->wanted_count == 0)
        return 0;
    qsort_r(s->wanted, s->wanted_count, sizeof(*s->wanted), by_binary, s->answers);
    for (size_t i = 0; i < s->wanted_count;) {
        uint32_t number = s->answers[s->wanted[i].answer - 1].binary;
        size_t end = i + 1;
        while (end < s->wanted_count && s->answers[s->wanted[end].answer - 1].binary == number)
            end++;
        struct kymo_binary *binary;
        int rc = binary_open(s, number, &binary);
        if (rc == 0)
            rc = kymo__binary_find(binary, s->wanted + i, end - i, &s->found, &s->texts);
        if (rc < 0)
            return rc;
        for (; i < end; i++) {
            struct answer *answer = &s->answers[s->wanted[i].answer - 1];
            answer->first = s->wanted[i].first;
            answer->count = s->wanted[i].count;
        }
    }
    return 0;
}

/* FIRST holds the numbers of the answers; replace them by the positions of their symbols. */
static int hand_out(struct kymo_symbolizer *s, size_t count, size_t *first)
{
    s->out.count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct answer *answer = &s->answers[first[i] - 1];
        first[i] = s->out.count;
        for (uint32_t k = 0; k < answer->count; k++) {
            if (kymo__array_grow(&s->out.list, &s->out.capacity, s->out.count,
                                 sizeof(*s->out.list)) < 0)
                return -ENOMEM;
            s->out.list[s->out.count++] = s->found.list[answer->first + k];
        }
    }
    first[count] = s->out.count;
    return 0;
}

int kymo_symbolize(struct kymo_symbolizer *s, const struct kymo_place *places, size_t count,
                   const struct kymo_symbol **symbols, size_t *first)
{
    int64_t binary = 0;
    s->call++;
    s->wanted_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct kymo_place *place = &places[i], *last = place - 1;
        if (i == 0 || place->path != last->path || place->build_id != last->build_id ||
            place->build_id_bytes != last->build_id_bytes)
            binary = binary_of(s, place);
        uint32_t number = binary < 0 ? 0 : answer_for(s, (uint32_t)binary, place->offset);
        if (!number || want_module(s, number) < 0)
            return -ENOMEM;
        first[i] = number;
    }
    int rc = find_wanted(s);
    if (rc == 0)
        rc = hand_out(s, count, first);
    if (rc == 0)
        *symbols = s->out.list;
    return rc;
}

int kymo_symbolize_generated(struct kymo_symbolizer *s, int64_t pid, uint64_t address,
                             struct kymo_symbol *symbol)
{
    if (s->mode == KYMO_SYMBOL_NONE)
        return 0;
    return kymo__generated_find(&s->generated, &s->texts, pid, address, symbol);
}
