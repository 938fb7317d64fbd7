/* span.c — kymograph.Span: a span as a context manager and as a decorator.

   Everything for a with block is here; spanmake.c makes spans. A decorated function calls through
   kymograph/_decorate.py, which marks the slices of generators and coroutines (spanslices.c),
   because a span must not stay open while its thread runs other code.

   A with statement looks up __enter__ and __exit__ and calls them. Bound methods would create two
   objects, which is most of the cost. So the lookup returns the span itself, which is then called:
   without arguments it begins, with the three arguments of __exit__ it ends. Objects of subclasses
   (spansub.c) get bound methods: their class may have a __call__ of its own. */
#include "span.h"

#include <stddef.h>

static PyObject *span_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names);
static void span_dealloc(PyObject *object);

/* Is it a span, and not of a subclass? */
static inline bool is_plain(const PyObject *object)
{
    return Py_TYPE(object)->tp_dealloc == span_dealloc;
}

/* The type itself, which TYPE is or inherits from; otherwise NULL. */
static PyTypeObject *type_of_spans(PyTypeObject *type)
{
    while (type && type->tp_dealloc != span_dealloc)
        type = type->tp_base;
    return type;
}

struct core *kymo__span_core(PyTypeObject *type)
{
    return PyType_GetModuleState(type_of_spans(type));
}

/* Spans are created for every block, so the memory of a few is kept in a list protected by the GIL;
   without a GIL nothing is kept. */
#ifdef Py_GIL_DISABLED
enum { SPARES_MOST = 0 };
#else
enum { SPARES_MOST = 16 };
#endif

/* In spare memory: pointer to the next. */
static struct span **next_of(struct span *spare)
{
    return (struct span **)(void *)&spare->name;
}

PyObject *kymo__span_new(PyObject *module, PyObject *name)
{
    struct core *core = kymo__core_of_module(module);
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "a name must be a str, not %.100s",
                            Py_TYPE(name)->tp_name);
    struct span *self;
    if (core->spare_spans) {
        self = core->spare_spans;
        core->spare_spans = *next_of(self);
        core->spare_count--;
        *self = (struct span){0};
        PyObject_Init((PyObject *)self, core->span_type);
    } else {
        self = (struct span *)core->span_type->tp_alloc(core->span_type, 0);
        if (!self)
            return NULL;
    }
    self->call = span_call;
    self->name = Py_NewRef(name);
    return (PyObject *)self;
}

PyObject *kymo__span_with(PyObject *module, PyObject *texts)
{
    bool good = PyTuple_CheckExact(texts) && PyTuple_GET_SIZE(texts) % 2 == 1 &&
                PyTuple_GET_SIZE(texts) <= KYMO__TEXTS_MOST;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(texts); i++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(texts, i)))
            return PyErr_Format(PyExc_TypeError, "a name must be a str, not %.100s",
                                Py_TYPE(PyTuple_GET_ITEM(texts, i))->tp_name);
    if (!good)
        return PyErr_Format(PyExc_TypeError, "expected a name, then pairs of name and text");
    PyObject *self = kymo__span_new(module, PyTuple_GET_ITEM(texts, 0));
    if (self)
        ((struct span *)self)->texts = Py_NewRef(texts);
    return self;
}

/* Another span with the name and the texts of OTHER. */
PyObject *kymo__span_like(PyObject *module, PyObject *other)
{
    if (!type_of_spans(Py_TYPE(other)))
        return PyErr_Format(PyExc_TypeError, "expected a kymograph.Span");
    PyObject *self = kymo__span_new(module, ((struct span *)other)->name);
    if (self)
        ((struct span *)self)->texts = Py_XNewRef(((struct span *)other)->texts);
    return self;
}

static void span_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    /* Not kymo__core_of: at interpreter exit the type may have been cleared. */
    PyObject *module = is_plain(object) ? ((PyHeapTypeObject *)type)->ht_module : NULL;
    struct core *core = SPARES_MOST > 0 && module ? kymo__core_of_module(module) : NULL;
    Py_DECREF(((struct span *)object)->name);
    Py_XDECREF(((struct span *)object)->texts);
    Py_XDECREF(((struct span *)object)->heard);
    Py_XDECREF(((struct span *)object)->inner);
    if (core && core->spare_count < SPARES_MOST) {
        *next_of((struct span *)object) = core->spare_spans;
        core->spare_spans = (struct span *)object;
        core->spare_count++;
    } else {
        type->tp_free(object);
    }
    Py_DECREF(type);
}

void kymo__spans_free(struct core *core)
{
    while (core->spare_spans) {
        struct span *spare = core->spare_spans;
        core->spare_spans = *next_of(spare);
        PyObject_Free(spare);
    }
    core->spare_count = 0;
}

/* ---- quiet */

uint32_t kymo__spans_muted;

PyObject *kymo__spans_mute(PyObject *module, PyObject *flag)
{
    (void)module;
    int mute = PyObject_IsTrue(flag);
    if (mute < 0)
        return NULL;
    uint32_t session = mute ? __atomic_load_n(kymo__switch, __ATOMIC_RELAXED) : 0;
    __atomic_store_n(&kymo__spans_muted, session, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

/* ---- begin */

static inline struct kymo_span begin_span(struct core *core, PyObject *text)
{
    struct kymo_span span = {0};
    const char *name = kymo__name_hold(core, text);
    if (name)
        span = kymo_span_begin(name);
    kymo__name_release();
    return span;
}

void kymo__span_put_texts(const char *const *names, Py_ssize_t count)
{
    for (Py_ssize_t i = 1; i < count; i += 2)
        kymo_arg_text(names[i], names[i + 1]);
}

/* Begin a span with texts. All of them are looked up first, so that nothing comes in between and
   the work does not count as the span's. Not inlined: other spans need no room for names. */
static __attribute__((noinline)) struct kymo_span begin_with(struct core *core, PyObject *texts)
{
    const char *names[KYMO__TEXTS_MOST];
    struct kymo_span span = {0};
    if (kymo__names_hold(core, texts, names)) {
        span = kymo_span_begin(names[0]);
        if (span.key)
            kymo__span_put_texts(names, PyTuple_GET_SIZE(texts));
    }
    kymo__name_release();
    return span;
}

/* ---- a block */

/* Mark the span open; returns whether it was open already. */
static inline bool open_now(struct span *self)
{
#ifdef Py_GIL_DISABLED
    return __atomic_exchange_n(&self->open, true, __ATOMIC_RELAXED);
#else
    bool before = self->open; /* guarded by the GIL: no exchange is needed */
    self->open = true;
    return before;
#endif
}

const struct kymo__span_listener *kymo__span_listener;

/* The text that record_function takes besides the name, or NULL. */
static PyObject *text_of(const struct span *self)
{
    bool has = self->texts && PyTuple_GET_SIZE(self->texts) >= 3 &&
               PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(self->texts, 1), "args") == 0;
    return has ? PyTuple_GET_ITEM(self->texts, 2) : NULL;
}

/* Entering an open span again, by recursion or on a second thread, is a bug in the program, and
   raises whether or not a session runs. */
static PyObject *span_enter(PyObject *object)
{
    struct span *self = (struct span *)object;
    if (open_now(self)) {
        if (!is_plain(object))
            return kymo__span_enter_again(object);
        PyErr_SetString(PyExc_RuntimeError,
                        "this span is open already; make one with kymograph.span() for each block");
        return NULL;
    }
    self->span = (struct kymo_span){0};
    bool recorded = false;
    if (__builtin_expect(kymo__span_listener != NULL, 0))
        self->heard = kymo__span_listener->begin(self->name, text_of(self), &recorded);
    if (!recorded && kymo__spans_session()) {
        struct core *core = kymo__span_core(Py_TYPE(object));
        self->span = __builtin_expect(self->texts != NULL, 0) ? begin_with(core, self->texts)
                                                              : begin_span(core, self->name);
    }
    return Py_NewRef(object);
}

static PyObject *span_exit(PyObject *object)
{
    struct span *self = (struct span *)object;
    if (__builtin_expect(self->inner != NULL, 0) && PyList_GET_SIZE(self->inner))
        return kymo__span_exit_again(object);
    kymo_span_end(self->span);
    self->span = (struct kymo_span){0};
    PyObject *heard = self->heard;
    self->heard = NULL;
    if (__builtin_expect(heard != NULL, 0))
        kymo__span_listener->end(heard);
    self->awaited = false;
    __atomic_store_n(&self->open, false, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

/* ---- a function */

PyObject *kymo__span_decorate(PyObject *object, PyObject *function)
{
    PyObject *module = PyImport_ImportModule("kymograph._decorate");
    PyObject *result =
        module ? PyObject_CallMethod(module, "recorded", "OO", object, function) : NULL;
    Py_XDECREF(module);
    return result;
}

/* _call_end_callbacks_on_future(future), as torch's: once for each block. */
static PyObject *span_await(PyObject *object, PyObject *future)
{
    struct span *self = (struct span *)object;
    if (self->awaited) {
        PyErr_SetString(PyExc_RuntimeError,
                        "_call_end_callbacks_on_future can only be called once.");
        return NULL;
    }
    self->awaited = true;
    PyObject *module = PyImport_ImportModule("kymograph._decorate");
    PyObject *result =
        module ? PyObject_CallMethod(module, "awaited", "OO", self->name, future) : NULL;
    Py_XDECREF(module);
    return result;
}

/* ---- what is called */

static PyObject *span_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (names && PyTuple_GET_SIZE(names))
        count = -1;
    switch (count) {
    case 0:
        return span_enter(object);
    case 1:
        return kymo__span_decorate(object, args[0]);
    case 3:
        return span_exit(object);
    default:
        PyErr_SetString(PyExc_TypeError,
                        "a span decorator takes one positional argument, the function");
        return NULL;
    }
}

/* The type's __enter__ and __exit__: an object that returns the span itself when looked up on a
   span, and begins or ends it when looked up on the type or on an object of a subclass. */
static PyObject *method_get(PyObject *self, PyObject *span, PyObject *Py_UNUSED(type))
{
    if (__builtin_expect(span && !is_plain(span), 0))
        return PyMethod_New(self, span);
    return Py_NewRef(span ? span : self);
}

static PyObject *method_call(PyObject *Py_UNUSED(self), PyObject *args, PyObject *names)
{
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    PyObject *span = count ? PyTuple_GET_ITEM(args, 0) : NULL;
    if (!span || !type_of_spans(Py_TYPE(span)))
        return PyErr_Format(PyExc_TypeError, "expected a kymograph.Span");
    if ((names && PyDict_GET_SIZE(names)) || (count != 1 && count != 4))
        return PyErr_Format(PyExc_TypeError,
                            "__enter__ takes no arguments, and __exit__ takes three");
    return count == 1 ? span_enter(span) : span_exit(span);
}

static PyType_Slot method_slots[] = {
    {Py_tp_descr_get, method_get},
    {Py_tp_call, method_call},
    {0, NULL},
};

static PyType_Spec method_spec = {
    .name = "kymograph._core.SpanMethod",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = method_slots,
};

int kymo__span_init(PyTypeObject *span_type)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&method_spec);
    PyObject *method = type ? type->tp_alloc(type, 0) : NULL;
    Py_XDECREF(type);
    int rc = method ? PyDict_SetItemString(span_type->tp_dict, "__enter__", method) : -1;
    if (rc == 0)
        rc = PyDict_SetItemString(span_type->tp_dict, "__exit__", method);
    PyType_Modified(span_type);
    /* Not tp_new: with blocks create spans all the time, and this needs no argument tuple. */
    span_type->tp_vectorcall = kymo__span_make;
    Py_XDECREF(method);
    return rc;
}

static PyObject *span_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<kymograph.Span %R>", ((struct span *)object)->name);
}

static PyMemberDef span_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct span, call), Py_READONLY, NULL},
    {0},
};

static PyObject *span_has_texts(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((struct span *)object)->texts != NULL);
}

static PyObject *span_name(PyObject *object, void *Py_UNUSED(closure))
{
    return Py_NewRef(((struct span *)object)->name);
}

static PyObject *span_args(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *text = text_of((struct span *)object);
    return Py_NewRef(text ? text : Py_None);
}

static PyGetSetDef span_getset[] = {
    {"name", span_name, kymo__span_set_name, "The name, a str.", NULL},
    {"args", span_args, NULL, "The text given besides the name, or None.", NULL},
    {"_has_texts", span_has_texts, NULL, NULL, NULL},
    {0},
};

static PyMethodDef span_methods[] = {
    {"_enter", kymo__span_slice_enter, METH_VARARGS, NULL},
    {"_leave", kymo__span_slice_leave, METH_VARARGS, NULL},
    {"_call_end_callbacks_on_future", span_await, METH_O, NULL},
    {0},
};

static PyType_Slot span_slots[] = {
    {Py_tp_doc,
     "Span(name, args=None, **texts)\n--\n\n"
     "A context manager: the span begins and ends with the block, on this thread. Also a\n"
     "decorator that records the calls of a function; without parentheses the span has the\n"
     "function's name. Keyword arguments are recorded with it, as text."},
    {Py_tp_dealloc, span_dealloc},
    {Py_tp_new, kymo__span_sub_new},
    {Py_tp_init, kymo__span_sub_init},
    {Py_tp_repr, span_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, span_members},
    {Py_tp_methods, span_methods},
    {Py_tp_getset, span_getset},
    {0, NULL},
};

PyType_Spec kymo__span_spec = {
    .name = "kymograph.Span",
    .basicsize = sizeof(struct span),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = span_slots,
};
