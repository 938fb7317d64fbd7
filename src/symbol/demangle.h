/* demangle.h — names as their programmers wrote them.

   C++ names are demangled by the C++ library of the process or of the system, found when it is
   first needed; where there is none, names stay as they are. */
#ifndef KYMO_DEMANGLE_H
#define KYMO_DEMANGLE_H

#include <stddef.h>

/* What NAME, of LEN bytes, stands for: a text of kymo__alloc's in *TEXT, or NULL when it stands
   for itself. Returns 0 or -ENOMEM. */
int kymo__demangle(const char *name, size_t len, char **text);

#endif
