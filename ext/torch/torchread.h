/* torchread.h — where torch keeps what it does not tell: offsets in its objects, found at run time by
   kymograph/_torch/layout.py, and the reading of records with them.

   Reads follow pointers without a check. That is safe once the offsets have passed the test of
   kymograph/_torch/check.py, and not before. */
#ifndef KYMO_EXT_TORCHREAD_H
#define KYMO_EXT_TORCHREAD_H

#include <kymo/op.h>

#include "torchlib.h"

enum { KYMO__TORCH_TAGS = 64, KYMO__TORCH_DTYPES = 64 };

/* Offsets in bytes. */
struct kymo__torch_layout {
    /* of a record */
    int inputs;  /* pointer to values, their number */
    int outputs; /* pointer to values, pointer to their end */
    int sequence, id, thread, forward_thread;
    int scope;  /* one byte */
    int schema; /* pointer to an object that begins with a pointer to the operator's name */
    /* of that object */
    int overload; /* pointer to text, its length */
    /* of the objects that values point to */
    int list;    /* pointer to values, pointer to their end */
    int element; /* of a list: pointer to the type of its elements; -1: unknown */
    int tuple;   /* how many values are here; 0: two pointers as for a list follow */
    int text;    /* pointer to text, its length */
    int complex_parts;
    /* of a tensor */
    int storage, keys, offset, numel;
    int sizes;  /* how many; then up to 5 sizes and 5 strides, or a pointer to more */
    int dtype;  /* two bytes */
    int device; /* type, index, and whether there is any; a byte each */
    int policy; /* in bits, of two bits: 1, its strides, or 2, all of its sizes are not those here but
                   are asked for; -1: unknown */
    /* of its storage */
    int data; /* pointer to the memory; -1: unknown */
    /* of a Python object */
    int object_tensor;    /* pointer to the tensor; -1: unknown */
    uint64_t tensor_type; /* that pointer if the elements are tensors */
    /* bits of `keys`: a tensor with none but the first has what it says; with none but the second it
       has strides; with any of the third it has no sizes */
    uint64_t plain, strided, opaque;
    uint8_t kinds[KYMO__TORCH_TAGS];    /* by tag of a value: enum kymo_op_kind */
    const char *tags[KYMO__TORCH_TAGS]; /* torch's names of the tags; NULL: unknown */
    struct {
        const char *name; /* NULL: unknown */
        uint16_t bytes;
    } dtypes[KYMO__TORCH_DTYPES];
};

/* A value of torch (c10::IValue). */
struct kymo__torch_ivalue {
    uint64_t payload;
    uint32_t tag;
    uint32_t unused;
};

enum {
    KYMO__TORCH_INLINE_DIMS = 5,
    KYMO__TORCH_INPUTS_MOST = 1 << 20, /* more is not a number of inputs */
};

/* The layout, or NULL while it is not known. Set it while no operator is being recorded. */
extern const struct kymo__torch_layout *kymo__torch_layout_now;

static inline const struct kymo__torch_layout *kymo__torch_layout(void)
{
    return __atomic_load_n(&kymo__torch_layout_now, __ATOMIC_ACQUIRE);
}

void kymo__torch_layout_set(const struct kymo__torch_layout *layout); /* NULL: unknown again */

/* Values being read. */
struct kymo__torch_values {
    struct kymo_op_value *at, *end;
    bool cut; /* there was no room for all */
    /* Called when there is no room: makes some by moving `at`, or returns false. May be NULL. */
    bool (*full)(struct kymo__torch_values *values);
};

/* Read the inputs or outputs of RECORD. */
void kymo__torch_read_inputs(const struct kymo__torch_layout *l, const struct kymo__torch_lib *lib,
                             const void *record, struct kymo__torch_values *values);
void kymo__torch_read_outputs(const struct kymo__torch_layout *l, const struct kymo__torch_lib *lib,
                              const void *record, struct kymo__torch_values *values);

/* The name of a device, as c10::Device prints itself. It stays in place for ever. */
const char *kymo__torch_device_name(unsigned type, int index);

/* Read what TENSOR, a TensorImpl, has. */
void kymo__torch_read_tensor(const struct kymo__torch_layout *l, const void *tensor,
                             struct kymo_op_value *value);

#endif
