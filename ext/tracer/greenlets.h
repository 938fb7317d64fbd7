/* greenlets.h — threads that switch between greenlets.

   A switch leaves calls open and continues with others, and the interpreter does not report it. The
   greenlet module does: it calls a trace function after each switch. Ours is installed before the
   program's, and calls it.

   After a thread's first switch, all its open calls are tracked per greenlet. At a switch, the
   calls of one are recorded as suspended and those of the other as resumed, as if they were
   generators. So calls nest, and no time counts for two greenlets. Other threads pay nothing for
   this.

   A greenlet that starts within the session has a lane, as tasks have: an async span named after
   its first function, with a span "switched out" inside while it does not run. */
#ifndef KYMO_EXT_GREENLETS_H
#define KYMO_EXT_GREENLETS_H

#include "compat.h"

#include <stdbool.h>

/* Is this the body of the greenlet module? Call `meet` when it has ended. */
bool kymo__is_greenlet_module(const char *file, const char *name);

/* Is this greenlet.settrace? Call `replaced` when a call of it has ended, before any switch. */
bool kymo__is_greenlet_settrace(PyObject *callable);
void kymo__greenlets_replaced(void);

/* Follow this thread's switches from now on, if the program has imported greenlet. If the program
   has replaced our trace function, ours is installed again and calls that one. Preserves the
   current exception. */
void kymo__greenlets_meet(void);

/* This thread has switched from ORIGIN to TARGET, both greenlets. Preserves the current exception. */
void kymo__greenlet_switched(PyObject *origin, PyObject *target);

/* A session begins or recording resumes; it pauses or ends. */
void kymo__greenlets_begin(void);
void kymo__greenlets_pause(void);

/* The calls of this thread are about to be reported again: forget what was open. */
void kymo__greenlets_forget(void);

#endif
