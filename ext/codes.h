/* codes.h — the code objects that are in captured stacks, each with a number for good.

   A code object is met while a stack is captured: by any thread, with or without the GIL, in a
   signal handler even. So meeting one takes no lock and only notes its address. What it is
   called is copied later by a thread that has the GIL, at the latest when it dies. None is ever
   kept alive. */
#ifndef KYMO_EXT_CODES_H
#define KYMO_EXT_CODES_H

#include "compat.h"

#include <kymo/stack.h>
#include <stdbool.h>
#include <stdint.h>

/* The number of CODE, from 1 on; 0 when there is no room for another one. */
uint32_t kymo__code_number(const PyCodeObject *code);

/* CODE dies. With the GIL. */
void kymo__code_died(PyCodeObject *code);

/* Copy what has not been copied yet. With the GIL; keeps the exception that is set. */
void kymo__codes_settle(void);

/* Copy what code NUMBER is called, which a frame of the calling thread is running; in a signal
   handler, without the GIL. Nothing happens when it cannot be read. */
void kymo__code_peek(uint32_t number);

/* What code NUMBER is called, and the line of its instruction UNIT. 0, -EAGAIN or -ENOENT. Any
   thread. */
int kymo__code_name(uint32_t number, uint32_t unit, struct kymo_named *named);

/* How many have been met. */
uint32_t kymo__codes_count(void);

#endif
