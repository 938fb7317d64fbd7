/* opvalues.c — see opvalues.h. */
#include "opvalues.h"

#include "local.h"
#include "opout.h"

void kymo__opvalues_keys(struct kymo_lane *lane, const struct kymo_op_value *values, size_t count,
                         struct kymo_opkeys *keys)
{
    for (size_t i = 0; i < count; i++) {
        const struct kymo_op_value *v = &values[i];
        keys[i] = (struct kymo_opkeys){.name = v->name ? kymo__key(lane, v->name) : 0};
        if (v->kind != KYMO_OP_TENSOR)
            continue;
        keys[i].dtype = v->tensor.dtype ? kymo__key(lane, v->tensor.dtype) : 0;
        keys[i].device = v->tensor.device ? kymo__key(lane, v->tensor.device) : 0;
    }
}

/* How many values must still follow, after V, when MISSING had to before it. */
static uint64_t missing_after(const struct kymo_op_value *v, uint64_t missing)
{
    missing -= missing > 0;
    if (v->kind != KYMO_OP_LIST && v->kind != KYMO_OP_TUPLE)
        return missing;
    return v->count < UINT64_MAX - missing ? missing + v->count : UINT64_MAX;
}

bool kymo__opvalues_cut(const struct kymo_op_value *values, size_t count)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < count; i++)
        missing = missing_after(&values[i], missing);
    return missing > 0;
}

/* ---- columns ---- */

KYMO_INLINE void put_ints(struct out *o, const struct kymo_op_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        switch (values[i].kind) {
        case KYMO_OP_INT:
        case KYMO_OP_BOOL:
            out_int(o, values[i].integer);
            break;
        case KYMO_OP_LIST:
        case KYMO_OP_TUPLE:
            out_int(o, (int64_t)values[i].count);
            break;
        }
}

KYMO_INLINE void put_floats(struct out *o, const struct kymo_op_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].kind == KYMO_OP_FLOAT)
            out_bytes(o, &values[i].real, sizeof(values[i].real));
        else if (values[i].kind == KYMO_OP_COMPLEX)
            out_bytes(o, values[i].complex_parts, sizeof(values[i].complex_parts));
}

KYMO_INLINE void put_texts(struct out *o, const struct kymo_op_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i].kind != KYMO_OP_TEXT && values[i].kind != KYMO_OP_DEVICE &&
            values[i].kind != KYMO_OP_OTHER)
            continue;
        const char *bytes = values[i].text.bytes;
        size_t length = bytes ? values[i].text.length : 0;
        if (length > KYMO_OP_TEXT_MOST) {
            length = KYMO_OP_TEXT_MOST;
            while (length && ((unsigned char)bytes[length] & 0xc0) == 0x80)
                length--; /* not inside a character */
        }
        out_uint(o, length);
        out_bytes(o, bytes ? bytes : "", length);
    }
}

/* The keywords of the arguments; at least one argument has one. */
KYMO_INLINE void put_names(struct out *o, const struct kymo_op_value *values, size_t count,
                           const struct kymo_opkeys *keys)
{
    uint64_t missing = 0, top = 0;
    for (size_t i = 0; i < count; i++) {
        top += !missing;
        missing = missing_after(&values[i], missing);
    }
    out_uint(o, top);
    missing = 0;
    for (size_t i = 0; i < count; i++) {
        if (!missing)
            out_uint(o, keys[i].name);
        missing = missing_after(&values[i], missing);
    }
}

/* With CHECKED false there is room. */
KYMO_INLINE void put_uint(struct out *o, uint64_t value, bool checked)
{
    if (checked)
        out_uint(o, value);
    else
        out_uint_within(o, value);
}

KYMO_INLINE void put_dims(struct out *o, const int64_t *dims, size_t count, bool checked)
{
    count = dims ? count : 0;
    put_uint(o, count, checked);
    for (size_t i = 0; i < count; i++)
        put_uint(o, kymo__zigzag(dims[i]), checked);
}

/* The fields of COUNT tensors, which are those of VALUES that AT lists. */
KYMO_INLINE void put_tensors(struct out *o, const struct kymo_op_value *values,
                             const struct kymo_opkeys *keys, const uint16_t *at, size_t count,
                             bool checked)
{
#define EACH(what)                                                                                 \
    put_uint(o, count, checked);                                                                   \
    for (size_t i = 0; i < count; i++)                                                             \
    put_uint(o, what, checked)
#define TENSOR values[at[i]].tensor
    EACH(TENSOR.tensor);
    EACH(TENSOR.storage);
    EACH(kymo__zigzag(TENSOR.offset));
    EACH(TENSOR.numel);
    EACH(TENSOR.itemsize);
    EACH(keys[at[i]].dtype);
    EACH(keys[at[i]].device);
    EACH(TENSOR.marks);
    put_uint(o, count, checked);
    for (size_t i = 0; i < count; i++)
        put_dims(o, TENSOR.marks & KYMO_OP_OPAQUE ? NULL : TENSOR.shape, TENSOR.dims, checked);
    put_uint(o, count, checked);
    for (size_t i = 0; i < count; i++)
        put_dims(o, TENSOR.marks ? NULL : TENSOR.strides, TENSOR.dims, checked);
#undef TENSOR
#undef EACH
}

/* What kinds of values there are. */
struct counts {
    size_t ints, floats, texts, tensors;
    size_t dims; /* of all tensors */
    bool named;
};

/* Put the kinds, count what the other columns have, and list the tensors in AT. */
KYMO_INLINE struct counts put_kinds(struct out *o, const struct kymo_op_value *values, size_t count,
                                    const struct kymo_opkeys *keys, uint16_t *at)
{
    struct counts c = {0};
    bool fits = out_fits(o, count + 1);
    put_uint(o, count, !fits);
    for (size_t i = 0; i < count; i++) {
        uint32_t kind = values[i].kind;
        put_uint(o, kind, !fits);
        c.named |= keys[i].name != 0;
        switch (kind) {
        case KYMO_OP_TENSOR:
            at[c.tensors++] = (uint16_t)i;
            c.dims += values[i].tensor.dims;
            break;
        case KYMO_OP_INT:
        case KYMO_OP_BOOL:
        case KYMO_OP_LIST:
        case KYMO_OP_TUPLE:
            c.ints++;
            break;
        case KYMO_OP_COMPLEX:
            c.floats++; /* two */
            /* fall through */
        case KYMO_OP_FLOAT:
            c.floats++;
            break;
        case KYMO_OP_TEXT:
        case KYMO_OP_DEVICE:
        case KYMO_OP_OTHER:
            c.texts++;
            break;
        }
    }
    return c;
}

void kymo__opvalues_put(struct kymo_payload *p, const struct kymo_op_value *values, size_t count,
                        const struct kymo_opkeys *keys)
{
    enum { LISTS = 15, TENSOR_LISTS = 10 }; /* of a note */
    static const unsigned char empty[LISTS];
    uint16_t tensors[KYMO_OP_VALUES_MOST];
    struct out o = out_begin(p);
    if (!count) {
        out_bytes(&o, empty, LISTS);
    } else {
        struct counts c = put_kinds(&o, values, count, keys, tensors);
        out_uint(&o, c.ints);
        if (c.ints)
            put_ints(&o, values, count);
        out_uint(&o, c.floats);
        if (c.floats)
            put_floats(&o, values, count);
        out_uint(&o, c.texts);
        if (c.texts)
            put_texts(&o, values, count);
        if (c.named)
            put_names(&o, values, count, keys);
        else
            out_uint(&o, 0);
        /* Of a tensor eight numbers, and two lists; and each list has a length. */
        if (c.tensors && out_fits(&o, TENSOR_LISTS * (1 + c.tensors) + 2 * c.dims))
            put_tensors(&o, values, keys, tensors, c.tensors, false);
        else if (c.tensors)
            put_tensors(&o, values, keys, tensors, c.tensors, true);
        else
            out_bytes(&o, empty, TENSOR_LISTS);
    }
    out_end(&o, p);
}
