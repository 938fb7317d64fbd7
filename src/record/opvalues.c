/* opvalues.c — see opvalues.h. */
#include "opvalues.h"

#include "local.h"
#include "opout.h"

/* The key of NAME, or 0 for NULL; LAST has the one that was asked for before. */
KYMO_INLINE uint32_t key_like(struct kymo_lane *lane, const char *name, struct kymo_recent *last)
{
    if (kymo__likely(last->address == name))
        return last->key;
    uint32_t key = name ? kymo__key(lane, name) : 0;
    if (key) {
        ((struct kymo_local *)lane)->recent_changes++;
        *last = (struct kymo_recent){name, key};
    }
    return key;
}

void kymo__opvalues_keys(struct kymo_lane *lane, const struct kymo_op_value *values, size_t count,
                         struct kymo_opkeys *keys)
{
    struct kymo_local *local = (struct kymo_local *)lane;
    for (size_t i = 0; i < count; i++) {
        const struct kymo_op_value *v = &values[i];
        keys[i].name = kymo__unlikely(v->name != NULL) ? kymo__key(lane, v->name) : 0;
        if (v->kind != KYMO_OP_TENSOR)
            continue;
        keys[i].dtype = key_like(lane, v->tensor.dtype, &local->recent_dtype);
        keys[i].device = key_like(lane, v->tensor.device, &local->recent_device);
    }
}

/* ---- columns ---- */

static __attribute__((noinline)) void put_ints(struct out *o, const struct kymo_op_value *values,
                                               size_t count)
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

static __attribute__((noinline)) void put_floats(struct out *o, const struct kymo_op_value *values,
                                                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].kind == KYMO_OP_FLOAT)
            out_bytes(o, &values[i].real, sizeof(values[i].real));
        else if (values[i].kind == KYMO_OP_COMPLEX)
            out_bytes(o, values[i].complex_parts, sizeof(values[i].complex_parts));
}

static __attribute__((noinline)) void put_texts(struct out *o, const struct kymo_op_value *values,
                                                size_t count)
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

/* The keywords of all values, or only of the arguments; at least one has one. */
static __attribute__((noinline)) void put_names(struct out *o, const struct kymo_op_value *values,
                                                size_t count, const struct kymo_opkeys *keys,
                                                enum kymo__op_named named)
{
    bool all = named == KYMO__NAMES_OF_VALUES;
    uint64_t missing = 0, top = 0;
    for (size_t i = 0; i < count; i++) {
        top += all || !missing;
        missing = kymo__opvalues_missing(&values[i], missing);
    }
    out_uint(o, top);
    missing = 0;
    for (size_t i = 0; i < count; i++) {
        if (all || !missing)
            out_uint(o, keys[i].name);
        missing = kymo__opvalues_missing(&values[i], missing);
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
KYMO_INLINE void put_each(struct out *o, const struct kymo_op_value *values,
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

static void put_tensors(struct out *to, const struct kymo_op_value *values,
                        const struct kymo_opkeys *keys, const uint16_t *at, size_t count,
                        bool checked)
{
    struct out o = *to;
    if (checked)
        put_each(&o, values, keys, at, count, true);
    else
        put_each(&o, values, keys, at, count, false);
    *to = o;
}

/* ---- few tensors ---- */

/* The tensors of most operators: one to three. They are put without a loop, and those of their
   numbers that are nearly always below 128 a list at a time. */
enum { FEW = 3 };

struct few {
    const struct kymo_op_tensor *tensor[FEW];
    uint32_t dtype[FEW], device[FEW];
};

/* A list of COUNT numbers below 128. */
KYMO_INLINE void put_bytes(struct out *o, uint32_t a, uint32_t b, uint32_t c, uint32_t count)
{
    uint32_t word = count | a << 8 | b << 16 | c << 24;
    memcpy(o->at, &word, sizeof(word));
    o->at += count + 1;
}

/* Do WHAT with each of COUNT tensors, whose place is I. COUNT is a constant. */
#define EACH_OF_FEW(what)                                                                          \
    do {                                                                                           \
        enum { FIRST, SECOND, THIRD };                                                             \
        EACH_AT(FIRST, what);                                                                      \
        if (count > SECOND)                                                                        \
            EACH_AT(SECOND, what);                                                                 \
        if (count > THIRD)                                                                         \
            EACH_AT(THIRD, what);                                                                  \
    } while (0)
#define EACH_AT(place, what)                                                                       \
    do {                                                                                           \
        enum { I = place };                                                                        \
        what;                                                                                      \
    } while (0)

/* There is room for all. */
KYMO_INLINE void put_few(struct out *o, const struct few *few, uint32_t count)
{
    *o->at++ = (unsigned char)count;
    EACH_OF_FEW(out_address_within(o, few->tensor[I]->tensor));
    *o->at++ = (unsigned char)count;
    EACH_OF_FEW(out_address_within(o, few->tensor[I]->storage));
    *o->at++ = (unsigned char)count;
    EACH_OF_FEW(out_uint_within(o, kymo__zigzag(few->tensor[I]->offset)));
    *o->at++ = (unsigned char)count;
    EACH_OF_FEW(out_uint_within(o, few->tensor[I]->numel));

    uint32_t itemsize[FEW] = {0}, marks[FEW] = {0}, all = 0;
    EACH_OF_FEW(itemsize[I] = few->tensor[I]->itemsize; marks[I] = few->tensor[I]->marks;
                all |= itemsize[I] | marks[I] | few->dtype[I] | few->device[I]);
    if (kymo__likely(all < 0x80)) {
        put_bytes(o, itemsize[0], itemsize[1], itemsize[2], count);
        put_bytes(o, few->dtype[0], few->dtype[1], few->dtype[2], count);
        put_bytes(o, few->device[0], few->device[1], few->device[2], count);
        put_bytes(o, marks[0], marks[1], marks[2], count);
    } else {
        *o->at++ = (unsigned char)count;
        EACH_OF_FEW(out_uint_within(o, itemsize[I]));
        *o->at++ = (unsigned char)count;
        EACH_OF_FEW(out_uint_within(o, few->dtype[I]));
        *o->at++ = (unsigned char)count;
        EACH_OF_FEW(out_uint_within(o, few->device[I]));
        *o->at++ = (unsigned char)count;
        EACH_OF_FEW(out_uint_within(o, marks[I]));
    }
    *o->at++ = (unsigned char)count;
    EACH_OF_FEW(put_dims(o, marks[I] & KYMO_OP_OPAQUE ? NULL : few->tensor[I]->shape,
                         few->tensor[I]->dims, false));
    *o->at++ = (unsigned char)count;
    EACH_OF_FEW(
        put_dims(o, marks[I] ? NULL : few->tensor[I]->strides, few->tensor[I]->dims, false));
}
#undef EACH_OF_FEW
#undef EACH_AT

/* COUNT tensors, one to three, for which there is room. */
static void put_one_to_three(struct out *to, const struct kymo_op_value *values,
                             const struct kymo_opkeys *keys, const uint16_t *at, size_t count)
{
    struct few few = {.tensor = {NULL}};
    struct out o = *to;
    for (size_t i = 0; i < count; i++) {
        few.tensor[i] = &values[at[i]].tensor;
        few.dtype[i] = keys[at[i]].dtype;
        few.device[i] = keys[at[i]].device;
    }
    if (count == 1)
        put_few(&o, &few, 1);
    else if (count == 2)
        put_few(&o, &few, 2);
    else
        put_few(&o, &few, 3);
    *to = o;
}

/* ---- all ---- */

/* What kinds of values there are. */
struct counts {
    size_t ints, floats, texts, tensors;
    size_t dims;      /* of all tensors */
    uint64_t missing; /* values of the last argument */
    uint32_t named;   /* not 0: an argument has a name */
};

/* Put the kinds, count what the other columns have, and list the tensors in AT. */
static __attribute__((noinline)) struct counts
put_kinds(struct out *o, const struct kymo_op_value *values, size_t count,
          const struct kymo_opkeys *keys, uint16_t *at)
{
    struct counts c = {0};
    bool fits = out_fits(o, count + 1);
    put_uint(o, count, !fits);
    for (size_t i = 0; i < count; i++) {
        uint32_t kind = values[i].kind;
        put_uint(o, kind, !fits);
        c.named |= keys[i].name;
        c.missing -= c.missing > 0;
        switch (kind) {
        case KYMO_OP_TENSOR:
            at[c.tensors++] = (uint16_t)i;
            c.dims += values[i].tensor.dims;
            break;
        case KYMO_OP_LIST:
        case KYMO_OP_TUPLE:
            c.missing +=
                values[i].count < UINT64_MAX - c.missing ? values[i].count : UINT64_MAX - c.missing;
            /* fall through */
        case KYMO_OP_INT:
        case KYMO_OP_BOOL:
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

/* Put the kinds and the integers of COUNT values at once: there is room, and the lengths of both lists
   take a byte each. False, with nothing put, if a kind takes more than that. */
KYMO_INLINE bool put_kinds_and_ints(struct out *o, const struct kymo_op_value *values, size_t count,
                                    const struct kymo_opkeys *keys, uint16_t *at, struct counts *to)
{
    const unsigned ints = 1u << KYMO_OP_INT | 1u << KYMO_OP_BOOL;
    const unsigned lists = 1u << KYMO_OP_LIST | 1u << KYMO_OP_TUPLE;
    const unsigned texts = 1u << KYMO_OP_TEXT | 1u << KYMO_OP_DEVICE | 1u << KYMO_OP_OTHER;
    struct counts c = {0};
    struct out to_ints = {.at = o->at + count + 2, .end = o->end};
    unsigned char *kinds = o->at;
    *kinds++ = (unsigned char)count;
    for (size_t i = 0; i < count; i++) {
        const struct kymo_op_value *v = &values[i];
        uint32_t kind = v->kind;
        if (kymo__unlikely(kind >= 32))
            return false;
        *kinds++ = (unsigned char)kind;
        c.named |= keys[i].name;
        c.missing -= c.missing > 0;
        if (kind == KYMO_OP_TENSOR) {
            at[c.tensors++] = (uint16_t)i;
            c.dims += v->tensor.dims;
        } else if (ints >> kind & 1) {
            out_uint_within(&to_ints, kymo__zigzag(v->integer));
            c.ints++;
        } else if (lists >> kind & 1) {
            out_uint_within(&to_ints, kymo__zigzag((int64_t)v->count));
            c.missing += v->count < UINT64_MAX - c.missing ? v->count : UINT64_MAX - c.missing;
            c.ints++;
        } else {
            c.texts += texts >> kind & 1;
            c.floats += kind == KYMO_OP_COMPLEX ? 2 : kind == KYMO_OP_FLOAT;
        }
    }
    *kinds = (unsigned char)c.ints;
    o->at = to_ints.at;
    *to = c;
    return true;
}

bool kymo__opvalues_put(struct kymo_payload *p, const struct kymo_op_value *values, size_t count,
                        const struct kymo_opkeys *keys, enum kymo__op_named named)
{
    enum { TENSOR_LISTS = 10 }; /* of a note */
    static const unsigned char empty[TENSOR_LISTS];
    uint16_t tensors[KYMO_OP_PART_VALUES];
    if (!count) {
        kymo__opvalues_put_none(p);
        return true;
    }
    struct out o = out_begin(p);
    struct counts c;
    if (kymo__unlikely(count >= 0x80 || !out_fits(&o, 2 * count + 2) ||
                       !put_kinds_and_ints(&o, values, count, keys, tensors, &c))) {
        c = put_kinds(&o, values, count, keys, tensors);
        out_uint(&o, c.ints);
        if (c.ints)
            put_ints(&o, values, count);
    }
    out_uint(&o, c.floats);
    if (c.floats)
        put_floats(&o, values, count);
    out_uint(&o, c.texts);
    if (c.texts)
        put_texts(&o, values, count);
    if (c.named)
        put_names(&o, values, count, keys, named);
    else
        out_uint(&o, 0);
    /* Of a tensor eight numbers, and two lists; and each list has a length. */
    bool fits = out_fits(&o, TENSOR_LISTS * (1 + c.tensors) + 2 * c.dims);
    if (!c.tensors)
        out_bytes(&o, empty, TENSOR_LISTS);
    else if (kymo__likely(fits && c.tensors <= FEW))
        put_one_to_three(&o, values, keys, tensors, c.tensors);
    else
        put_tensors(&o, values, keys, tensors, c.tensors, !fits);
    out_end(&o, p);
    return !c.missing;
}
