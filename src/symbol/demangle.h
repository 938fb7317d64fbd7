/* demangle.h — names as their programmers wrote them.

   C++ names are demangled by the C++ library of the process or of the system, found when it is
   first needed; where there is none, names stay as they are. Rust's older names are such names
   too; its newer ones are read here. */
#ifndef KYMO_DEMANGLE_H
#define KYMO_DEMANGLE_H

#include <stddef.h>

/* What NAME, of LEN bytes, stands for: a text of kymo__alloc's in *TEXT, or NULL when it stands
   for itself. Returns 0 or -ENOMEM. */
int kymo__demangle(const char *name, size_t len, char **text);

/* The same for names of Rust's newer scheme alone. (rustname.c) */
int kymo__demangle_rust(const char *name, size_t len, char **text);

#endif
