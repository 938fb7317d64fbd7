/* opnumbers.h — an operator's values as records of numbers (oprecords.h): for the recording path. */
#ifndef KYMO_OPNUMBERS_H
#define KYMO_OPNUMBERS_H

#include <kymo/op.h>

#include "local.h"
#include "oprecords.h"
#include "values.h"

/* Records being written, which may turn out not to be possible. */
struct numbers {
    struct kymo_record *to;
    uint64_t large;   /* not 0: a number is too large */
    uint64_t missing; /* values of the last argument */
};

#define NUMBERS_MORE ((uint64_t)KYMO__MORE << 56)

/* The key of NAME if LOCAL remembers it, else 0. */
KYMO_INLINE uint32_t recent_key(const struct kymo_local *local, const char *name,
                                const struct kymo_recent *last)
{
    if (kymo__unlikely(last->address != name))
        last = &local->recent[kymo__recent_place(name)];
    return kymo__likely(last->address == name) ? last->key : 0;
}

KYMO_INLINE void put_number(struct numbers *n, uint64_t ticks, uint64_t word)
{
    *n->to++ = (struct kymo_record){ticks, NUMBERS_MORE | word};
}

KYMO_INLINE void put_tensor_dims(struct numbers *n, const struct kymo_op_tensor *t)
{
    uint64_t all = 0;
    uint32_t i = 0;
    for (; i + 1 < t->dims; i += 2) {
        uint64_t size = (uint64_t)t->shape[i], stride = (uint64_t)t->strides[i];
        uint64_t other = (uint64_t)t->shape[i + 1], its = (uint64_t)t->strides[i + 1];
        all |= size | stride | other | its;
        put_number(n, size | stride << 32, other | its << 28);
    }
    if (i < t->dims) {
        all |= (uint64_t)t->shape[i] | (uint64_t)t->strides[i];
        put_number(n, (uint64_t)t->shape[i] | (uint64_t)t->strides[i] << 32, 0);
    }
    n->large |= all >> 28;
}

/* False if it cannot be put in this way. */
KYMO_INLINE bool put_tensor_numbers(struct numbers *n, const struct kymo_local *local,
                                    const struct kymo_op_tensor *t)
{
    uint64_t dtype = recent_key(local, t->dtype, &local->recent_dtype);
    uint64_t device = recent_key(local, t->device, &local->recent_device);
    if (kymo__unlikely(!dtype || !device || t->marks || t->dims > KYMO__OPRECORDS_DIMS ||
                       !t->shape || !t->strides))
        return false;
    n->large |=
        t->storage >> 48 | t->numel >> 36 | (uint64_t)t->itemsize >> 8 | dtype >> 28 | device >> 28;
    put_number(n, t->tensor, KYMO_OP_TENSOR | t->storage << 8);
    put_number(n,
               t->numel | (uint64_t)t->itemsize << 36 | (uint64_t)t->dims << 44 |
                   (uint64_t)(t->offset != 0) << 52,
               dtype | device << 28);
    if (t->offset)
        put_number(n, (uint64_t)t->offset, 0);
    put_tensor_dims(n, t);
    return true;
}

/* Put COUNT values, at most KYMO__OPRECORDS_VALUES, at AT, where there is room for
   KYMO__OPRECORDS_MOST records. Returns the record after them, or NULL if they cannot be put in this
   way, and in *CUT whether the last argument is not complete. Nothing need be claimed; but whoever calls
   it must find recent_changes of LOCAL the same afterwards, inside a claim: a signal handler may have
   recorded in between. */
KYMO_INLINE struct kymo_record *put_numbers(struct kymo_record *at, const struct kymo_local *local,
                                            const struct kymo_op_value *values, size_t count,
                                            bool *cut)
{
    const unsigned with_number = 1u << KYMO_OP_INT | 1u << KYMO_OP_BOOL | 1u << KYMO_OP_FLOAT;
    const unsigned lists = 1u << KYMO_OP_LIST | 1u << KYMO_OP_TUPLE;
    const unsigned alone = 1u << KYMO_OP_NONE | 1u << KYMO_OP_UNDEFINED;
    struct numbers n = {.to = at};
    for (size_t i = 0; i < count; i++) {
        const struct kymo_op_value *v = &values[i];
        uint32_t kind = v->kind;
        n.missing -= n.missing > 0;
        if (kymo__unlikely(v->name != NULL || kind >= 32))
            return NULL;
        if (kind == KYMO_OP_TENSOR) {
            if (kymo__unlikely(!put_tensor_numbers(&n, local, &v->tensor)))
                return NULL;
        } else if (with_number >> kind & 1) {
            put_number(&n, (uint64_t)v->integer, kind); /* or the bits of `real` */
        } else if (lists >> kind & 1) {
            if (kymo__unlikely(v->count > KYMO_OP_VALUES_MOST))
                return NULL;
            n.missing += v->count;
            put_number(&n, v->count, kind);
        } else if (alone >> kind & 1) {
            put_number(&n, 0, kind);
        } else {
            return NULL;
        }
    }
    *cut = n.missing != 0;
    return kymo__likely(!n.large) ? n.to : NULL;
}

#endif
