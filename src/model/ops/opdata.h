/* opdata.h — the inputs or outputs of an operator, rebuilt from the columns of its payload.

   Values are in preorder: a list or tuple is followed by its elements, which may be lists
   themselves. */
#ifndef KYMO_OPVALUES_H
#define KYMO_OPVALUES_H

#include <kymo/op.h>

#include "opfields.h"

/* Lists nested deeper are emptied: no program has any, but a damaged file may. */
enum { KYMO__OP_DEEPEST = 64 };

struct kymo_opdatum {
    uint8_t kind, marks; /* enum kymo_op_kind and kymo_op_mark */
    uint32_t count;      /* list, tuple: elements that follow, without theirs */
    uint32_t after;      /* position after the value and everything in it */
    int64_t integer;     /* int, bool; list, tuple: elements that it had */
    double real;         /* float, complex */
    double imaginary;    /* complex */
    const char *text;    /* text, device, other: `length` bytes, not terminated */
    size_t length;
    const char *name; /* keyword of a top-level value, or NULL */
    /* Tensors. */
    uint64_t tensor, storage; /* addresses; 0: no storage */
    uint64_t tensor_id, storage_id;
    int64_t offset;           /* elements from the start of the storage */
    uint64_t numel, itemsize; /* elements, and bytes of each */
    const char *dtype, *device;
    struct kymo_op_list shape, strides; /* of signed numbers */
};

struct kymo_opdata {
    struct kymo_opdatum *all;
    size_t count, capacity;
    uint32_t top;             /* values that are not in a list */
    bool recorded;            /* false: nothing is known about them */
    bool cut;                 /* there were more */
    struct kymo_buffer bytes; /* of texts, shapes and strides */
};

/* Read FIELDS into VALUES, which may be reused; names are looked up in READER. The ids of tensors are
   0. Damaged fields give fewer values. Returns 0 or -ENOMEM. */
int kymo__op_values_read(struct kymo_opdata *values, const struct kymo_op_fields *fields,
                         const struct kymo_reader *reader);
void kymo__op_values_clear(struct kymo_opdata *values);
void kymo__op_values_fini(struct kymo_opdata *values);

static inline bool kymo__op_is_many(const struct kymo_opdatum *value)
{
    return value->kind == KYMO_OP_LIST || value->kind == KYMO_OP_TUPLE ||
           value->kind == KYMO_OP_NO_TENSORS;
}

static inline bool kymo__op_is_tensor(const struct kymo_opdatum *value)
{
    return value->kind == KYMO_OP_TENSOR || value->kind == KYMO_OP_UNDEFINED;
}

/* Is the tensor at ADDRESS among VALUES? */
static inline bool kymo__op_takes_tensor(const struct kymo_opdata *values, uint64_t address)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->all[i].kind == KYMO_OP_TENSOR && values->all[i].tensor == address)
            return true;
    return false;
}

#endif
