/* span.c — kymo.Span: a span as a context manager and as a decorator.

   For a with block everything is here. A decorated function calls through
   kymo/_decorate.py; the slices of generators and coroutines are marked from there with
   _enter and _leave, because a span may not stay open while its thread runs other code. */
#include <stddef.h>

#include "core.h"
#include "tracer.h"

struct span {
    PyObject ob_base;
    PyObject *name; /* owned str */
    struct kymo_span span;
    bool open;

    /* For slices: the name's key, and the session it belongs to. */
    uint32_t key, key_session;
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

/* ---- a block */

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

/* ---- the slices of a generator or coroutine */

/* The key of the name in SESSION, or 0. */
static uint32_t key_in(struct span *self, uint32_t session)
{
    if (__atomic_load_n(&self->key_session, __ATOMIC_ACQUIRE) == session)
        return self->key;
    PyObject *owner;
    const char *utf8 = kymo__text_utf8(self->name, &owner);
    uint32_t key = 0;
    if (utf8)
        key = kymo_function_key(
            &(struct kymo_function){.size = sizeof(struct kymo_function), .name = utf8});
    else
        PyErr_Clear();
    Py_XDECREF(owner);
    if (key) {
        self->key = key;
        __atomic_store_n(&self->key_session, session, __ATOMIC_RELEASE);
    }
    return key;
}

/* Record WORD, and ID with it unless that is 0, if SESSION still runs. */
static bool store(uint32_t session, uint64_t word, uint64_t id)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (!at)
        return false;
    bool same = lane->session == session;
    struct kymo_record *after = at;
    if (same)
        kymo_lane_store(after++, kymo_ticks(), word);
    if (same && id)
        kymo_lane_store(after++, id, KYMO_VALUE_WORD);
    kymo_lane_commit(lane, after);
    return same;
}

/* _enter(detail, id): a slice of ID begins. Returns what _leave wants to know. */
static PyObject *slice_enter(PyObject *object, PyObject *args)
{
    int detail;
    PyObject *id;
    if (!PyArg_ParseTuple(args, "iO!:_enter", &detail, &PyLong_Type, &id))
        return NULL;
    uint32_t session = __atomic_load_n(kymo__switch, __ATOMIC_RELAXED);
    uint32_t key = session ? key_in((struct span *)object, session) : 0;
    uint64_t word = kymo_word(KYMO_ENTER, (unsigned)detail | KYMO_HAS_ID, key);
    if (!key || !store(session, word, PyLong_AsUnsignedLongLongMask(id)))
        session = 0;
    return PyLong_FromUnsignedLong(session);
}

/* _leave(detail, entered): it ends; ENTERED is what _enter returned. */
static PyObject *slice_leave(PyObject *object, PyObject *args)
{
    int detail;
    unsigned session;
    if (!PyArg_ParseTuple(args, "iI:_leave", &detail, &session))
        return NULL;
    if (session)
        store(session,
              kymo_word(KYMO_LEAVE, (unsigned)detail, key_in((struct span *)object, session)), 0);
    Py_RETURN_NONE;
}

/* ---- a function */

static PyObject *span_call(PyObject *object, PyObject *args, PyObject *names)
{
    PyObject *function;
    if (names && PyDict_GET_SIZE(names)) {
        PyErr_SetString(PyExc_TypeError, "a span takes the function it decorates, by position");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O:Span", &function))
        return NULL;
    PyObject *module = PyImport_ImportModule("kymo._decorate");
    PyObject *result =
        module ? PyObject_CallMethod(module, "recorded", "OO", object, function) : NULL;
    Py_XDECREF(module);
    return result;
}

static PyObject *span_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<kymo.Span %R>", ((struct span *)object)->name);
}

static PyMemberDef span_members[] = {
    {"name", Py_T_OBJECT_EX, offsetof(struct span, name), Py_READONLY, "The name, a str."},
    {0},
};

static PyMethodDef span_methods[] = {
    {"__enter__", span_enter, METH_NOARGS, "Begin the span on this thread."},
    {"__exit__", (PyCFunction)(void (*)(void))span_exit, METH_FASTCALL, "End the span."},
    {"_enter", slice_enter, METH_VARARGS, NULL},
    {"_leave", slice_leave, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot span_slots[] = {
    {Py_tp_doc, "A span of the running session; made by kymo.span() for one with block, or to\n"
                "decorate a function, whose calls it then records."},
    {Py_tp_dealloc, span_dealloc},
    {Py_tp_repr, span_repr},
    {Py_tp_call, span_call},
    {Py_tp_members, span_members},
    {Py_tp_methods, span_methods},
    {0, NULL},
};

PyType_Spec kymo__span_spec = {
    .name = "kymo.Span",
    .basicsize = sizeof(struct span),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = span_slots,
};
