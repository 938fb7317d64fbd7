/* interrupted.h — what the rest of kymograph needs of stack capture beyond stack.h. */
#ifndef KYMO_INTERRUPTED_H
#define KYMO_INTERRUPTED_H

#include <kymo/stack.h>

/* The stack of the thread that a signal has interrupted; from its handler, whose third argument
   CONTEXT is. 0 also when the signal interrupted a capture. */
kymo_stack kymo__stack_capture_context(unsigned parts, const void *context);

/* The registered interpreter, or NULL. */
const struct kymo_interpreter *kymo__interpreter(void);

#endif
