/* walk.h — the native frames of the calling thread.

   One walker per architecture, chosen by the build: walk_x86_64.c follows .eh_frame rules, cached
   per address, and remembers the last walk, so that only frames that changed are walked again;
   walk_aarch64.c follows frame pointers. */
#ifndef KYMO_WALK_H
#define KYMO_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KYMO__WALK_MAX 8192u /* most frames of one stack, innermost first */

struct kymo_native {
    uint64_t pc;  /* return address; for a frame interrupted by a signal: its address + 1 */
    uint64_t end; /* first address above its frame on the stack; for the outermost: UINT64_MAX */
};

/* The result of a walk. It belongs to the thread and is valid until its next walk, which may be in
   a signal handler. Ends increase from frame to frame outwards, except where a signal handler had
   its own stack. */
struct kymo_walk {
    const struct kymo_native *frames; /* outermost first */
    size_t count;
    uint64_t hash;  /* of the pcs, without those skipped */
    bool truncated; /* there are more frames further out */
};

/* Walk the stack of the caller. The innermost SKIP frames are left out; frame 0 is the function
   that called this one. False if this thread cannot be walked (no memory for its state, or a signal
   interrupted a walk). */
bool kymo__walk(struct kymo_walk *walk, unsigned skip);

/* The same from inside a signal handler, starting with the frame that the signal interrupted;
   CONTEXT is the handler's third argument. Skips nothing. */
bool kymo__walk_context(struct kymo_walk *walk, const void *context);

#endif
