/* checkpoint.c — see checkpoint.h. */
#include "checkpoint.h"

#include <errno.h>

#include "varint.h"

enum { HAS_ID = 1 << 16, ARGS_SHIFT = 17 };

/* Most bytes for the numbers of a frame or argument. */
enum { FRAME_BYTES = 6 * KYMO__VARINT_MAX };

int kymo__checkpoint_none(struct kymo_buffer *out)
{
    return kymo__buffer_add_varint(out, 0);
}

static int put_arg(struct kymo_buffer *out, const struct kymo_nest *n,
                   const struct kymo_nest_arg *arg)
{
    bool payload = arg->kind == KYMO__ARG_PAYLOAD;
    int rc = kymo__buffer_add_varint(out, (uint64_t)arg->key << 2 | arg->kind);
    if (rc == 0)
        rc = kymo__buffer_add_varint(out, payload ? arg->length : arg->value);
    if (rc == 0 && payload)
        rc = kymo__buffer_add(out, n->bytes.bytes + arg->value, arg->length);
    return rc;
}

static int put_frame(struct kymo_buffer *out, const struct kymo_nest *n, uint32_t at)
{
    const struct kymo_open_call *frame = &n->frames[at];
    const struct kymo_open_call none = {0}, *before = at ? frame - 1 : &none;
    int rc = kymo__buffer_reserve(out, FRAME_BYTES);
    if (rc < 0)
        return rc;
    uint8_t *p = out->bytes + out->len;
    p = kymo__varint_put(p, frame->key);
    p = kymo__varint_put(p, frame->enter | (uint64_t)frame->flags << 8 | (frame->id ? HAS_ID : 0) |
                                (uint64_t)frame->arg_count << ARGS_SHIFT);
    p = kymo__varint_put(p, (uint64_t)frame->start - (uint64_t)before->start);
    p = kymo__varint_put(p, frame->number - before->number);
    if (frame->id)
        p = kymo__varint_put(p, frame->id);
    out->len = (size_t)(p - out->bytes);
    for (unsigned i = 0; rc == 0 && i < frame->arg_count; i++)
        rc = put_arg(out, n, &n->args[frame->args + i]);
    return rc;
}

int kymo__checkpoint_put(struct kymo_buffer *out, const struct kymo_nest *n, uint64_t gaps)
{
    const uint64_t head[] = {1, n->entered, gaps, n->doubtful, (uint64_t)n->now, n->depth};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(head) / sizeof(head[0]); i++)
        rc = kymo__buffer_add_varint(out, head[i]);
    for (uint32_t i = 0; rc == 0 && i < n->depth; i++)
        rc = put_frame(out, n, i);
    return rc;
}

/* Read COUNT numbers at *AT. */
static bool take_numbers(const uint8_t **at, const uint8_t *end, uint64_t *numbers, unsigned count)
{
    const uint8_t *p = *at;
    for (unsigned i = 0; i < count; i++) {
        p = kymo__varint_get(p, end, &numbers[i]);
        if (!p)
            return false;
    }
    *at = p;
    return true;
}

static int get_arg(const uint8_t **at, const uint8_t *end, struct kymo_nest *n)
{
    uint64_t arg[2];
    if (!take_numbers(at, end, arg, 2) || arg[0] >> 2 > UINT32_MAX ||
        (arg[0] & 3) > KYMO__ARG_PAYLOAD)
        return KYMO_EBLOCK;
    uint32_t key = (uint32_t)(arg[0] >> 2);
    if ((arg[0] & 3) != KYMO__ARG_PAYLOAD)
        return kymo__nest_argument(n, key, arg[0] & 1, arg[1]);
    if (arg[1] > (size_t)(end - *at))
        return KYMO_EBLOCK;
    const uint8_t *bytes = *at;
    *at += arg[1];
    return kymo__nest_payload(n, key, bytes, (size_t)arg[1]);
}

/* Read one frame. A call begins inside its caller, and not after NOW. */
static int get_frame(const uint8_t **at, const uint8_t *end, uint64_t now, struct kymo_nest *n)
{
    const struct kymo_open_call none = {0};
    const struct kymo_open_call before = n->depth ? n->frames[n->depth - 1] : none;
    uint64_t number[4], id = 0;
    if (!take_numbers(at, end, number, 4) || number[0] > UINT32_MAX ||
        number[1] >> ARGS_SHIFT > KYMO__ARGS_MOST || number[2] > now - (uint64_t)before.start)
        return KYMO_EBLOCK;
    if (number[1] & HAS_ID && !take_numbers(at, end, &id, 1))
        return KYMO_EBLOCK;
    struct kymo_open_call frame = {
        .key = (uint32_t)number[0],
        .enter = (uint8_t)number[1],
        .flags = (uint8_t)(number[1] >> 8) & (KYMO__OPEN_AT_START | KYMO__ENDED_INSIDE),
        .start = (kymo_ns)((uint64_t)before.start + number[2]),
        .number = before.number + number[3],
        .id = id,
    };
    int rc = kymo__nest_restore(n, &frame);
    for (uint64_t i = 0; rc == 0 && i < number[1] >> ARGS_SHIFT; i++)
        rc = get_arg(at, end, n);
    n->receiver = KYMO__NOBODY;
    return rc;
}

int kymo__checkpoint_get(const uint8_t **at, const uint8_t *end, struct kymo_nest *n,
                         uint64_t *gaps)
{
    uint64_t there, head[5];
    if (!take_numbers(at, end, &there, 1) || there > 1)
        return KYMO_EBLOCK;
    if (!there)
        return 0;
    if (!take_numbers(at, end, head, 5))
        return KYMO_EBLOCK;
    for (uint64_t i = 0; i < head[4]; i++) {
        int rc = get_frame(at, end, head[3], n);
        if (rc < 0)
            return rc;
    }
    n->entered = head[0];
    *gaps = head[1];
    n->doubtful = head[2] < n->depth ? (uint32_t)head[2] : n->depth;
    n->now = (kymo_ns)head[3];
    return 1;
}
