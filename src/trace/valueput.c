/* valueput.c — writes the column of values; see values.h. */
#include <string.h>

#include "alloc.h"
#include "atomic.h"
#include "entries.h"

struct kymo_values {
    uint32_t block; /* block counter: entries of earlier blocks do not count */
    struct {
        uint32_t block;
        uint8_t shape; /* of the plan, once it was written; see kymo__plan_shape */
        uint64_t last[KYMO_FIELDS_MOST];
    } of[KYMO_SCHEMAS_MOST + 1];
};

struct kymo_values *kymo__values_new(void)
{
    return kymo__alloc_zeroed(sizeof(struct kymo_values));
}

void kymo__values_free(struct kymo_values *values)
{
    kymo__free(values);
}

void kymo__values_begin(struct kymo_values *values)
{
    values->block++;
}

enum { PADDING = KYMO__VALUES_PADDING };

/* A payload as it is encoded. */
struct fields {
    const uint8_t *at, *end;
    uint64_t *last;                    /* values of the previous payload; those that are stored as
                                          differences are replaced by this one's */
    uint64_t before[KYMO_FIELDS_MOST]; /* what they were, for a payload that does not fit */
    unsigned done;                     /* fields after the last that was replaced */
    bool exact;                        /* no difference was too large */
};

/* Copy what is between FROM and TO to OUT. */
static inline uint8_t *put_copy(uint8_t *out, const uint8_t *from, const uint8_t *to)
{
    size_t size = (size_t)(to - from);
    if (kymo__likely(size <= PADDING))
        memcpy(out, from, PADDING);
    else
        memcpy(out, from, size);
    return out + size;
}

/* Write the differences of FIELDS at OUT, and everything between them as it is. Returns the byte
   after them, or NULL if they do not fit PLAN. */
static uint8_t *put_differences(const struct kymo_plan *plan, struct fields *fields, uint8_t *out)
{
    const uint8_t *at = fields->at, *const end = fields->end;
    const uint8_t *from = at; /* what was read and is not written yet */
    for (unsigned i = 0; i < plan->count; i++) {
        unsigned type = plan->type[i];
        if (!kymo__field_near(type)) {
            at = kymo__field_end_soon(type, at, end);
            if (kymo__unlikely(!at))
                return NULL;
            continue;
        }
        uint64_t v = 0;
        if (kymo__unlikely(at >= end))
            return NULL;
        out = put_copy(out, from, at);
        from = at = kymo__varint_get_even(at, end, &v);
        if (kymo__unlikely(!at || at > end))
            return NULL;
        uint64_t last = fields->before[i] = fields->last[i];
        fields->last[i] = v;
        fields->done = i + 1;
        uint64_t folded = kymo__value_fold(type, v - last);
        fields->exact &= last + kymo__value_unfold(type, folded) == v;
        out = kymo__varint_put_even(out, folded);
    }
    return at == end ? put_copy(out, from, at) : NULL;
}

uint8_t *kymo__values_put(struct kymo_values *values, const struct kymo_plans *plans,
                          unsigned number, const uint8_t *bytes, size_t len, uint8_t *out)
{
    const struct kymo_plan *plan = plans && number && number <= kymo__load_acquire(&plans->count)
                                       ? &plans->plan[number]
                                       : NULL;
    uint8_t *head = out;
    if (!plan) {
        *out++ = 0;
        return out;
    }
    uint64_t *last = values->of[number].last;
    unsigned flags = values->of[number].block == values->block ? 0 : KYMO__ENTRY_PLAN;
    if (flags)
        memset(last, 0, plan->count * sizeof(*last));
    /* The header's length does not depend on KYMO__ENTRY_RAW, which is known only afterwards. */
    out = kymo__varint_put(out, (uint64_t)number << 2 | flags);
    if (flags) {
        *out++ = plan->count;
        memcpy(out, plan->type, plan->count);
        out += plan->count;
    }
    struct fields fields; /* `before` is large and stays uninitialised */
    fields.at = bytes;
    fields.end = bytes + len;
    fields.last = last;
    fields.done = 0;
    fields.exact = true;
    uint8_t *after = put_differences(plan, &fields, out);
    if (!after) {
        for (unsigned i = 0; i < fields.done; i++)
            if (kymo__field_near(plan->type[i]))
                last[i] = fields.before[i];
        *head = 0;
        return head + 1;
    }
    if (flags) {
        values->of[number].block = values->block;
        values->of[number].shape = kymo__plan_shape(plan);
    }
    if (fields.exact && (size_t)(after - out) <= len)
        return after;
    *head |= KYMO__ENTRY_RAW;
    memcpy(out, bytes, len);
    return out + len;
}

/* ---- the quick form ---- */

/* A varint of at most eight bytes where it is stored, or none if `size` is 0. */
struct stored {
    uint64_t word, ends;
    size_t size;
};

static inline struct stored stored_at(const uint8_t *at)
{
    struct stored s;
    memcpy(&s.word, at, sizeof(s.word));
    s.ends = kymo__varint_ends(s.word);
    s.size = kymo__likely(s.ends != 0) ? (size_t)__builtin_ctzll(s.ends) / 8 + 1 : 0;
    return s;
}

static inline uint8_t *put_stored(uint8_t *out, const struct stored *s)
{
    memcpy(out, &s->word, sizeof(s->word));
    return out + s->size;
}

/* Is a difference so small that it, folded, has at most 56 bits? */
static inline bool is_small(uint64_t difference)
{
    return difference + (UINT64_C(1) << 53) < UINT64_C(1) << 54;
}

static inline uint8_t *put_small(uint8_t *out, uint64_t folded)
{
    unsigned bytes;
    uint64_t word = kymo__likely(folded < 1u << 28) ? kymo__varint_spread_half(folded, &bytes)
                                                    : kymo__varint_spread(folded, &bytes);
    memcpy(out, &word, sizeof(word));
    return out + bytes;
}

/* The number of S; ids are usually short. */
static inline uint64_t id_of(const struct stored *s)
{
    return kymo__likely(s->size <= 2) ? (s->word & 0x7f) | (s->word >> 1 & 0x3f80 & -(s->size - 1))
                                      : kymo__varint_squeeze(s->word, s->ends);
}

/* An address. */
static inline uint8_t *put_quick_free(uint64_t *last, const uint8_t *bytes, size_t len,
                                      uint8_t *out)
{
    struct stored at = stored_at(bytes);
    if (kymo__unlikely(!at.size || at.size != len))
        return NULL;
    uint64_t address = kymo__varint_squeeze(at.word, at.ends), moved = address - last[0];
    if (kymo__unlikely(!is_small(moved)))
        return NULL;
    uint8_t *after = put_small(out, kymo__value_fold(KYMO_FIELD_ADDRESS, moved));
    if (kymo__unlikely((size_t)(after - out) > len))
        return NULL;
    last[0] = address;
    return after;
}

/* The varint after the first *USED of LEN bytes, which it adds to. False if there is none. */
static inline bool next_stored(const uint8_t *bytes, size_t len, size_t *used, struct stored *s)
{
    if (kymo__unlikely(*used >= len))
        return false;
    *s = stored_at(bytes + *used);
    *used += s->size;
    return s->size != 0;
}

/* A size, an address, a stack and a name. The first and the last are copied as they are. */
static inline uint8_t *put_quick_alloc(uint64_t *last, const uint8_t *bytes, size_t len,
                                       uint8_t *out)
{
    size_t used = 0;
    struct stored size, at, stack, name;
    if (kymo__unlikely(!next_stored(bytes, len, &used, &size) ||
                       !next_stored(bytes, len, &used, &at) ||
                       !next_stored(bytes, len, &used, &stack) ||
                       !next_stored(bytes, len, &used, &name) || used != len))
        return NULL;
    uint64_t address = kymo__varint_squeeze(at.word, at.ends), id = id_of(&stack);
    uint64_t moved = address - last[1], other = id - last[2];
    if (kymo__unlikely(!is_small(moved) || !is_small(other)))
        return NULL;
    uint8_t *after = put_stored(out, &size);
    after = put_small(after, kymo__value_fold(KYMO_FIELD_ADDRESS, moved));
    after = put_small(after, kymo__value_fold(KYMO_FIELD_STACK, other));
    after = put_stored(after, &name);
    if (kymo__unlikely((size_t)(after - out) > len))
        return NULL;
    last[1] = address;
    last[2] = id;
    return after;
}

uint8_t *kymo__values_put_quick(struct kymo_values *values, unsigned number, const uint8_t *bytes,
                                size_t len, uint8_t *out)
{
    /* Larger numbers take two bytes. */
    if (number >= 32 || values->of[number].block != values->block || !len)
        return NULL;
    uint64_t *last = values->of[number].last;
    out[0] = (uint8_t)(number << 2);
    switch (values->of[number].shape) {
    case KYMO__SHAPE_FREE:
        return put_quick_free(last, bytes, len, out + 1);
    case KYMO__SHAPE_ALLOC:
        return put_quick_alloc(last, bytes, len, out + 1);
    }
    return NULL;
}
