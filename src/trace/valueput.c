/* valueput.c — writes the column of values; see values.h. */
#include <string.h>

#include "alloc.h"
#include "atomic.h"
#include "entries.h"

struct kymo_values {
    uint32_t block; /* block counter: entries of earlier blocks do not count */
    struct {
        uint32_t block;
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
    values->of[number].block = values->block;
    if (fields.exact && (size_t)(after - out) <= len)
        return after;
    *head |= KYMO__ENTRY_RAW;
    memcpy(out, bytes, len);
    return out + len;
}
