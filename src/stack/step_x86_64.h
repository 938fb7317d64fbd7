/* step_x86_64.h — the state of a walk, shared by the fast steps of walk_x86_64.c and the unusual
   ones of odd_x86_64.c. */
#ifndef KYMO_STEP_X86_64_H
#define KYMO_STEP_X86_64_H

#include <ucontext.h>

#include "walker.h"

/* Reads words of other functions' frames, whatever they contain. */
#define KYMO__FOREIGN __attribute__((no_sanitize("address", "thread", "undefined")))

enum { KYMO__RED_ZONE = 128 }; /* below sp, and still the function's */

struct kymo_registers {
    uint64_t pc; /* as a return address */
    uint64_t sp, fp, rbx;
    const mcontext_t *all; /* of the first frame, if it is a signal's context; else NULL */
};

struct kymo_going {
    struct kymo_walker *walker;
    struct kymo_range range; /* readable memory */
    uint64_t pc, sp;         /* of the current frame */
    uint64_t fp_at;          /* where its fp is: on the stack, or from.fp */
    size_t count;            /* number of fresh frames */
    size_t odd;              /* how many of them cannot be reused next time */
    size_t slots;            /* number of fresh slots */
    size_t kept, kept_slots; /* frames reused from last time, further out */
    bool more;               /* stopped because the buffer is full */
    struct kymo_registers from;
};

KYMO__FOREIGN static inline uint64_t kymo__word(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

static inline bool kymo__inside(const struct kymo_range *range, uint64_t address, uint64_t size)
{
    return address >= range->low && address <= range->high - size;
}

/* Step by a rule that is not simple. False if the walk ends here. */
bool kymo__odd_step(struct kymo_going *go);

#endif
