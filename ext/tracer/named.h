/* named.h — calls named after the object they are made on.

   The calls of one chosen function are recorded under the type of their first argument and a
   number: objects of a type are numbered from 0 in the order in which they are first seen. For
   torch this is Module.__call__, whose calls become "nn.Module: Linear_0".

   A watcher, a Python function, may be told of these objects when they are first seen, and of the
   first argument of calls of another function; for torch this is Optimizer._optimizer_step_code. */
#ifndef KYMO_EXT_NAMED_H
#define KYMO_EXT_NAMED_H

#include "compat.h"
#include "keys.h"

#include <stdbool.h>

/* In `slices` of struct function, the lowest byte: one of the chosen functions, or an object, whose
   number is in the higher bytes. */
#define KYMO_NAMED 4u

static inline bool kymo__function_named(const struct function *f)
{
    return (f->slices & 0xffu) == KYMO_NAMED;
}

/* Is CODE that of a chosen function? */
bool kymo__is_named(PyObject *code);

/* F is a chosen function, which is running: returns the entry of the object, or F when there
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

/* Around a session: calls of CODE, NULL for none, are named PREFIX, type and number, and those of
   WATCHED, NULL for none, are only told to the watcher. 0, or -1 with an exception. */
int kymo__named_begin(PyObject *code, PyObject *watched, const char *prefix);
void kymo__named_end(void);

/* named_watch(callable or None): the watcher from now on. What it raises is ignored. It is kept for
   ever. */
PyObject *kymo__named_watch(PyObject *module, PyObject *callable);

/* named_objects(): a list of the named objects that were seen in this session and live. */
PyObject *kymo__named_objects(PyObject *module, PyObject *ignored);

#endif
