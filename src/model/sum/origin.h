/* origin.h — whose code a callable is, and whether time in it is waiting.

   Both depend only on the name and the file, so that they work for any capture on any machine. */
#ifndef KYMO_ORIGIN_H
#define KYMO_ORIGIN_H

#include "callables.h"

enum kymo_origin {
    KYMO__OWN,     /* the program: its Python functions, its spans; also garbage collections */
    KYMO__LIBRARY, /* the standard library and installed packages */
    KYMO__IMPORT,  /* the import machinery */
    KYMO__BUILTIN, /* C functions and types: they belong to their caller */
};

enum kymo_origin kymo__origin(const struct kymo_callable *callable);

/* One word for it: own, library, import, builtin. */
const char *kymo__origin_word(enum kymo_origin origin);

/* Does CALLABLE itself wait: for a lock, a descriptor, a process, a point in time? */
bool kymo__waits(const struct kymo_callable *callable);

#endif
