/* named.h — calls named after the object they are made on.

   The calls of one chosen function are recorded under the type of their first argument and a
   number: objects of a type are numbered from 0 in the order in which they are first seen. For
   torch this is Module.__call__, whose calls become "nn.Module: Linear_0". */
#ifndef KYMO_EXT_NAMED_H
#define KYMO_EXT_NAMED_H

#include "compat.h"
#include "keys.h"

#include <stdbool.h>

/* In `slices` of struct function, the lowest byte: the chosen function, or an object, whose
   number is in the higher bytes. */
#define KYMO_NAMED 4u

static inline bool kymo__function_named(const struct function *f)
{
    return (f->slices & 0xffu) == KYMO_NAMED;
}

/* Is CODE the chosen function's? */
bool kymo__is_named(PyObject *code);

/* F is the chosen function, which is running: returns the entry of the object, or F when there
   is none. No exception is set. */
const struct function *kymo__named_entry(const struct function *f);

/* The entry for CODE when a call of it is entered or left. */
static inline __attribute__((always_inline)) const struct function *
kymo__function_called(PyObject *code)
{
    const struct function *f = kymo__function_of(code);
    return __builtin_expect(f->slices == KYMO_NAMED, 0) ? kymo__named_entry(f) : f;
}

/* The call of F was entered: record the object's number. */
void kymo__named_argument(const struct function *f);

/* Around a session: calls of CODE, NULL for none, are named PREFIX, type and number. 0, or -1 with
   an exception. */
int kymo__named_begin(PyObject *code, const char *prefix);
void kymo__named_end(void);

#endif
