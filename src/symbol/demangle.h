/* demangle.h — turn mangled names back into source names.

   C++ names are demangled by the C++ library of the process or the system, loaded on first use;
   without one, names stay mangled. Rust's legacy names are C++ names too; its v0 names are
   demangled here. */
#ifndef KYMO_DEMANGLE_H
#define KYMO_DEMANGLE_H

#include <stddef.h>

/* Demangle NAME, of LEN bytes, into *TEXT, allocated with kymo__alloc, or NULL if it is not
   mangled. Returns 0 or -ENOMEM. */
int kymo__demangle(const char *name, size_t len, char **text);

/* The same for Rust's v0 names only. (rustname.c) */
int kymo__demangle_rust(const char *name, size_t len, char **text);

#endif
