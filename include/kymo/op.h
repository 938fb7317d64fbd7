/* op.h — operators: the calls that a computation framework makes of its kernels, with the arguments
   they had. A framework, or any native code with operators of its own, records them like this:

       int64_t shape[] = {64, 128};
       struct kymo_op_value in[2] = {
           {.kind = KYMO_OP_TENSOR,
            .tensor = {.tensor = (uintptr_t)x, .storage = (uintptr_t)x->data, .numel = 64 * 128,
                       .itemsize = 4, .dims = 2, .shape = shape, .dtype = "float",
                       .device = "cpu"}},
           {.kind = KYMO_OP_FLOAT, .name = "alpha", .real = 0.5},
       };
       struct kymo_operator what = {.size = sizeof what, .name = "scale", .sequence = -1,
                                    .inputs = in, .input_count = 2};
       struct kymo_op op = kymo_op_begin(&what);
       …
       kymo_op_end(op, out, 1);

   An operator is a call on its thread: it may contain other operators and calls. Reports and exports
   show it with the functions of the program; the execution trace is made from its arguments.

   While no session runs, the calls here cost about a nanosecond. Recording takes no lock, except
   for the first operator of a name, allocates nothing and makes no system call. Any thread; nothing
   fails: what cannot be recorded is dropped and counted. */
#ifndef KYMO_OP_H
#define KYMO_OP_H

#include <kymo/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an argument is. */
enum kymo_op_kind {
    KYMO_OP_NONE = 0,
    KYMO_OP_TENSOR = 1,
    KYMO_OP_INT = 2,
    KYMO_OP_BOOL = 3, /* `integer`, 0 or 1 */
    KYMO_OP_FLOAT = 4,
    KYMO_OP_TEXT = 5,
    KYMO_OP_DEVICE = 6, /* `text`, "cuda:0" */
    KYMO_OP_LIST = 7,   /* `count` values, which follow */
    KYMO_OP_TUPLE = 8,  /* the same */
    KYMO_OP_OTHER = 9,  /* `text`: the name of its type */
    KYMO_OP_COMPLEX = 10,
    KYMO_OP_UNDEFINED = 11,  /* a tensor that is not there */
    KYMO_OP_NO_TENSORS = 12, /* an empty list of tensors */
};

/* Bits of kymo_op_tensor.marks. */
enum kymo_op_mark {
    KYMO_OP_NOT_PLAIN = 1, /* sparse or in a private layout: its strides mean nothing */
    KYMO_OP_OPAQUE = 2,    /* its shape means nothing either */
};

struct kymo_op_tensor {
    uint64_t tensor;                /* its identity while it lives, an address for example */
    uint64_t storage;               /* the same for the memory it shows; 0: none */
    int64_t offset;                 /* of its first element in the storage, in elements */
    uint64_t numel;                 /* elements */
    const int64_t *shape, *strides; /* `dims` numbers each; strides in elements, or NULL */
    const char *dtype, *device;     /* names as for marking calls: unchanged until kymo_stop */
    uint32_t dims;
    uint16_t itemsize; /* bytes of an element */
    uint16_t marks;    /* enum kymo_op_mark */
};

struct kymo_op_text {
    const char *bytes; /* UTF-8; copied */
    size_t length;
};

/* One argument, or an element of one. An array of them holds the arguments in order, and after a
   list or tuple its elements: [1, [2, 3]] is a LIST of 2, INT, LIST of 2, INT, INT. An array may end
   early; then the arguments are recorded as cut. */
struct kymo_op_value {
    uint32_t kind;    /* enum kymo_op_kind */
    const char *name; /* keyword or NULL, not for elements; unchanged until kymo_stop */
    union {
        int64_t integer;
        double real;
        double complex_parts[2];
        uint64_t count;
        struct kymo_op_text text;
        struct kymo_op_tensor tensor;
    };
};

#define KYMO_OP_VALUES_MOST                                                                        \
    65536                      /* inputs recorded of one operator, and outputs; the rest is cut */
#define KYMO_OP_TEXT_MOST 1024 /* bytes recorded of one text */

/* Bits of kymo_operator.flags, as the capture has them. */
enum kymo_op_flag {
    KYMO_OP_CUT = 1,   /* not all values are there */
    KYMO_OP_NAMES = 2, /* only its name is known */
    KYMO_OP_PARTS = 4, /* its values were recorded before; bits 8 to 31 are their number */
    KYMO_OP_ASYNC = 8, /* it may end on another thread */
};

/* What kymo_op_begin remembers about a name and a schema, so that it does not look for them again. A
   caller keeps one, all zero at first, for each pair of NAME and SCHEMA whose text does not change.
   Any number of threads may use it at once. */
struct kymo_op_site {
    uint64_t name, schema; /* a session and a key */
};

/* An operator that begins. */
struct kymo_operator {
    size_t size;
    const char *name;   /* UTF-8; copied */
    const char *schema; /* its schema or overload, or NULL; unchanged until kymo_stop */
    uint64_t id;        /* the framework's number for this call; 0: choose one */
    int64_t sequence;   /* joins forward and backward; -1: none */
    uint64_t thread, forward_thread; /* the framework's own numbers of threads; 0: none */
    uint32_t scope; /* 0 operator, 1 backward, 7 range of the program; others as in torch */
    uint32_t flags; /* enum kymo_op_flag */
    const struct kymo_op_value *inputs;
    size_t input_count;
    struct kymo_op_site *site; /* or NULL */
};

/* An open operator. Plain data. End it once, on the thread that began it. */
struct kymo_op {
    uint32_t key, session; /* 0: not recorded */
    uint64_t id;
};

KYMO_API struct kymo_op kymo__op_begin(const struct kymo_operator *what);
KYMO_API void kymo__op_end(struct kymo_op op, const struct kymo_op_value *outputs, size_t count,
                           uint64_t ticks);
KYMO_API void kymo__op_end_parts(struct kymo_op op, uint32_t flags, uint64_t ticks);

/* Begin an operator on this thread. Everything in WHAT is read before this returns. */
static inline struct kymo_op kymo_op_begin(const struct kymo_operator *what)
{
    if (__builtin_expect(kymo_running(), 0))
        return kymo__op_begin(what);
    struct kymo_op off = {0, 0, 0};
    return off;
}

/* End OP, on the thread that began it; its outputs are COUNT values. With OUTPUTS NULL, outputs are
   not recorded. Does nothing if the session of its begin is over. */
static inline void kymo_op_end(struct kymo_op op, const struct kymo_op_value *outputs, size_t count)
{
    if (__builtin_expect(op.key != 0, 0))
        kymo__op_end(op, outputs, count, 0);
}

/* The same for an operator that ended at TICKS, a value from kymo_ticks (<kymo/lane.h>): for
   outputs that take time to put together. */
static inline void kymo_op_end_at(struct kymo_op op, const struct kymo_op_value *outputs,
                                  size_t count, uint64_t ticks)
{
    if (__builtin_expect(op.key != 0, 0))
        kymo__op_end(op, outputs, count, ticks);
}

/* ---- values in parts ---- */

/* The inputs or outputs of an operator that are recorded in parts, for a caller that does not want
   them all in one array:

       struct kymo_op_parts parts = {0};
       while (…)
           kymo_op_part(&parts, values, count);
       what.flags |= kymo_op_parts_flags(&parts);
       op = kymo_op_begin(&what);

   Between the first part and the begin or end that they belong to, record nothing else on the
   thread. A list may begin in one part and end in another. */
struct kymo_op_parts {
    uint64_t
        ticks; /* time of the parts: for outputs that of the end, as for kymo_op_end_at; or 0 */
    uint64_t count;   /* values so far */
    uint64_t missing; /* values that the last argument still lacks */
    uint32_t cut;     /* 1: a value was left out */
};

enum { KYMO_OP_PART_VALUES = 128 }; /* a part has at most as many; longer arrays are divided */

/* Record COUNT values that follow those of PARTS. */
KYMO_API void kymo_op_part(struct kymo_op_parts *parts, const struct kymo_op_value *values,
                           size_t count);

/* The flags of an operator whose inputs are in PARTS; it has no `inputs` itself. */
static inline uint32_t kymo_op_parts_flags(const struct kymo_op_parts *parts)
{
    return KYMO_OP_PARTS | (parts->cut || parts->missing ? KYMO_OP_CUT : 0) |
           (uint32_t)parts->count << 8;
}

/* End OP, whose outputs are in PARTS, at the time of its parts. */
static inline void kymo_op_end_parts(struct kymo_op op, const struct kymo_op_parts *parts)
{
    if (__builtin_expect(op.key != 0, 0))
        kymo__op_end_parts(op, kymo_op_parts_flags(parts), parts->ticks);
}

/* ---- attributes ---- */

/* What a reader makes of the text of an attribute. */
enum kymo_op_attribute_kind {
    KYMO_OP_ATTRIBUTE_TEXT = 0,
    KYMO_OP_ATTRIBUTE_INTEGER = 1, /* decimal */
    KYMO_OP_ATTRIBUTE_JSON = 2,
};

struct kymo_op_attribute {
    const char *name; /* unchanged until kymo_stop */
    const char *text; /* UTF-8; copied */
    size_t length;
    uint32_t kind; /* enum kymo_op_attribute_kind */
};

#define KYMO_OP_ATTRIBUTES_MOST 64 /* in one call; more are dropped */

/* Record COUNT attributes of OP, at any time between its begin and its end: the shape of a
   collective, the file of a kernel, the stream. May be called more than once. */
KYMO_API void kymo_op_attributes(struct kymo_op op, const struct kymo_op_attribute *attributes,
                                 size_t count);

#ifdef __cplusplus
}
#endif
#endif
