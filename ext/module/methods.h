/* methods.h — the functions of the module, by file. */
#ifndef KYMO_EXT_METHODS_H
#define KYMO_EXT_METHODS_H

#include "compat.h"

#include <stdbool.h>

/* sessions.c */
extern PyMethodDef kymo__session_methods[];
PyObject *kymo__session_start(PyObject *module, PyObject *args);
PyObject *kymo__session_stop(PyObject *module, PyObject *ignored);

/* forked.c */
PyObject *kymo__fork_hooks(PyObject *module, PyObject *args);
PyObject *kymo__fork_plan(PyObject *module, PyObject *plan);
PyObject *kymo__fork_recorded(PyObject *module, PyObject *id);
PyObject *kymo__fork_child(PyObject *module, PyObject *ignored);
PyObject *kymo__fork_exit(PyObject *module, PyObject *args);
PyObject *kymo__fork_stays(PyObject *module, PyObject *ignored);

/* Is the child that this thread is forking, or this process if it is that child, to be recorded? */
bool kymo__fork_is_recorded(void);

/* marking.c */
extern PyMethodDef kymo__marking_methods[];

/* program.c */
extern PyMethodDef kymo__program_methods[];

/* watched.c */
PyObject *kymo__watched(PyObject *module, PyObject *args);
/* Of os.fork and os.forkpty, the watched one that this thread is calling, or NULL. Borrowed. */
PyObject *kymo__watched_fork(void);
PyObject *kymo__inside_call(PyObject *module, PyObject *function);
PyObject *kymo__process_begin(PyObject *module, PyObject *args);
PyObject *kymo__process_end(PyObject *module, PyObject *args);

#endif
