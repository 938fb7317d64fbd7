/* span.c — kymo.Span: a span as a context manager. */
#include "core.h"

struct span {
    PyObject ob_base;
    PyObject *name; /* owned str */
    struct kymo_span span;
    bool open;
};

PyObject *kymo__span_new(PyObject *module, PyObject *name)
{
    struct core *core = kymo__core_of_module(module);
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "a name must be a str, not %.100s",
                            Py_TYPE(name)->tp_name);
    struct span *self = (struct span *)core->span_type->tp_alloc(core->span_type, 0);
    if (!self)
        return NULL;
    self->name = Py_NewRef(name);
    return (PyObject *)self;
}

static void span_dealloc(PyObject *object)
{
    struct span *self = (struct span *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->name);
    type->tp_free(object);
    Py_DECREF(type);
}

/* An open span is entered again by recursion or by a second thread: an error in
   the program, and the same one whether a session runs or not. */
static PyObject *span_enter(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct span *self = (struct span *)object;
    if (__atomic_exchange_n(&self->open, true, __ATOMIC_RELAXED)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this span is open already; make one with kymo.span() for each block");
        return NULL;
    }
    self->span = (struct kymo_span){0};
    if (kymo_running()) {
        const char *name = kymo__name_hold(kymo__core_of(object), self->name);
        if (name)
            self->span = kymo_span_begin(name);
        kymo__name_release();
    }
    return Py_NewRef(object);
}

static PyObject *span_exit(PyObject *object, PyObject *const *Py_UNUSED(args),
                           Py_ssize_t Py_UNUSED(count))
{
    struct span *self = (struct span *)object;
    kymo_span_end(self->span);
    self->span = (struct kymo_span){0};
    __atomic_store_n(&self->open, false, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

static PyObject *span_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<kymo.Span %R>", ((struct span *)object)->name);
}

static PyMethodDef span_methods[] = {
    {"__enter__", span_enter, METH_NOARGS, "Begin the span on this thread."},
    {"__exit__", (PyCFunction)(void (*)(void))span_exit, METH_FASTCALL, "End the span."},
    {0},
};

static PyType_Slot span_slots[] = {
    {Py_tp_doc, "A span of the running session; made by kymo.span() for one with block."},
    {Py_tp_dealloc, span_dealloc},
    {Py_tp_repr, span_repr},
    {Py_tp_methods, span_methods},
    {0, NULL},
};

PyType_Spec kymo__span_spec = {
    .name = "kymo.Span",
    .basicsize = sizeof(struct span),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = span_slots,
};
