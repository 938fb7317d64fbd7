/* greenlet_trace.c — see greenlets.h: the trace function that learns of switches, one object per
   thread. */
#include <stddef.h>
#include <string.h>

#include "greenlets.h"
#include "tracer.h"

static bool following;

struct follower {
    PyObject_HEAD vectorcallfunc call;
    PyObject *before; /* the program's trace function; owned, or NULL */
};

static PyTypeObject *follower_type;
static PyObject *module_name;          /* "greenlet" */
static __thread uint32_t hooked_epoch; /* the epoch in which this thread's trace function was set */

/* Function NAME of the module greenlet, a new reference; NULL, perhaps with an exception. It
   must be the C function that we know. */
static PyObject *greenlet_function(const char *name)
{
    PyObject *modules = module_name ? kymo__modules() : NULL; /* borrowed, as is what is in it */
    PyObject *module = modules ? PyDict_GetItemWithError(modules, module_name) : NULL;
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    if (function && !PyCFunction_Check(function))
        Py_CLEAR(function);
    return function;
}

/* Set FUNCTION, or None, as this thread's trace function; returns the previous one, or NULL with
   no exception. */
static PyObject *set_trace(PyObject *function)
{
    PyObject *set = greenlet_function("settrace");
    PyObject *before = set ? PyObject_CallOneArg(set, function) : NULL;
    Py_XDECREF(set);
    PyErr_Clear();
    return before;
}

static bool is_current(PyObject *follower)
{
    PyObject *get = greenlet_function("gettrace");
    PyObject *current = get ? PyObject_CallNoArgs(get) : NULL;
    bool same = follower ? current == follower : current && Py_IS_TYPE(current, follower_type);
    Py_XDECREF(current);
    Py_XDECREF(get);
    PyErr_Clear();
    return same;
}

static PyObject *on_switch(PyObject *self, PyObject *const *args, size_t count,
                           PyObject *Py_UNUSED(names))
{
    PyObject *before = Py_XNewRef(((struct follower *)self)->before), *result = Py_None;
    bool active = following && kymo_running();
    PyObject *pair = PyVectorcall_NARGS(count) == 2 ? args[1] : NULL;
    if (active && pair && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)
        kymo__greenlet_switched(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
    else if (!active && is_current(self))
        Py_XDECREF(set_trace(before ? before : Py_None)); /* the session is over */
    if (before)
        result = PyObject_Vectorcall(before, args, PyVectorcall_NARGS(count), NULL);
    else
        Py_INCREF(result);
    Py_XDECREF(before);
    return result;
}

static int follower_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((struct follower *)self)->before);
    return 0;
}

static int follower_clear(PyObject *self)
{
    Py_CLEAR(((struct follower *)self)->before);
    return 0;
}

static void follower_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    follower_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMemberDef follower_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct follower, call), Py_READONLY, NULL},
    {0},
};

static PyType_Slot follower_slots[] = {
    {Py_tp_members, follower_members}, {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, follower_dealloc}, {Py_tp_traverse, follower_traverse},
    {Py_tp_clear, follower_clear},     {0, NULL},
};

static PyType_Spec follower_spec = {
    .name = "kymograph._core.GreenletFollower",
    .basicsize = sizeof(struct follower),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = follower_slots,
};

static void follow_switch(void)
{
    if (!follower_type)
        follower_type = (PyTypeObject *)PyType_FromSpec(&follower_spec);
    struct follower *mine = follower_type ? PyObject_GC_New(struct follower, follower_type) : NULL;
    if (!mine)
        return;
    mine->call = on_switch;
    mine->before = NULL;
    PyObject *before = set_trace((PyObject *)mine);
    if (before != Py_None)
        mine->before = Py_XNewRef(before);
    PyObject_GC_Track(mine);
    Py_XDECREF(before);
    Py_DECREF(mine);
}

bool kymo__is_greenlet_settrace(PyObject *callable)
{
    if (!PyCFunction_Check(callable))
        return false;
    const PyCFunctionObject *function = (const PyCFunctionObject *)callable;
    PyObject *module = function->m_module;
    return strcmp(function->m_ml->ml_name, "settrace") == 0 && module && PyUnicode_Check(module) &&
           PyUnicode_CompareWithASCIIString(module, "greenlet._greenlet") == 0;
}

bool kymo__is_greenlet_module(const char *file, const char *name)
{
    static const char end[] = "/greenlet/__init__.py";
    size_t length = strlen(file);
    return strcmp(name, "<module>") == 0 && length >= sizeof end - 1 &&
           strcmp(file + length - (sizeof end - 1), end) == 0;
}

void kymo__greenlets_meet(void)
{
    if (!following)
        return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *known = greenlet_function("settrace"); /* missing while greenlet is being imported */
    if (known && !is_current(NULL)) {
        /* If ours was replaced, switches may have been missed: the next one starts anew. */
        if (hooked_epoch == kymo__epoch)
            kymo__greenlets_forget();
        follow_switch();
    }
    if (known)
        hooked_epoch = kymo__epoch;
    Py_XDECREF(known);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

void kymo__greenlets_replaced(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (following && hooked_epoch == kymo__epoch && !is_current(NULL))
        follow_switch();
    PyErr_Restore(type, value, trace);
}

void kymo__greenlets_begin(void)
{
    if (!module_name)
        module_name = PyUnicode_InternFromString("greenlet");
    PyErr_Clear();
    following = true;
}

void kymo__greenlets_pause(void)
{
    following = false;
    hooked_epoch = 0;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *get = greenlet_function("gettrace");
    PyObject *current = get ? PyObject_CallNoArgs(get) : NULL;
    if (current && follower_type && Py_IS_TYPE(current, follower_type)) {
        PyObject *before = ((struct follower *)current)->before;
        Py_XDECREF(set_trace(before ? before : Py_None));
    }
    Py_XDECREF(current);
    Py_XDECREF(get);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}
