/* objects.h — the Python objects that survive: by type and birth, with what keeps them alive. */
#ifndef KYMO_EXT_OBJECTS_H
#define KYMO_EXT_OBJECTS_H

#include "compat.h"

#include <stdint.h>

/* Record, as memory.object events of snapshot NUMBER, the objects that were allocated while memory
   was being recorded. With the GIL, in a session. */
void kymo__objects_record(uint32_t number);

#endif
