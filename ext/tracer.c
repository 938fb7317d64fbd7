/* tracer.c — the Python tracer as the core knows it (kymo/source.h). */
#include "tracer.h"

#include <kymo/source.h>

#include "core.h"
#include "named.h"
#include "throttle.h"
#include "thunks.h"

struct tracing kymo__tracing;
__thread int kymo__depth;

void kymo__trace_argument(uint32_t key, uint64_t value)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (at) {
        kymo_lane_store(at, kymo_ticks(), kymo_word(KYMO_ARG, 0, key));
        kymo_lane_store(at + 1, value, KYMO_VALUE_WORD);
        kymo_lane_commit(lane, at + 2);
    }
}

/* What went wrong in create, for the thread that called kymo_start to raise. */
static PyObject *failure;

/* The callables that get thunks; a list, owned, or NULL. */
static PyObject *thunk_list;

static int begin(void)
{
    if (kymo__functions_watch() < 0 || kymo__functions_begin() < 0 || kymo__named_begin() < 0)
        return -1;
    kymo__frames_prepare();
    /* The hook last: what it takes to set up is not the program's doing. */
    if (kymo__tracing.gc && kymo__collector_install() < 0)
        return -1;
    if (kymo__tracing.overhead > 0)
        kymo__throttle_begin();
    if ((kymo__tracing.c_calls == 2 && kymo__thunks_install(thunk_list) < 0) ||
        kymo__hook_install() < 0) {
        kymo__thunks_remove();
        kymo__collector_remove();
        return -1;
    }
    kymo__frames_begin();
    kymo__hook_began();
    return 0;
}

static void *tracer_create(void *user, struct kymo_queue *queue)
{
    (void)user;
    (void)queue; /* calls are recorded into lanes, with their names */
    if (!kymo__tracing.wanted)
        return NULL;
    PyGILState_STATE gil = PyGILState_Ensure();
    int rc = begin();
    if (rc < 0) {
        kymo__functions_end();
        kymo__throttle_end();
        failure = KYMO_FETCH_EXCEPTION();
    }
    PyGILState_Release(gil);
    return rc < 0 ? NULL : &kymo__tracing;
}

/* Run FUNCTION with the GIL, unless there is no interpreter left. */
static void with_python(void (*function)(void))
{
    if (!Py_IsInitialized() || KYMO_FINALIZING())
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    function();
    PyGILState_Release(gil);
}

static void unhook(void)
{
    kymo__frames_pause();
    kymo__collector_remove();
    kymo__thunks_remove();
    kymo__hook_remove();
}

static void hook_again(void)
{
    if (kymo__tracing.c_calls == 2 && kymo__thunks_install(thunk_list) < 0)
        PyErr_WriteUnraisable(NULL);
    kymo__throttle_resume();
    kymo__frames_resume();
    if ((kymo__tracing.gc && kymo__collector_install() < 0) || kymo__hook_install() < 0)
        PyErr_WriteUnraisable(NULL);
}

static void tracer_stop(void *state)
{
    (void)state;
    with_python(unhook);
}

static void tracer_restart(void *state)
{
    (void)state;
    with_python(hook_again);
}

static void forget_thunks(void)
{
    Py_CLEAR(thunk_list);
}

static void tracer_destroy(void *state)
{
    (void)state;
    with_python(kymo__functions_end);
    with_python(forget_thunks);
    with_python(kymo__named_end);
    kymo__throttle_end();
    kymo__tracing.wanted = 0;
}

static const struct kymo_tracer tracer = {
    .size = sizeof tracer,
    .name = "Python",
    .create = tracer_create,
    .stop = tracer_stop,
    .restart = tracer_restart,
    .destroy = tracer_destroy,
};

void kymo__tracer_register(void)
{
    /* Another interpreter of this process may have been first; one tracer serves all. */
    (void)kymo_tracer_register(&tracer, NULL);
}

/* trace(c_calls, gc, max_depth, overhead, cost, c_cost, cost_alone): the session that this thread
   starts next is traced. */
static PyObject *tracing_want(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct tracing wanted = {.wanted = 1};
    if (!PyArg_ParseTuple(args, "iii|dddd:trace", &wanted.c_calls, &wanted.gc, &wanted.max_depth,
                          &wanted.overhead, &wanted.cost, &wanted.c_cost, &wanted.cost_alone))
        return NULL;
    if (!kymo_running())
        kymo__tracing = wanted;
    Py_RETURN_NONE;
}

/* trace_thunks(list): the callables that get thunks when c_calls is 2. */
static PyObject *tracing_thunks(PyObject *Py_UNUSED(module), PyObject *list)
{
    if (!PyList_Check(list))
        return PyErr_Format(PyExc_TypeError, "trace_thunks() takes a list");
    if (!kymo_running())
        Py_XSETREF(thunk_list, Py_NewRef(list));
    Py_RETURN_NONE;
}

/* trace_failure(): raise what kept the tracer from starting, if anything did. */
static PyObject *tracing_failure(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *error = failure;
    failure = NULL;
    if (!error)
        Py_RETURN_NONE;
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
    return NULL;
}

static PyObject *tracing_hook(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyUnicode_FromString(kymo__hook_name());
}

static PyObject *tracing_can_throttle(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(kymo__hook_can_throttle());
}

/* Run FUNCTION of the library, which takes the GIL itself, and raise what it says. */
static PyObject *without_gil(PyObject *module, int (*function)(void))
{
    PyThreadState *thread = PyEval_SaveThread();
    int code = function();
    PyEval_RestoreThread(thread);
    if (code < 0)
        return kymo__raise(kymo__core_of_module(module), code, NULL);
    Py_RETURN_NONE;
}

static PyObject *tracing_pause(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    return without_gil(module, kymo_tracer_pause);
}

static PyObject *tracing_resume(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    return without_gil(module, kymo_tracer_resume);
}

PyMethodDef kymo__tracing_methods[] = {
    {"pause", tracing_pause, METH_NOARGS,
     "pause($module, /)\n--\n\n"
     "Stop recording calls, until resume; marks are still recorded.\n\n"
     "Raises SessionError when no session runs."},
    {"resume", tracing_resume, METH_NOARGS,
     "resume($module, /)\n--\n\n"
     "Record calls again, after pause; the frames open by then are read anew.\n\n"
     "Raises SessionError when no session runs."},
    {"trace", tracing_want, METH_VARARGS,
     "trace(c_calls, gc, max_depth, overhead=0, cost=0, c_cost=0, cost_alone=0)"},
    {"trace_failure", tracing_failure, METH_NOARGS, "trace_failure()"},
    {"trace_thunks", tracing_thunks, METH_O, "trace_thunks(list)"},
    {"trace_named", kymo__named_set, METH_VARARGS, "trace_named(code, prefix)"},
    {"trace_hook", tracing_hook, METH_NOARGS, "trace_hook()"},
    {"trace_can_throttle", tracing_can_throttle, METH_NOARGS, "trace_can_throttle()"},
    {"trace_filter", kymo__filter_set, METH_VARARGS, "trace_filter(include, exclude)"},
    {0},
};
