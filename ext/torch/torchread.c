/* torchread.c — see torchread.h. */
#include "torchread.h"

#include <stdio.h>
#include <string.h>

#include "torchhead.h"

enum {
    DEEPEST = 6,
    DIMS_MOST = 64,
    OUTPUTS_MOST = KYMO__TORCH_INPUTS_MOST,
    INLINE_TUPLE = 3, /* tuples up to this size may have their values inside */
};

static struct kymo__torch_layout one;
const struct kymo__torch_layout *kymo__torch_layout_now;

void kymo__torch_layout_set(const struct kymo__torch_layout *layout)
{
    if (layout)
        one = *layout;
    __atomic_store_n(&kymo__torch_layout_now, layout ? &one : NULL, __ATOMIC_RELEASE);
}

/* ---- names ---- */

enum { DEVICES = 24, INDICES = 64 };

/* As c10::Device prints itself, by DeviceType; those numbers never change. */
static const char *const device_types[DEVICES] = {
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
    "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
    "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone",
};

/* The name stays in place for ever, as names of events must. Two threads may write the same name at
   the same time, and the same bytes. */
static inline const char *device_name(unsigned type, int index)
{
    static char names[DEVICES][INDICES][24];
    if (type >= DEVICES || !device_types[type])
        return "unknown";
    if (index < 0 || index >= INDICES)
        return device_types[type];
    char *name = names[type][index];
    if (!__atomic_load_n(name, __ATOMIC_RELAXED))
        snprintf(name, sizeof names[0][0], "%s:%d", device_types[type], index);
    return name;
}

const char *kymo__torch_device_name(unsigned type, int index)
{
    return device_name(type, index);
}

/* What a value is that is not read. */
static struct kymo_op_text other_text(const struct kymo__torch_layout *l, uint32_t tag)
{
    const char *name = tag < KYMO__TORCH_TAGS ? l->tags[tag] : NULL;
    name = name ? name : "unknown";
    return (struct kymo_op_text){name, strlen(name)};
}

/* ---- tensors ---- */

/* The marks of TENSOR, whose KEYS are not plain. */
static __attribute__((noinline)) unsigned unusual_marks(const struct kymo__torch_layout *l,
                                                        const void *tensor, uint64_t keys)
{
    enum { NO_SIZES = 2 };
    unsigned policy = 0;
    if (l->policy >= 0)
        policy = ((const unsigned char *)tensor)[l->policy / 8] >> l->policy % 8 & 3;
    if (keys & l->opaque || policy == NO_SIZES)
        return KYMO_OP_NOT_PLAIN | KYMO_OP_OPAQUE;
    return keys & ~l->strided ? KYMO_OP_NOT_PLAIN : 0;
}

static inline void read_tensor(const struct kymo__torch_layout *l, const void *tensor,
                               struct kymo_op_value *value)
{
    const signed char *device = (const signed char *)tensor + l->device;
    if (!device[2]) {
        value->kind = KYMO_OP_UNDEFINED;
        return;
    }
    uint64_t keys = kymo__torch_word(tensor, l->keys), dims = kymo__torch_word(tensor, l->sizes);
    uint16_t dtype;
    memcpy(&dtype, (const char *)tensor + l->dtype, sizeof dtype);
    const int64_t *sizes = (const int64_t *)((const char *)tensor + l->sizes) + 1;
    const int64_t *strides = sizes + KYMO__TORCH_INLINE_DIMS;
    if (__builtin_expect(dims > KYMO__TORCH_INLINE_DIMS, 0)) {
        sizes = dims <= DIMS_MOST ? kymo__torch_pointer(sizes, 0) : NULL;
        strides = sizes ? sizes + dims : NULL;
    }
    unsigned marks = 0;
    if (__builtin_expect((keys & ~l->plain) != 0, 0))
        marks = unusual_marks(l, tensor, keys);
    if (!sizes)
        marks |= KYMO_OP_OPAQUE;
    bool known = dtype < KYMO__TORCH_DTYPES && l->dtypes[dtype].name;
    value->kind = KYMO_OP_TENSOR;
    value->tensor = (struct kymo_op_tensor){
        .tensor = (uintptr_t)tensor,
        .storage = kymo__torch_word(tensor, l->storage),
        .offset = (int64_t)kymo__torch_word(tensor, l->offset),
        .numel = marks & KYMO_OP_OPAQUE ? 0 : kymo__torch_word(tensor, l->numel),
        .shape = sizes,
        .strides = strides,
        .dtype = known ? l->dtypes[dtype].name : "unknown",
        .device = device_name((unsigned char)device[0], device[1]),
        .dims = sizes ? (uint32_t)dims : 0,
        .itemsize = known ? l->dtypes[dtype].bytes : 0,
        .marks = (uint16_t)marks,
    };
}

void kymo__torch_read_tensor(const struct kymo__torch_layout *l, const void *tensor,
                             struct kymo_op_value *value)
{
    read_tensor(l, tensor, value);
}

/* ---- values ---- */

static void read_all(const struct kymo__torch_layout *l, const struct kymo__torch_ivalue *from,
                     uint64_t count, struct kymo__torch_values *to, int depth);

static void read_list(const struct kymo__torch_layout *l, const void *vector,
                      struct kymo_op_value *value, struct kymo__torch_values *to, int depth)
{
    const struct kymo__torch_ivalue *from = kymo__torch_pointer(vector, 0),
                                    *end = kymo__torch_pointer(vector, 8);
    value->count = from <= end ? (uint64_t)(end - from) : 0;
    if (depth < DEEPEST)
        read_all(l, from, value->count, to, depth + 1);
    else
        to->cut = true;
}

static void read_tuple(const struct kymo__torch_layout *l, const void *object,
                       struct kymo_op_value *value, struct kymo__torch_values *to, int depth)
{
    uint64_t inside = kymo__torch_word(object, l->tuple);
    const struct kymo__torch_ivalue *from =
        (const struct kymo__torch_ivalue *)((const char *)object + l->tuple + 8);
    if (!inside || inside > INLINE_TUPLE) {
        read_list(l, from, value, to, depth);
        return;
    }
    value->count = inside;
    read_all(l, from, inside, to, depth + 1);
}

/* Inlined into the loop below: most operators have several values. */
static inline __attribute__((always_inline)) void read_value(const struct kymo__torch_layout *l,
                                                             const struct kymo__torch_ivalue *from,
                                                             struct kymo__torch_values *to,
                                                             int depth)
{
    if (__builtin_expect(to->at == to->end, 0) && !(to->full && to->full(to))) {
        to->cut = true;
        return;
    }
    struct kymo_op_value *value = to->at++;
    const void *object = (const void *)(uintptr_t)from->payload;
    uint32_t kind = from->tag < KYMO__TORCH_TAGS ? l->kinds[from->tag] : KYMO_OP_OTHER;
    value->kind = kind;
    value->name = NULL;
    switch (kind) {
    case KYMO_OP_NONE:
        break;
    case KYMO_OP_TENSOR:
        read_tensor(l, object, value);
        break;
    case KYMO_OP_INT:
        value->integer = (int64_t)from->payload;
        break;
    case KYMO_OP_BOOL:
        value->integer = (from->payload & 0xff) != 0;
        break;
    case KYMO_OP_FLOAT:
        memcpy(&value->real, &from->payload, sizeof value->real);
        break;
    case KYMO_OP_DEVICE: {
        const char *name =
            device_name(from->payload & 0xff, (signed char)(from->payload >> 8 & 0xff));
        value->text = (struct kymo_op_text){name, strlen(name)};
        break;
    }
    case KYMO_OP_TEXT:
        value->text = (struct kymo_op_text){kymo__torch_pointer(object, l->text),
                                            kymo__torch_word(object, l->text + 8)};
        break;
    case KYMO_OP_COMPLEX:
        memcpy(value->complex_parts, (const char *)object + l->complex_parts,
               sizeof value->complex_parts);
        break;
    case KYMO_OP_LIST:
        value->kind = kymo__torch_list_kind(l, object); /* before its place is used again */
        read_list(l, (const char *)object + l->list, value, to, depth);
        break;
    case KYMO_OP_TUPLE:
        read_tuple(l, object, value, to, depth);
        break;
    default:
        value->kind = KYMO_OP_OTHER;
        value->text = other_text(l, from->tag);
    }
}

static void read_all(const struct kymo__torch_layout *l, const struct kymo__torch_ivalue *from,
                     uint64_t count, struct kymo__torch_values *to, int depth)
{
    for (uint64_t i = 0; i < count && !to->cut; i++)
        read_value(l, from + i, to, depth);
}

void kymo__torch_read_inputs(const struct kymo__torch_layout *l, const struct kymo__torch_lib *lib,
                             const void *record, struct kymo__torch_values *values)
{
    const struct kymo__torch_ivalue *from;
    uint64_t count = kymo__torch_inputs(l, lib, record, &from);
    read_all(l, from, count, values, 0);
}

void kymo__torch_read_outputs(const struct kymo__torch_layout *l, const struct kymo__torch_lib *lib,
                              const void *record, struct kymo__torch_values *values)
{
    const struct kymo__torch_ivalue *from = kymo__torch_pointer(record, l->outputs),
                                    *end = kymo__torch_pointer(record, l->outputs + 8);
    if (from >= end || end - from >= OUTPUTS_MOST)
        return;
    /* Of a boxed call they are on top of what the caller had on the stack. */
    uint64_t have = (uint64_t)(end - from), count = lib->outputs(record);
    if (count <= have)
        read_all(l, end - count, count, values, 0);
}
