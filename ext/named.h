/* named.h — calls that are named after the object they are made on.

   One function may be chosen whose calls are recorded under the type of their first argument
   and a number: objects of a type count from 0 in the order in which they are met. For
   torch it is Module.__call__, and its calls are "nn.Module: Linear_0". */
#ifndef KYMO_EXT_NAMED_H
#define KYMO_EXT_NAMED_H

#include "compat.h"
#include "keys.h"

#include <stdbool.h>

/* In `slices` of struct function, the lowest byte: the chosen function, or an object with
   its number above. */
#define KYMO_NAMED 4u

static inline bool kymo__function_named(const struct function *f)
{
    return (f->slices & 0xffu) == KYMO_NAMED;
}

/* Is CODE the chosen function's? */
bool kymo__is_named(PyObject *code);

/* F is the chosen function, which runs: the entry of the object, or F when there is none. No
   exception is set. */
const struct function *kymo__named_entry(const struct function *f);

/* The entry for CODE, a call of which is entered or left. */
static inline __attribute__((always_inline)) const struct function *
kymo__function_called(PyObject *code)
{
    const struct function *f = kymo__function_of(code);
    return __builtin_expect(f->slices == KYMO_NAMED, 0) ? kymo__named_entry(f) : f;
}

/* The call of F was entered: record the object's number. */
void kymo__named_argument(const struct function *f);

/* Around a session. 0, or -1 with an exception. */
int kymo__named_begin(void);
void kymo__named_end(void);

PyObject *kymo__named_set(PyObject *module, PyObject *args);

#endif
