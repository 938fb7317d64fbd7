/* trail.h — from the interpreter's frames alone to their node in the tree (stacktree.h), for stacks
   that are recorded often and deep.

   A thread keeps the frames that it had when it last asked, each with its node. The interpreter
   compares them with those it has now, and only the frames that changed are looked up: in a table of
   the thread's own, and if they are not there, in the tree. Nothing here is hashed and believed:
   every frame is compared. */
#ifndef KYMO_TRAIL_H
#define KYMO_TRAIL_H

#include <kymo/stack.h>
#include <stdbool.h>

struct kymo_walker;

enum kymo_trail_found {
    KYMO__TRAIL_KNOWN, /* *STACK is the result */
    KYMO__TRAIL_NEW,   /* call plant, or drop */
    KYMO__TRAIL_NONE,  /* this way does not work here; kymo__stack_look does */
};

/* The stack of the calling thread in SESSION, which is 0 if none of its frames is shown. After
   KYMO__RECALL_DEEP (interrupted.h). No atomic operation, no lock. */
enum kymo_trail_found kymo__trail_look(uint32_t session, kymo_stack *stack);

/* After NEW, while SESSION runs and cannot end: add what is new to the tree and store the stack. *FRESH:
   it was not used as a stack before. False if there was no room. */
bool kymo__trail_plant(uint32_t session, kymo_stack *stack, bool *fresh);

/* After NEW, if SESSION does not run any more. */
void kymo__trail_drop(void);

#endif
