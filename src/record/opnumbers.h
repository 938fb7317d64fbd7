/* opnumbers.h — an operator's values as records of numbers (oprecords.h): for the recording path. */
#ifndef KYMO_OPNUMBERS_H
#define KYMO_OPNUMBERS_H

#include <kymo/op.h>

#include "local.h"
#include "oprecords.h"
#include "values.h"

/* The key of NAME if LOCAL remembers it, else 0. */
KYMO_INLINE uint32_t recent_key(const struct kymo_local *local, const char *name,
                                const struct kymo_recent *last)
{
    if (kymo__unlikely(last->address != name))
        last = &local->recent[kymo__recent_place(name)];
    return kymo__likely(last->address == name) ? last->key : 0;
}

/* False if it cannot be put in this way. */
KYMO_INLINE bool put_tensor_numbers(struct kymo__numbers *n, const struct kymo_local *local,
                                    const struct kymo_op_tensor *t)
{
    uint32_t dtype = recent_key(local, t->dtype, &local->recent_dtype);
    uint32_t device = recent_key(local, t->device, &local->recent_device);
    if (kymo__unlikely(!dtype || !device || t->marks || t->dims > KYMO__OPRECORDS_DIMS ||
                       !t->shape || !t->strides))
        return false;
    kymo__numbers_tensor(n, t, dtype, device);
    return true;
}

/* Put COUNT values, at most KYMO__OPRECORDS_VALUES, at AT, where there is room for
   KYMO__OPRECORDS_MOST records. Returns the record after them, or NULL if they cannot be put in this
   way, and in *CUT whether the last argument is not complete. Nothing need be claimed; but whoever calls
   it must find recent_changes of LOCAL the same afterwards: a signal handler may have recorded in
   between. */
KYMO_INLINE struct kymo_record *put_numbers(struct kymo_record *at, const struct kymo_local *local,
                                            const struct kymo_op_value *values, size_t count,
                                            bool *cut)
{
    const unsigned with_number = 1u << KYMO_OP_INT | 1u << KYMO_OP_BOOL | 1u << KYMO_OP_FLOAT;
    const unsigned lists = 1u << KYMO_OP_LIST | 1u << KYMO_OP_TUPLE;
    const unsigned alone = 1u << KYMO_OP_NONE | 1u << KYMO_OP_UNDEFINED | 1u << KYMO_OP_NO_TENSORS;
    struct kymo__numbers n = {.to = at};
    uint64_t missing = 0; /* values of the last argument */
    for (size_t i = 0; i < count; i++) {
        const struct kymo_op_value *v = &values[i];
        uint32_t kind = v->kind;
        missing -= missing > 0;
        if (kymo__unlikely(v->name != NULL || kind >= 32))
            return NULL;
        if (kind == KYMO_OP_TENSOR) {
            if (kymo__unlikely(!put_tensor_numbers(&n, local, &v->tensor)))
                return NULL;
        } else if (with_number >> kind & 1) {
            kymo__numbers_put(&n, (uint64_t)v->integer, kind); /* or the bits of `real` */
        } else if (lists >> kind & 1) {
            if (kymo__unlikely(v->count > KYMO_OP_VALUES_MOST))
                return NULL;
            missing += v->count;
            kymo__numbers_put(&n, v->count, kind);
        } else if (alone >> kind & 1) {
            kymo__numbers_put(&n, 0, kind);
        } else {
            return NULL;
        }
    }
    *cut = missing != 0;
    return kymo__likely(!n.large) ? n.to : NULL;
}

#endif
