/* interrupted.h — stack capture functions for kymograph itself, beyond stack.h. */
#ifndef KYMO_INTERRUPTED_H
#define KYMO_INTERRUPTED_H

#include <kymo/stack.h>

#include "atomic.h"
#include "walk.h"

/* Capture the stack of the thread that a signal interrupted; call from its handler, with the
   handler's third argument as CONTEXT. Returns 0 also if the signal interrupted a capture.

   *TORN is set if the interpreter was changing its frames, so that most of them cannot be found: then
   the result is 0, too. If TORN is NULL, those that can be found will do. */
kymo_stack kymo__stack_capture_context(unsigned parts, const void *context, bool *torn);

/* For stacks that the session keeps, as nodes of its tree (stacktree.h). A stack that this thread has
   recorded in SESSION costs its walk and one look-up, with no atomic operation.

   look returns true if *STACK is the result, which is 0 for a stack without frames; otherwise pass
   PENDING to plant, if the session still runs and cannot end meanwhile, and in any case to looked.
   plant returns false if there was no room. The frame of the caller of look is not included.

   again does the same as look without walking, if it can. FRAME is __builtin_frame_address(0) of the
   caller of both, or 0. */
struct kymo_pending {
    struct kymo_walker *own;
    struct kymo_walk native;
    struct kymo_managed_walk managed;
    uint64_t hash, lowest;
    uint32_t session;
    unsigned parts, skip;
};
bool kymo__stack_again(unsigned parts, unsigned skip, uint32_t session, uint64_t frame,
                       kymo_stack *stack);
bool kymo__stack_look(unsigned parts, unsigned skip, uint32_t session, uint64_t frame,
                      struct kymo_pending *pending, kymo_stack *stack);
bool kymo__stack_plant(struct kymo_pending *pending, kymo_stack *stack);
void kymo__stack_looked(struct kymo_pending *pending);

/* For the interpreter's frames alone: is there more to do? KNOWN: *STACK is the result. LOOK: do so, as
   above. DEEP: trail.h is for it. */
enum kymo_recalled { KYMO__RECALL_KNOWN, KYMO__RECALL_LOOK, KYMO__RECALL_DEEP };
enum kymo_recalled kymo__stack_recall(uint32_t session, kymo_stack *stack);

/* The registered interpreter, or NULL. */
extern struct kymo_interpreting {
    const struct kymo_interpreter *interpreter;
    uint64_t epoch;
} kymo__interpreting;

static inline const struct kymo_interpreter *kymo__interpreter(void)
{
    return kymo__load_acquire(&kymo__interpreting.interpreter);
}

/* Changes whenever one of its functions is freed. */
static inline uint64_t kymo__interpreter_epoch(void)
{
    return kymo__load_relaxed(&kymo__interpreting.epoch);
}

#endif
