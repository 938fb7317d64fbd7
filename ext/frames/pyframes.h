/* pyframes.h — Python's frames for stack.h of libkymo. */
#ifndef KYMO_EXT_PYFRAMES_H
#define KYMO_EXT_PYFRAMES_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* Add Python's frames to stacks if this interpreter's frames have the expected layout; otherwise
   warn and leave them out. Once per process. Returns 0, or -1 with an exception. */
int kymo__walk_register(void);

/* Do they have the expected layout? SKEW is added to what is read, to test this check. */
int kymo__walk_check(unsigned skew);

/* Did they when the module was imported? KNOW overrides the answer, for a test. */
bool kymo__frames_known(void);
void kymo__frames_know(bool known);

/* A frame: its code object, borrowed, and its instruction, in code units. */
struct kymo__running {
    PyObject *code;
    int64_t unit;
};

/* STATE's frames, innermost first; *COUNT of them, to be freed. The frames keep the code objects alive;
   STATE is of the calling thread, or of one that waits for the GIL. Creates no object, and touches
   none: in a forked child, each would be copied with its page. Only if the layout is known. NULL if
   there are none, or no memory. */
struct kymo__running *kymo__frames_of(PyThreadState *state, size_t *count);

#endif
