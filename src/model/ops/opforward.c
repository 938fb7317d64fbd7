/* opforward.c — see opforward.h. Numbers of a thread follow each other, so the low bits of a number
   are its slot: old ones are overwritten when the table is as large as it may get. */
#include "opforward.h"

#include <errno.h>

#include "alloc.h"
#include "hash.h"

enum { FIRST = 1 << 10 };

static struct kymo_op_forward *slot_of(struct kymo_op_forward *slots, size_t count, uint64_t thread,
                                       int64_t seq)
{
    uint64_t start = kymo__hash_word(thread) >> 20;
    return &slots[(start + (uint64_t)seq) & (count - 1)];
}

static bool is(const struct kymo_op_forward *slot, uint64_t thread, int64_t seq)
{
    return slot->id && slot->thread == thread && slot->seq == seq;
}

static int grow_forward(struct kymo_op_forwards *f)
{
    size_t count = f->count ? 2 * f->count : FIRST;
    struct kymo_op_forward *slots = kymo__alloc_zeroed(count * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < f->count; i++)
        if (f->slots[i].id)
            *slot_of(slots, count, f->slots[i].thread, f->slots[i].seq) = f->slots[i];
    kymo__free(f->slots);
    f->slots = slots;
    f->count = count;
    return 0;
}

int kymo__op_forward_set(struct kymo_op_forwards *f, const struct kymo_op_forward *forward)
{
    if (!f->count && grow_forward(f) < 0)
        return -ENOMEM;
    struct kymo_op_forward *slot = slot_of(f->slots, f->count, forward->thread, forward->seq);
    while (slot->id && !slot->used && !is(slot, forward->thread, forward->seq) &&
           f->count < KYMO__FORWARDS_MOST) {
        int rc = grow_forward(f);
        if (rc < 0)
            return rc;
        slot = slot_of(f->slots, f->count, forward->thread, forward->seq);
    }
    *slot = *forward;
    return 0;
}

struct kymo_op_forward *kymo__op_forward_find(const struct kymo_op_forwards *f, uint64_t thread,
                                              int64_t seq)
{
    if (!f->count)
        return NULL;
    struct kymo_op_forward *slot = slot_of(f->slots, f->count, thread, seq);
    return is(slot, thread, seq) ? slot : NULL;
}

void kymo__op_forwards_fini(struct kymo_op_forwards *f)
{
    kymo__free(f->slots);
    *f = (struct kymo_op_forwards){0};
}
