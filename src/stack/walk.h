/* walk.h — the native frames of the calling thread.

   One walker per architecture, chosen by the build: walk_x86_64.c follows the rules of
   .eh_frame, remembered per address, and keeps what it saw last time, so that only the frames
   that have changed are walked anew; walk_aarch64.c follows frame pointers. */
#ifndef KYMO_WALK_H
#define KYMO_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KYMO__WALK_MAX 8192u /* frames kept of one stack, innermost first */

struct kymo_native {
    uint64_t pc;  /* return address; of the frame a signal interrupted: its address + 1 */
    uint64_t end; /* the first address above its frame on the stack; of the outermost: UINT64_MAX */
};

/* What a walk found. It belongs to the thread and is good until its next walk, which may also be
   one in a signal handler. Ends go up from frame to frame outwards, except where a signal handler
   had a stack of its own. */
struct kymo_walk {
    const struct kymo_native *frames; /* outermost first */
    size_t count;
    uint64_t hash;  /* of the pcs, without those skipped */
    bool truncated; /* there are more, further out */
};

/* Walk the stack of the caller of this function's caller-visible frame; the innermost SKIP
   frames are left out, of which number 0 is the function that called this one. False when this
   thread cannot be walked (no memory for what belongs to it, or it is inside a walk that a
   signal interrupted). */
bool kymo__walk(struct kymo_walk *walk, unsigned skip);

/* The same from inside a signal handler, for the frames below and including the one that the
   signal interrupted; CONTEXT is the third argument of the handler. Skips nothing. */
bool kymo__walk_context(struct kymo_walk *walk, const void *context);

#endif
