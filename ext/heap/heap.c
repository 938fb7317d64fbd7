/* heap.c — see heap.h. */
#include "heap.h"

#include <errno.h>

#include "births.h"
#include "core.h"
#include "objects.h"
#include "pymem.h"

static bool want_objects;
static int kept;   /* allocators that could not be put back */
static int gone;   /* allocators that someone else put back while we recorded */
static bool stale; /* the wrappers are those of a parent process */

/* Run FUNCTION with the GIL, and record nothing of what that allocates. False if there is no
   interpreter any more. */
static bool with_python(void (*function)(void))
{
    if (!kymo__python_usable())
        return false;
    bool mine = kymo_memory_enter();
    struct kymo__gil gil = kymo__gil_take();
    function();
    kymo__gil_give(gil);
    if (mine)
        kymo_memory_leave();
    return true;
}

static const struct kymo_memory_options *options_now; /* during install */

static void install_managed(void)
{
    if (want_objects)
        kymo__births_begin(options_now->stacks);
    kymo__arenas_install();
    kymo__pymem_install(options_now->mode == KYMO_MEMORY_SAMPLED);
}

static int install(void *user, const struct kymo_memory_options *options)
{
    (void)user;
    int what = 0;
    options_now = options;
    if (options->what & KYMO_MEMORY_MANAGED) {
        if (!with_python(install_managed))
            return -ECANCELED;
        what |= KYMO_MEMORY_MANAGED;
    }
    what |= (int)(options->what & KYMO_MEMORY_TRACKED); /* the library does it: hooks_track.c */
    return what;
}

static void put_back(void)
{
    gone = 0;
    kept = kymo__pymem_remove(&gone) + kymo__arenas_remove();
    stale = false;
    kymo__births_end();
}

static void heap_remove(void *user)
{
    (void)user;
    kymo__snapsignal_restore();
    if (!with_python(put_back)) {
        /* The interpreter is ending: its allocators go with it. */
        kymo__pymem_silence();
        kymo__arenas_silence();
    }
    if (gone)
        kymo_metadata("memory.missed", "another library removed Kymograph's wrappers of Python's "
                                       "allocators before the end");
    if (kept)
        kymo_metadata("memory.python",
                      "another library wraps Python's allocators: Kymograph's wrappers stay below "
                      "it and only pass calls on");
}

static uint32_t snapshot_number;

static void record_objects(void)
{
    kymo__objects_record(snapshot_number);
}

static void snapshot(void *user, uint32_t number)
{
    (void)user;
    snapshot_number = number;
    if (want_objects)
        with_python(record_objects);
}

/* Fork's handlers run before the interpreter is usable: put the allocators back later. */
static void forked(void *user)
{
    (void)user;
    kymo__pymem_silence();
    kymo__arenas_silence();
    kymo__births_forked();
    stale = true;
}

void kymo__heap_forked(void)
{
    if (!stale)
        return;
    kymo__snapsignal_restore();
    put_back();
}

static const struct kymo_memory_domain domain = {
    .size = sizeof domain,
    .name = "python",
    .install = install,
    .remove = heap_remove,
    .snapshot = snapshot,
    .forked = forked,
};

void kymo__heap_register(void)
{
    /* Another interpreter of this process may have been first; the allocators belong to all. */
    PyThreadState *thread = PyEval_SaveThread();
    (void)kymo_memory_domain_register(&domain, NULL);
    (void)kymo_memory_exclude((const void *)(uintptr_t)kymo__heap_register);
    PyEval_RestoreThread(thread);
}

void kymo__heap_want_objects(bool wanted)
{
    want_objects = wanted;
}

int kymo__memory_options_from(PyObject *tuple, struct kymo__memory_options *options)
{
    unsigned long long rate;
    struct kymo_memory_options *o = &options->core;
    *options = (struct kymo__memory_options){.core.size = sizeof *o};
    if (!PyArg_ParseTuple(tuple, "iKIIp:memory", &o->mode, &rate, &o->what, &o->stacks,
                          &options->objects))
        return -1;
    o->rate = rate;
    o->no_stacks = !o->stacks;
    o->keep_sizes = options->objects; /* so that it is known what they own */
    return 0;
}

static PyObject *memory_snapshot(PyObject *module, PyObject *text)
{
    PyObject *owner = NULL;
    const char *reason = kymo__text_utf8(text, &owner);
    if (!reason)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_memory_snapshot(reason);
    PyEval_RestoreThread(thread);
    Py_XDECREF(owner);
    if (code == KYMO_EIDLE) { /* there may be a session, of calls alone */
        PyErr_SetString(kymo__core_of_module(module)->session_error,
                        "memory is not being recorded");
        return NULL;
    }
    return code < 0 ? kymo__raise(kymo__core_of_module(module), code, NULL) : PyLong_FromLong(code);
}

/* memory_join(options): 0 if memory is now recorded in the running session, 1 if it was already, 2 if
   it was and has been stopped. */
static PyObject *memory_join(PyObject *module, PyObject *tuple)
{
    struct kymo__memory_options options;
    if (kymo__memory_options_from(tuple, &options) < 0)
        return NULL;
    kymo__heap_want_objects(options.objects);
    const uint32_t entered = kymo__memory_thread.entered;
    kymo__memory_thread.entered = 1; /* what this allocates is not the program's */
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_source_start("memory", &options.core);
    PyEval_RestoreThread(thread);
    kymo__memory_thread.entered = entered;
    if (code < 0 && code != KYMO_ERUNNING && code != -EALREADY)
        return kymo__raise(kymo__core_of_module(module), code, NULL);
    return PyLong_FromLong(code == 0 ? 0 : code == KYMO_ERUNNING ? 1 : 2);
}

/* memory_leave(): record no more memory in the running session. */
static PyObject *memory_leave(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyThreadState *thread = PyEval_SaveThread();
    (void)kymo_source_stop("memory"); /* or the session has just ended */
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

/* memory_on_signal(number): False if the program handles or ignores that signal. */
static PyObject *memory_on_signal(PyObject *module, PyObject *number)
{
    int wanted = (int)PyLong_AsLong(number);
    if (wanted == -1 && PyErr_Occurred())
        return NULL;
    int code = kymo__snapsignal_set(wanted);
    if (code == 0 || code == -EBUSY)
        return PyBool_FromLong(code == 0);
    return kymo__raise(kymo__core_of_module(module), code, NULL);
}

/* memory_kept(): how many of Python's allocators still have our wrappers, below someone else's. */
static PyObject *memory_kept(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(kept);
}

/* memory_wrapped(): how many of Python's allocators are ours now, arenas included. */
static PyObject *memory_wrapped(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(kymo__pymem_placed() + kymo__arenas_placed());
}

PyMethodDef kymo__heap_methods[] = {
    {"memory_snapshot", memory_snapshot, METH_O, "memory_snapshot(reason)"},
    {"memory_join", memory_join, METH_O, "memory_join(options)"},
    {"memory_leave", memory_leave, METH_NOARGS, "memory_leave()"},
    {"memory_on_signal", memory_on_signal, METH_O, "memory_on_signal(number)"},
    {"memory_wrapped", memory_wrapped, METH_NOARGS, "memory_wrapped()"},
    {"memory_kept", memory_kept, METH_NOARGS, "memory_kept()"},
    {0},
};
