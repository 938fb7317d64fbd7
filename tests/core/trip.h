/* trip.h — ways through functions of many shapes, to be looked at from the far end.

   A trip calls one function after the other, each chosen by chance, and in the end `leaf`.
   Frames differ in size, in what they save and in where their end can be found; some of the
   functions go through somebody else's code. The file trip.c is compiled twice, with frame
   pointers and without. */
#ifndef KYMO_TRIP_H
#define KYMO_TRIP_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

struct trip {
    uint64_t random;
    unsigned depth; /* calls to go */
    void (*leaf)(struct trip *trip);
    jmp_buf *back; /* where the leaf may jump to, or NULL */
    void (**shapes)(struct trip *trip);
    unsigned shape_count;
};

typedef void trip_shape(struct trip *trip);

static inline unsigned trip_chance(struct trip *trip, unsigned of)
{
    trip->random = trip->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(trip->random >> 33) % of;
}

/* One step further. */
static inline void trip_on(struct trip *trip)
{
    if (trip->depth == 0) {
        trip->leaf(trip);
    } else {
        trip->depth--;
        trip->shapes[trip_chance(trip, trip->shape_count)](trip);
        trip->depth++;
    }
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

enum { TRIP_SHAPES = 12, TRIP_ALIGNED = 6, TRIP_ALIGNED_DYNAMIC = 7, TRIP_JUMP = 10 };
extern trip_shape *const trip_shapes_fp[TRIP_SHAPES], *const trip_shapes_nofp[TRIP_SHAPES];

#endif
