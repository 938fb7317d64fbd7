/* span.h — a kymograph.Span, for the files that implement it. */
#ifndef KYMO_EXT_SPAN_H
#define KYMO_EXT_SPAN_H

#include "marks.h"

struct span {
    PyObject ob_base;
    vectorcallfunc call;
    PyObject *name;  /* owned str */
    PyObject *texts; /* owned tuple, as in kymo__span_with; NULL if there are none */
    PyObject *heard; /* owned handle of the other listener, or NULL */
    struct kymo_span span;
    bool open;
    bool awaited;    /* a future was attached to it */
    PyObject *inner; /* owned list of plain spans: those inside it, of a subclass; or NULL */

    /* For slices: the name's key, and the session it belongs to. */
    uint32_t key, key_session;
};

/* ---- span.c */

extern uint32_t kymo__spans_muted; /* the session whose spans are muted, or 0 */

/* The number of the session in which a span may begin, or 0. */
static inline uint32_t kymo__spans_session(void)
{
    uint32_t session = __atomic_load_n(kymo__switch, __ATOMIC_RELAXED);
    return session == __atomic_load_n(&kymo__spans_muted, __ATOMIC_RELAXED) ? 0 : session;
}

/* Attach texts to the event just recorded. NAMES are those of the span's tuple. */
void kymo__span_put_texts(const char *const *names, Py_ssize_t count);

/* FUNCTION, with its calls recorded as the span OBJECT. */
PyObject *kymo__span_decorate(PyObject *object, PyObject *function);

/* The module's state, for TYPE, which is that of a span. */
struct core *kymo__span_core(PyTypeObject *type);

/* ---- spansub.c: subclasses */

PyObject *kymo__span_sub_new(PyTypeObject *type, PyObject *args, PyObject *names);
int kymo__span_sub_init(PyObject *object, PyObject *args, PyObject *names);
int kymo__span_set_name(PyObject *object, PyObject *name, void *closure);

/* Begin a span inside OBJECT, which is open already; and end it. */
PyObject *kymo__span_enter_again(PyObject *object);
PyObject *kymo__span_exit_again(PyObject *object);

/* ---- spanslices.c: methods for kymograph/_decorate.py */

/* _enter(detail, id): a slice of ID begins. Returns a value for _leave. */
PyObject *kymo__span_slice_enter(PyObject *object, PyObject *args);

/* _leave(detail, entered): it ends; ENTERED is the result of _enter. */
PyObject *kymo__span_slice_leave(PyObject *object, PyObject *args);

/* ---- spanmake.c */

/* Span(name, args=None, **texts): what calling the type does. ARGS is a text that describes
   the arguments, as torch.profiler's record_function has it. */
PyObject *kymo__span_make(PyObject *type, PyObject *const *args, size_t flags, PyObject *names);

#endif
