/* oprecords.c — see oprecords.h. */
#include "oprecords.h"

#include <kymo/op.h>
#include <string.h>

#include "values.h"
#include "varint.h"

struct value {
    uint64_t kind, number;
    /* Tensors. */
    uint64_t storage, numel, itemsize, dtype, device;
    int64_t offset;
    unsigned dims;
    uint32_t shape[KYMO__OPRECORDS_DIMS], strides[KYMO__OPRECORDS_DIMS];
};

/* Records not read yet. Behind the last, a byte more can be read. */
struct source {
    const uint8_t *at, *end;
    bool bad; /* there were fewer than needed */
};

static struct kymo_record next_record(struct source *from)
{
    struct kymo_record record = {0};
    if (from->end - from->at < KYMO__CHAIN_MORE) {
        from->bad = true;
        return record;
    }
    memcpy(&record, from->at, sizeof(record));
    record.word &= (UINT64_C(1) << 56) - 1;
    from->at += KYMO__CHAIN_MORE;
    return record;
}

static void take_tensor(struct value *v, struct source *from)
{
    struct kymo_record two = next_record(from);
    v->numel = two.ticks & ((UINT64_C(1) << 36) - 1);
    v->itemsize = two.ticks >> 36 & 0xff;
    v->dims = two.ticks >> 44 & 0xff;
    v->dtype = two.word & 0xfffffff;
    v->device = two.word >> 28;
    v->offset = two.ticks >> 52 & 1 ? (int64_t)next_record(from).ticks : 0;
    from->bad |= v->dims > KYMO__OPRECORDS_DIMS;
    for (unsigned i = 0; !from->bad && i < v->dims; i += 2) {
        struct kymo_record sizes = next_record(from);
        v->shape[i] = (uint32_t)sizes.ticks;
        v->strides[i] = (uint32_t)(sizes.ticks >> 32);
        if (i + 1 < v->dims) {
            v->shape[i + 1] = (uint32_t)sizes.word & 0xfffffff;
            v->strides[i + 1] = (uint32_t)(sizes.word >> 28);
        }
    }
}

static void take_value(struct value *v, struct source *from)
{
    struct kymo_record one = next_record(from);
    v->kind = one.word & 0xff;
    v->number = one.ticks;
    v->storage = one.word >> 8;
    if (v->kind == KYMO_OP_TENSOR)
        take_tensor(v, from);
}

/* ---- columns ---- */

static bool is_integer(const struct value *v)
{
    return v->kind == KYMO_OP_INT || v->kind == KYMO_OP_BOOL || v->kind == KYMO_OP_LIST ||
           v->kind == KYMO_OP_TUPLE;
}

static uint8_t *put_dims(uint8_t *out, const uint32_t *dims, unsigned count)
{
    out = kymo__varint_put(out, count);
    for (unsigned i = 0; i < count; i++)
        out = kymo__varint_put_even(out, kymo__zigzag(dims[i]));
    return out;
}

static uint8_t *put_columns(uint8_t *out, const struct value *values, unsigned count)
{
    const struct value *tensors[KYMO__OPRECORDS_VALUES];
    unsigned all = 0, integers = 0, floats = 0;
    out = kymo__varint_put(out, count);
    for (unsigned i = 0; i < count; i++) {
        const struct value *v = &values[i];
        out = kymo__varint_put(out, v->kind);
        if (v->kind == KYMO_OP_TENSOR)
            tensors[all++] = v;
        integers += is_integer(v);
        floats += v->kind == KYMO_OP_FLOAT;
    }
    out = kymo__varint_put(out, integers);
    for (unsigned i = 0; integers && i < count; i++)
        if (is_integer(&values[i]))
            out = kymo__varint_put(out, kymo__zigzag((int64_t)values[i].number));
    out = kymo__varint_put(out, floats);
    for (unsigned i = 0; floats && i < count; i++)
        if (values[i].kind == KYMO_OP_FLOAT) {
            memcpy(out, &values[i].number, sizeof(values[i].number));
            out += sizeof(values[i].number);
        }
    *out++ = 0; /* texts */
    *out++ = 0; /* names */
#define EACH_TENSOR(what)                                                                          \
    out = kymo__varint_put(out, all);                                                              \
    for (unsigned i = 0; i < all; i++)                                                             \
    out = (what)
    EACH_TENSOR(kymo__varint_put_even(out, tensors[i]->number));
    EACH_TENSOR(kymo__varint_put_even(out, tensors[i]->storage));
    EACH_TENSOR(kymo__varint_put(out, kymo__zigzag(tensors[i]->offset)));
    EACH_TENSOR(kymo__varint_put_even(out, tensors[i]->numel));
    EACH_TENSOR(kymo__varint_put(out, tensors[i]->itemsize));
    EACH_TENSOR(kymo__varint_put(out, tensors[i]->dtype));
    EACH_TENSOR(kymo__varint_put(out, tensors[i]->device));
    EACH_TENSOR(kymo__varint_put(out, 0)); /* marks */
    EACH_TENSOR(put_dims(out, tensors[i]->shape, tensors[i]->dims));
    EACH_TENSOR(put_dims(out, tensors[i]->strides, tensors[i]->dims));
#undef EACH_TENSOR
    return out;
}

void kymo__oprecords_unpack(struct kymo_buffer *payload, size_t head)
{
    enum {
        LISTS = 15,
        TENSOR_BYTES =
            64 + 4 * KYMO__VARINT_MAX * KYMO__OPRECORDS_DIMS, /* and of others, at most */
    };
    uint8_t out[LISTS * KYMO__VARINT_MAX + KYMO__OPRECORDS_VALUES * TENSOR_BYTES];
    struct value values[KYMO__OPRECORDS_VALUES];
    struct source from = {payload->bytes + head, payload->bytes + payload->len, false};
    unsigned count = 0;
    while (!from.bad && from.at < from.end && count < KYMO__OPRECORDS_VALUES)
        take_value(&values[count++], &from);
    bool bad = from.bad || from.at < from.end;
    payload->len = bad ? 0 : head;
    if (bad)
        return;
    size_t length = (size_t)(put_columns(out, values, count) - out);
    if (kymo__buffer_add(payload, out, length) < 0)
        payload->len = 0;
}
