/* heap.h — Python's part of the memory tracer (kymo/memory.h): a domain called "python". */
#ifndef KYMO_EXT_HEAP_H
#define KYMO_EXT_HEAP_H

#include "compat.h"

#include <kymo/memory.h>
#include <stdbool.h>

/* What Python asks for when it starts to record memory. */
struct kymo__memory_options {
    struct kymo_memory_options core;
    int objects; /* record what survives, with the references that keep it */
};

/* Make Python's allocators known to the library. */
void kymo__heap_register(void);

/* Read OPTIONS from TUPLE: (mode, rate, what, stacks, objects). Returns 0, or -1 with an
   exception. */
int kymo__memory_options_from(PyObject *tuple, struct kymo__memory_options *options);

/* The next session that records memory records objects too, or does not. */
void kymo__heap_want_objects(bool wanted);

/* In a forked child, when Python can be used again. */
void kymo__heap_forked(void);

/* snapsignal.c: let signal NUMBER take a snapshot. Returns 0, -EBUSY if the program handles or
   ignores it, or -EINVAL. */
int kymo__snapsignal_set(int number);
void kymo__snapsignal_restore(void);

extern PyMethodDef kymo__heap_methods[];

#endif
