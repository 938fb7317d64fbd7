/* trip.c — see trip.h. */
#include "trip.h"

#include <stdlib.h>
#include <string.h>

#define SHAPE __attribute__((noinline)) static void

/* Make a frame of SIZE bytes that the compiler cannot do without. */
#define FRAME(size)                                                                                \
    volatile char frame[size];                                                                     \
    frame[0] = (char)trip->depth

SHAPE tiny(struct trip *trip)
{
    trip_on(trip);
}

SHAPE small(struct trip *trip)
{
    FRAME(24);
    trip_on(trip);
    frame[1] = frame[0];
}

SHAPE large(struct trip *trip)
{
    FRAME(5000);
    trip_on(trip);
    frame[1] = frame[0];
}

/* Everything the callee has to save is used. */
SHAPE busy(struct trip *trip)
{
    uint64_t a = trip_chance(trip, 9), b = a * 3, c = a ^ 77, d = b + c, e = d * d, f = e ^ a;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    trip_on(trip);
    __asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
}

SHAPE twice(struct trip *trip)
{
    unsigned depth = trip->depth;
    trip->depth = depth > 3 ? 3 : depth;
    trip_on(trip);
    trip->depth = depth > 0 ? depth - 1 : 0;
    trip_on(trip);
    trip->depth = depth;
}

SHAPE dynamic(struct trip *trip)
{
    size_t size = 16 + 16 * (size_t)trip_chance(trip, 40);
    volatile char *room = __builtin_alloca(size);
    room[0] = room[size - 1] = 1;
    trip_on(trip);
    room[1] = room[0];
}

/* More alignment than the stack has: the end of the frame is kept in a register of its own. */
SHAPE aligned(struct trip *trip)
{
    volatile char wide[64] __attribute__((aligned(64)));
    wide[0] = 1;
    trip_on(trip);
    wide[1] = wide[0];
}

SHAPE aligned_dynamic(struct trip *trip)
{
    volatile char wide[64] __attribute__((aligned(64)));
    volatile char *room = __builtin_alloca(16 + 16 * (size_t)trip_chance(trip, 9));
    room[0] = wide[0] = 1;
    trip_on(trip);
    wide[1] = room[0];
}

static _Thread_local struct trip *comparing;

static int compare(const void *a, const void *b)
{
    struct trip *trip = comparing;
    if (trip) {
        comparing = NULL;
        trip_on(trip);
    }
    return *(const int *)a - *(const int *)b;
}

SHAPE through_qsort(struct trip *trip)
{
    int numbers[] = {3, 1, 4, 1, 5};
    comparing = trip;
    qsort(numbers, 5, sizeof(numbers[0]), compare);
}

SHAPE through_bsearch(struct trip *trip)
{
    static const int numbers[] = {1, 3, 5};
    int key = 3;
    comparing = trip;
    if (!bsearch(&key, numbers, 3, sizeof(numbers[0]), compare))
        abort();
}

SHAPE jump_back(struct trip *trip)
{
    jmp_buf here, *before = trip->back;
    volatile unsigned depth = trip->depth;
    if (setjmp(here) == 0) {
        trip->back = &here;
        trip_on(trip);
    }
    trip->back = before;
    trip->depth = depth;
}

struct arguments {
    uint64_t words[9];
};

/* So many arguments that they go by way of the stack. */
__attribute__((noinline)) static void with_arguments(struct arguments a, struct trip *trip,
                                                     struct arguments b)
{
    trip_on(trip);
    __asm__ volatile("" ::"r"(a.words), "r"(b.words) : "memory");
}

SHAPE arguments(struct trip *trip)
{
    struct arguments a;
    memset(&a, 1, sizeof(a));
    with_arguments(a, trip, a);
    __asm__ volatile("" ::: "memory");
}

trip_shape *const TRIP_NAME[TRIP_SHAPES] = {
    tiny,          small,           large,     busy,      twice, dynamic, aligned, aligned_dynamic,
    through_qsort, through_bsearch, jump_back, arguments,
};
