/* methods.h — the functions of the module, by file. */
#ifndef KYMO_EXT_METHODS_H
#define KYMO_EXT_METHODS_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* sessions.c */
extern PyMethodDef kymo__session_methods[];
PyObject *kymo__session_start(PyObject *module, PyObject *args);

/* Stop the session in a process that is about to end. */
void kymo__session_leave(void);

/* forked.c */
PyObject *kymo__fork_hooks(PyObject *module, PyObject *args);
PyObject *kymo__fork_plan(PyObject *module, PyObject *plan);
PyObject *kymo__fork_child(PyObject *module, PyObject *ignored);
PyObject *kymo__fork_exit(PyObject *module, PyObject *args);
PyObject *kymo__fork_stays(PyObject *module, PyObject *ignored);

/* Is there a plan for forked children, made by this process from what is still so? */
bool kymo__fork_plan_holds(void);

/* Where forked children record, as a new reference to bytes; NULL if nothing is planned. */
PyObject *kymo__fork_folder(void);

/* forking.c */
PyObject *kymo__fork_watch(PyObject *module, PyObject *args);
PyObject *kymo__fork_apart(PyObject *module, PyObject *is_apart);
PyObject *kymo__fork_recorded(PyObject *module, PyObject *recorded);
PyObject *kymo__fork_before(PyObject *module, PyObject *ignored);
PyObject *kymo__fork_made(PyObject *module, PyObject *args);
PyObject *kymo__fork_waited(PyObject *module, PyObject *args);
PyObject *kymo__child_status(PyObject *module, PyObject *args);
PyObject *kymo__process_id(PyObject *module, PyObject *ignored);
PyObject *kymo__process_own_id(PyObject *module, PyObject *ignored);
PyObject *kymo__process_is(PyObject *module, PyObject *id);

/* Is the child that this thread is forking, or this process if it is that child, to be recorded? */
bool kymo__fork_is_recorded(void);

/* This process is that child: it has its own id now, and none of its parent's children. */
void kymo__fork_in_child(void);

/* The id of this process in its parent's arrows; 0 if it has none. */
uint64_t kymo__process_own(void);

/* marking.c */
extern PyMethodDef kymo__marking_methods[];

/* program.c */
extern PyMethodDef kymo__program_methods[];

/* watched.c */
PyObject *kymo__watched(PyObject *module, PyObject *args);
/* Of os.fork and os.forkpty, the watched one that this thread is calling, or NULL. Borrowed. */
PyObject *kymo__watched_fork(void);
PyObject *kymo__watched_fork_call(PyObject *module, PyObject *ignored);
PyObject *kymo__inside_call(PyObject *module, PyObject *function);
PyObject *kymo__process_begin(PyObject *module, PyObject *args);
PyObject *kymo__process_end(PyObject *module, PyObject *args);
void kymo__process_began(const char *name, uint64_t id, uint64_t pid, const char *command);
void kymo__process_ended(const char *name, uint64_t id, const char *status);

#endif
