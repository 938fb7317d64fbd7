/* lives.h — numbers for generators and coroutines, never reused within a session.

   An event gives only the address of the frame, which may be reused. So the address gets a new
   number with each first slice. */
#ifndef KYMO_EXT_LIVES_H
#define KYMO_EXT_LIVES_H

#include "compat.h"

#include <kymo/lane.h>
#include <stdbool.h>
#include <stdint.h>

struct life {
    const void *frame;
    uint64_t number;
};

#define KYMO_LIFE_ANNOUNCED (UINT64_C(1) << 63) /* in a number: its first slice has not run yet */
#define KYMO_LIVES_BITS 12
extern struct life
    kymo__lives[1 << KYMO_LIVES_BITS]; /* recently used ones, where the GIL protects it */
extern uint64_t kymo__life_count;

uint64_t kymo__life_slow(const void *frame, bool begins);

/* The number of the generator or coroutine that has FRAME and whose slice begins; the slice is
   the first if it BEGINS. */
KYMO_INLINE uint64_t kymo__life(const void *frame, bool begins)
{
#ifndef Py_GIL_DISABLED
    uint64_t hash = (uint64_t)(uintptr_t)frame * UINT64_C(0x9e3779b97f4a7c15);
    struct life *life = &kymo__lives[hash >> (64 - KYMO_LIVES_BITS)];
    if (__builtin_expect(life->frame == frame && !(life->number & KYMO_LIFE_ANNOUNCED), 1))
        return begins ? (life->number = ++kymo__life_count) : life->number;
#endif
    return kymo__life_slow(frame, begins);
}

/* A number for the one that has FRAME, whose first slice has not run yet. */
uint64_t kymo__life_announce(const void *frame);

/* COUNT consecutive numbers that are not used for anything else: the first of them. */
uint64_t kymo__life_block(uint64_t count);

/* One such number. */
static inline uint64_t kymo__life_new(void)
{
    return kymo__life_block(1);
}

/* The session is over, or about to begin. */
void kymo__lives_reset(void);

#endif
