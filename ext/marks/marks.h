/* marks.h — spans, operators, and the names that marks are recorded with. */
#ifndef KYMO_EXT_MARKS_H
#define KYMO_EXT_MARKS_H

#include "core.h"

/* names.c: stable names for marking calls. */

/* An empty cache of names, or NULL with an exception. */
struct kymo__names *kymo__names_new(void);
void kymo__names_free(struct kymo__names *names);

/* The name to mark with for the str NAME, or NULL if nothing is to be recorded. Never sets an
   exception. The name is valid until RELEASE, which must follow in either case; only marking calls
   are allowed between the two. */
const char *kymo__name_hold(struct core *core, PyObject *name);
void kymo__name_release(void);

/* The same for every str of TEXTS, a tuple of at most KYMO__TEXTS_MOST; false if nothing is to be
   recorded. */
enum { KYMO__TEXTS_MOST = 1 + 2 * 64 }; /* a name, and as many arguments as are read back */
bool kymo__names_hold(struct core *core, PyObject *texts, const char **names);

/* SHUT: from now on HOLD returns NULL, until OPEN. For the end of a session, which frees the
   names. */
void kymo__names_shut(void);
void kymo__names_open(void);

/* span.c */

extern PyType_Spec kymo__span_spec;
PyObject *kymo__span_new(PyObject *module, PyObject *name);

/* A span with attached texts. TEXTS is a tuple of str: its name, then pairs of name and text. */
PyObject *kymo__span_with(PyObject *module, PyObject *texts);
PyObject *kymo__span_like(PyObject *module, PyObject *span);
int kymo__span_init(PyTypeObject *span_type); /* completes the type; 0 or -1 */
void kymo__spans_free(struct core *core);
PyObject *kymo__spans_mute(PyObject *module, PyObject *flag);

/* Reports spans to another profiler; NULL if there is none. BEGIN returns a handle for END (a new
   reference), or NULL if nobody listens; TEXT may be NULL. *RECORDED becomes true if the running
   session gets the span from that profiler. Neither function leaves an exception set. */
struct kymo__span_listener {
    PyObject *(*begin)(PyObject *name, PyObject *text, bool *recorded);
    void (*end)(PyObject *handle);
};
extern const struct kymo__span_listener *kymo__span_listener;

/* op.c */

extern PyType_Spec kymo__op_spec;

#endif
