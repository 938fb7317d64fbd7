/* spansub.c — classes that a program derives from kymograph.Span, as it may from torch's
   record_function: objects are made and initialised in two steps, and one object may be entered
   again while it is open, as a decorator of a recursive function does. */
#include "span.h"

/* Unlike a plain span, which is called to begin and to end, it is only a decorator. */
static PyObject *call_decorator(PyObject *object, PyObject *const *args, size_t flags,
                                PyObject *names)
{
    if (PyVectorcall_NARGS(flags) == 1 && (!names || !PyTuple_GET_SIZE(names)))
        return kymo__span_decorate(object, args[0]);
    return PyErr_Format(PyExc_TypeError,
                        "a span decorator takes one positional argument, the function");
}

PyObject *kymo__span_sub_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                             PyObject *Py_UNUSED(names))
{
    PyObject *name = PyUnicode_FromString(""); /* until it is initialised */
    struct span *self = name ? (struct span *)type->tp_alloc(type, 0) : NULL;
    if (!self) {
        Py_XDECREF(name);
        return NULL;
    }
    self->call = call_decorator;
    self->name = name;
    return (PyObject *)self;
}

/* Give SELF another NAME and TEXTS, references that this takes. */
static void change_texts(struct span *self, PyObject *name, PyObject *texts)
{
    PyObject *old_name = self->name, *old_texts = self->texts;
    self->name = name;
    self->texts = texts;
    __atomic_store_n(&self->key_session, 0u, __ATOMIC_RELEASE);
#ifdef Py_GIL_DISABLED
    (void)old_name; /* another thread may be using them: they stay */
    (void)old_texts;
#else
    Py_DECREF(old_name);
    Py_XDECREF(old_texts);
#endif
}

/* Take over name and texts of a plain span, made from the same arguments. */
int kymo__span_sub_init(PyObject *object, PyObject *args, PyObject *names)
{
    struct span *self = (struct span *)object;
    PyTypeObject *plain = kymo__span_core(Py_TYPE(object))->span_type;
    PyObject *made = PyObject_Call((PyObject *)plain, args, names);
    if (!made)
        return -1;
    if (!Py_IS_TYPE(made, plain)) { /* a decorated function */
        Py_DECREF(made);
        PyErr_Format(PyExc_TypeError, "%.100s needs a name, a str", Py_TYPE(object)->tp_name);
        return -1;
    }
    const struct span *from = (struct span *)made;
    change_texts(self, Py_NewRef(from->name), Py_XNewRef(from->texts));
    Py_DECREF(made);
    return 0;
}

int kymo__span_set_name(PyObject *object, PyObject *name, void *Py_UNUSED(closure))
{
    struct span *self = (struct span *)object;
    PyTypeObject *plain = kymo__span_core(Py_TYPE(object))->span_type;
    if (!name || !PyUnicode_Check(name) || Py_IS_TYPE(object, plain)) {
        PyErr_SetString(name && PyUnicode_Check(name) ? PyExc_AttributeError : PyExc_TypeError,
                        "the name of a span is a str that only subclasses can change");
        return -1;
    }
    PyObject *texts = NULL;
    if (self->texts) {
        PyObject *rest = PyTuple_GetSlice(self->texts, 1, PyTuple_GET_SIZE(self->texts));
        PyObject *first = rest ? PyTuple_Pack(1, name) : NULL;
        texts = first ? PySequence_Concat(first, rest) : NULL;
        Py_XDECREF(first);
        Py_XDECREF(rest);
        if (!texts)
            return -1;
    }
    change_texts(self, Py_NewRef(name), texts);
    return 0;
}

PyObject *kymo__span_enter_again(PyObject *object)
{
    struct span *self = (struct span *)object;
    PyObject *module = ((PyHeapTypeObject *)kymo__span_core(Py_TYPE(object))->span_type)->ht_module;
    if (!self->inner && !(self->inner = PyList_New(0)))
        return NULL;
    PyObject *span = kymo__span_like(module, object);
    PyObject *entered = span ? PyObject_CallNoArgs(span) : NULL;
    int rc = entered ? PyList_Append(self->inner, span) : -1;
    Py_XDECREF(entered);
    Py_XDECREF(span);
    return rc < 0 ? NULL : Py_NewRef(object);
}

PyObject *kymo__span_exit_again(PyObject *object)
{
    struct span *self = (struct span *)object;
    Py_ssize_t last = PyList_GET_SIZE(self->inner) - 1;
    PyObject *span = PySequence_GetItem(self->inner, last);
    if (!span || PySequence_DelItem(self->inner, last) < 0) {
        Py_XDECREF(span);
        return NULL;
    }
    PyObject *none[] = {Py_None, Py_None, Py_None};
    PyObject *result = PyObject_Vectorcall(span, none, 3, NULL);
    Py_DECREF(span);
    return result;
}
