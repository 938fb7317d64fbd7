/* named.c — see named.h.

   An object's entry is in the table of keys.h under its address, and is removed when the object
   dies: a weak reference with a callback reports that. Objects without weak references are kept
   alive until the session ends. */
#include "named.h"

#include "core.h"
#include "tracer.h"

/* All of this belongs to the running session; the GIL protects it. */
static PyObject *named_code;   /* owned */
static PyObject *watched_code; /* owned */
static PyObject *prefix;       /* owned str */

static PyObject *counts;    /* dict: how many objects of each type have been seen */
static PyObject *witnesses; /* dict: weak references, or the objects themselves, by address */
static uint32_t number_key;

static PyObject *watcher; /* or NULL; never freed: a thread may call it while it is taken away */

bool kymo__is_named(PyObject *code)
{
    return code == named_code || code == watched_code;
}

/* Tell the watcher of SELF. No exception is set, before or after. */
static void tell_watcher(PyObject *self)
{
    PyObject *callable = __atomic_load_n(&watcher, __ATOMIC_ACQUIRE);
    if (!callable)
        return;
    Py_XDECREF(PyObject_CallOneArg(callable, self));
    PyErr_Clear();
}

/* The first argument of the running call; a new reference, or NULL. */
static PyObject *receiver(void)
{
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    PyObject *names = NULL, *self = NULL;
    if (code && kymo__is_named((PyObject *)code) && code->co_argcount > 0)
        names = KYMO_CODE_VARNAMES(code);
    if (names && PyTuple_GET_SIZE(names) > 0)
        self = kymo__frame_variable(frame, PyTuple_GET_ITEM(names, 0));
    Py_XDECREF(names);
    Py_XDECREF((PyObject *)code);
    return self;
}

static PyObject *on_death(PyObject *address, PyObject *reference)
{
    kymo__function_forget(PyLong_AsVoidPtr(address));
    if (witnesses && PyDict_GetItemWithError(witnesses, address) == reference)
        PyDict_DelItem(witnesses, address);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyMethodDef on_death_def = {"kymo_forget", on_death, METH_O, NULL};

/* Make sure that the address of SELF is forgotten when it dies. 0, or -1 with an exception. */
static int watch_callable(PyObject *self)
{
    PyObject *address = PyLong_FromVoidPtr(self);
    PyObject *callback = address ? PyCFunction_New(&on_death_def, address) : NULL;
    PyObject *witness = callback ? PyWeakref_NewRef(self, callback) : NULL;
    if (callback && !witness && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        witness = Py_NewRef(self);
    }
    int rc = witness ? PyDict_SetItem(witnesses, address, witness) : -1;
    Py_XDECREF(address);
    Py_XDECREF(callback);
    Py_XDECREF(witness);
    return rc;
}

/* How many objects of that type were seen before SELF, or -1 with an exception. */
static long count_of(PyObject *name)
{
    PyObject *count = PyDict_GetItemWithError(counts, name);
    if (!count && PyErr_Occurred())
        return -1;
    long before = count ? PyLong_AsLong(count) : 0;
    PyObject *after = PyLong_FromLong(before + 1);
    int rc = after ? PyDict_SetItem(counts, name, after) : -1;
    Py_XDECREF(after);
    return rc < 0 ? -1 : before;
}

/* Add an entry for SELF, which has none; NULL when there is no room, or with an exception. */
static const struct function *add_callable(PyObject *self)
{
    PyObject *type_name = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "__name__");
    long number = type_name && PyUnicode_Check(type_name) ? count_of(type_name) : -1;
    PyObject *name =
        number < 0 ? NULL : PyUnicode_FromFormat("%U%U_%ld", prefix, type_name, number);
    PyObject *owner = NULL;
    const char *utf8 = name ? kymo__text_utf8(name, &owner) : NULL;
    uint32_t key = 0;
    if (utf8 && watch_callable(self) == 0) {
        struct kymo_function function = {
            .size = sizeof function, .name = utf8, .kind = KYMO_CLASS_FUNCTION};
        key = kymo_function_key(&function);
    }
    Py_XDECREF(owner);
    Py_XDECREF(name);
    Py_XDECREF(type_name);
    return key ? kymo__function_insert(self, key, KYMO_NAMED | (uint32_t)number << 8) : NULL;
}

const struct function *kymo__named_entry(const struct function *f)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* an unwinding frame has its exception set */
    PyObject *self = witnesses ? receiver() : NULL;
    if (self && f->address == watched_code) {
        tell_watcher(self);
    } else if (self) {
        const struct function *known = kymo__function_find(self);
        if (!known) {
            known = add_callable(self);
            PyErr_Clear();
            tell_watcher(self);
        }
        f = known && known->key != KYMO_LEFT_OUT ? known : f;
    }
    Py_XDECREF(self);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return f;
}

void kymo__named_argument(const struct function *f)
{
    if (number_key && !kymo__is_named((PyObject *)f->address))
        kymo__trace_value(KYMO_ARG, number_key, f->slices >> 8);
}

int kymo__named_begin(PyObject *code, PyObject *watched, const char *text)
{
    kymo__named_end();
    if (!code)
        return 0;
    prefix = PyUnicode_FromString(text);
    counts = PyDict_New();
    witnesses = PyDict_New();
    number_key = kymo__name_key("Python module id", KYMO_CLASS_NAME);
    named_code = Py_NewRef(code);
    watched_code = Py_XNewRef(watched);
    return prefix && counts && witnesses ? 0 : -1;
}

void kymo__named_end(void)
{
    Py_CLEAR(named_code);
    Py_CLEAR(watched_code);
    Py_CLEAR(prefix);
    Py_CLEAR(witnesses);
    Py_CLEAR(counts);
    number_key = 0;
}

PyObject *kymo__named_watch(PyObject *Py_UNUSED(module), PyObject *callable)
{
    PyObject *new = callable == Py_None ? NULL : Py_NewRef(callable);
    __atomic_store_n(&watcher, new, __ATOMIC_RELEASE);
    Py_RETURN_NONE;
}

PyObject *kymo__named_objects(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *found = PyList_New(0), *copy = witnesses ? PyDict_Copy(witnesses) : PyDict_New();
    PyObject *address, *witness;
    Py_ssize_t at = 0;
    while (found && copy && PyDict_Next(copy, &at, &address, &witness)) {
        PyObject *object = Py_NewRef(witness);
        if (PyWeakref_Check(witness))
            Py_SETREF(object, PyObject_CallNoArgs(witness));
        if (!object || (object != Py_None && PyList_Append(found, object) < 0))
            Py_CLEAR(found);
        Py_XDECREF(object);
    }
    if (!copy)
        Py_CLEAR(found);
    Py_XDECREF(copy);
    return found;
}
