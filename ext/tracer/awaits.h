/* awaits.h — what tasks await, and where.

   A wait is named after what the coroutine of the task awaits: "await fetch", "await gather",
   "await Future". Its place is the file and line of that await in the coroutine of the task.
   When a task is suspended, the coroutines that it awaits are suspended first, from the innermost
   outwards; each is noted here until the coroutine of the task follows. */
#ifndef KYMO_EXT_AWAITS_H
#define KYMO_EXT_AWAITS_H

#include "tasks.h"

/* The coroutine or generator that is at PLACE and runs no task itself is suspended, waiting for
   AWAITED. */
void kymo__await_inside(const struct place *place, PyObject *awaited);

/* A step of a task begins on this thread: forget what was noted. */
void kymo__await_forget(void);

/* The coroutine of a task is at PLACE, waiting for AWAITED: the name of the wait, or 0. */
uint32_t kymo__await_name(const struct place *place, PyObject *awaited);

/* What a task that waits for AWAITED really waits for: the members of a gather, a task group or
   a wait, as a list or set; or a task; or AWAITED. A new reference; no exception. */
PyObject *kymo__await_target(PyObject *awaited);

/* Must suspensions of CODE be reported even if filters leave it out? kymo__await_met decides that
   from FILE and NAME when a function is first met. */
bool kymo__await_group_code(const void *code);
void kymo__await_met(const void *code, const char *file, const char *name);

/* The session is over, or about to begin. */
void kymo__awaits_reset(void);

#endif
