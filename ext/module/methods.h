/* methods.h — the functions of the module, by file. */
#ifndef KYMO_EXT_METHODS_H
#define KYMO_EXT_METHODS_H

#include "compat.h"

/* sessions.c */
extern PyMethodDef kymo__session_methods[];

/* marking.c */
extern PyMethodDef kymo__marking_methods[];

/* program.c */
extern PyMethodDef kymo__program_methods[];

/* watched.c */
PyObject *kymo__watched(PyObject *module, PyObject *args);
PyObject *kymo__inside_call(PyObject *module, PyObject *function);
PyObject *kymo__process_begin(PyObject *module, PyObject *args);
PyObject *kymo__process_end(PyObject *module, PyObject *args);

#endif
