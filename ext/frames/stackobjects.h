/* stackobjects.h — captured stacks and stack dumps as Python objects, for the module to
   register. */
#ifndef KYMO_EXT_STACKOBJECTS_H
#define KYMO_EXT_STACKOBJECTS_H

#include "core.h"

/* stacks.c */
extern PyType_Spec kymo__stack_spec;
extern PyMethodDef kymo__stacks_methods[];

/* The id of OBJECT, a captured stack; -1 with an exception if it is not a TYPE. */
int64_t kymo__stack_of(PyTypeObject *type, PyObject *object);

/* framenames.c: _core.stack_names and _core.address_names. */
PyObject *kymo__stack_names(PyObject *module, PyObject *args);
PyObject *kymo__address_names(PyObject *module, PyObject *args);

/* dumps.c */
extern PyMethodDef kymo__dumps_methods[];

#endif
