/* span.c — kymo.Span: a span as a context manager and as a decorator.

   For a with block all is done here. A function that is decorated calls through
   kymo/_decorate.py, which marks the slices of generators and coroutines with ENTER and
   LEAVE below, because a span may not stay open while other code runs on its thread. */
#include "core.h"
#include "tracer.h"

struct span {
    PyObject ob_base;
    PyObject *name; /* owned str */
    struct kymo_span span;
    bool open;
};

/* Spans come and go with every block: a few are kept for the next one. With the GIL only,
   which guards them. */
#ifdef Py_GIL_DISABLED
enum { KEPT_MOST = 0 };
#else
enum { KEPT_MOST = 16 };
#endif
static_assert(KEPT_MOST <= COUNT_OF(((struct core *)0)->spare_spans), "there is room");

PyObject *kymo__span_new(PyObject *module, PyObject *name)
{
    struct core *core = kymo__core_of_module(module);
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "a name must be a str, not %.100s",
                            Py_TYPE(name)->tp_name);
    struct span *self;
    if (core->spare_count) {
        self = (struct span *)core->spare_spans[--core->spare_count];
        PyObject_Init((PyObject *)self, core->span_type);
    } else {
        self = (struct span *)core->span_type->tp_alloc(core->span_type, 0);
        if (!self)
            return NULL;
    }
    self->name = Py_NewRef(name);
    return (PyObject *)self;
}
