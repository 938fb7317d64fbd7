/* codes.h — the code objects in captured stacks, each with a permanent number.

   A code object is met while capturing a stack: on any thread, with or without the GIL, even in a
   signal handler. So meeting one takes no lock and only stores its address. Outside of signal
   handlers the thread then copies its name, so that it is known if the process is killed; otherwise
   a thread that has the GIL does, at the latest when it dies. None is kept alive. */
#ifndef KYMO_EXT_CODES_H
#define KYMO_EXT_CODES_H

#include "compat.h"

#include <kymo/stack.h>
#include <stdbool.h>
#include <stdint.h>

/* The number of CODE, from 1 on; 0 if there is no room for another. *FRESH if it is a new one. */
uint32_t kymo__code_number(const PyCodeObject *code, bool *fresh);

/* CODE dies. With the GIL. */
void kymo__code_died(PyCodeObject *code);

/* Copy the names not copied yet. With the GIL; keeps the current exception. */
void kymo__codes_settle(void);

/* Copy the name of code NUMBER, which a frame of the calling thread is running, without the GIL.
   CAREFUL: in a signal handler. Does nothing if it cannot be read. */
void kymo__code_peek(uint32_t number, bool careful);

/* The name of code NUMBER, and the line of its instruction UNIT. Returns 0, -EAGAIN or -ENOENT. Any
   thread. */
int kymo__code_name(uint32_t number, uint32_t unit, struct kymo_named *named);

/* How many code objects found no room. */
uint64_t kymo__codes_unnamed(void);

/* How many have been met. */
uint32_t kymo__codes_count(void);

#endif
