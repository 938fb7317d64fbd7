/* merge.h — one sequence of frames from the native walk and the interpreter's.

   A frame is stored as a word:

       native     0 | module (15 bits) | return address (48 bits)
       managed    1 | the interpreter's number (63 bits)

   Each mark of the interpreter is an address inside the native frame that runs it, so addresses give
   their order. */
#ifndef KYMO_MERGE_H
#define KYMO_MERGE_H

#include <kymo/stack.h>

#include "walk.h"

#define KYMO__MANAGED (UINT64_C(1) << 63)

/* A frame as it was walked. */
struct kymo_merged {
    uint64_t code;  /* as in struct kymo_managed_frame; KYMO__NO_CODE: a native frame */
    uint64_t place; /* its return address, if it is native */
};
#define KYMO__NO_CODE UINT64_MAX

/* Merge both walks into FRAMES, which has room for MOST, innermost first. LOWEST is an address below
   the innermost frame, or 0. Marks in no native frame, for instance on the stack of a coroutine
   library, come last, with everything further out. Returns how many frames there are. */
size_t kymo__merge(struct kymo_merged *frames, size_t most, const struct kymo_walk *native,
                   const struct kymo_managed_walk *managed, uint64_t lowest);

/* The outermost frames of an earlier merge that are also the outermost of this one. They came from so many
   of the outermost frames of either walk, which have not changed: neither has where they begin and end,
   nor have their marks. */
struct kymo_merge_outer {
    size_t native, managed;
    bool in_native; /* the innermost of them is a native one */
};

/* The same without those. False if they cannot be left out, because frames that are new belong between
   them. */
bool kymo__merge_within(struct kymo_merged *frames, size_t most, const struct kymo_walk *native,
                        const struct kymo_managed_walk *managed, uint64_t lowest,
                        const struct kymo_merge_outer *outer, size_t *count);

/* The word of a native frame. */
uint64_t kymo__native_word(uint64_t pc);

/* The frame of WORD. */
struct kymo_frame kymo__word_frame(uint64_t word);

#endif
