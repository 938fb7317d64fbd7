/* pyframes.h — Python's frames for stack.h of libkymo. */
#ifndef KYMO_EXT_PYFRAMES_H
#define KYMO_EXT_PYFRAMES_H

#include "compat.h"

/* Make Python's frames part of stacks, if the frames of this interpreter look as they should;
   otherwise warn and leave them out. Once per process. 0, or -1 with an exception. */
int kymo__walk_register(void);

/* Do they look as they should? SKEW is added to what is read, for a test of the test. */
int kymo__walk_check(unsigned skew);

#endif
