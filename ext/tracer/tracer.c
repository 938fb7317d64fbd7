/* tracer.c — the Python tracer as a source of the core: "python" (kymo/source.h). */
#include "tracer.h"

#include <kymo/source.h>

#include "callsites.h"
#include "core.h"
#include "interpreters.h"
#include "named.h"
#include "pyframes.h"
#include "throttle.h"

struct tracing kymo__tracing;
__thread int kymo__depth;
static bool paused;  /* the session is paused; under its lock */
static bool left;    /* in a forked child: the hooks are those of the parent's session */
static bool leaving; /* the process ends after the session */

void kymo__trace_value(unsigned kind, uint32_t key, uint64_t value)
{
    struct kymo_lane *lane;
    struct kymo_record *at = key ? kymo_lane_claim(&lane, 2) : NULL;
    if (at) {
        kymo_lane_store(at, kymo_ticks(), kymo_word(kind, 0, key));
        kymo_lane_store(at + 1, value, KYMO_VALUE_WORD);
        kymo_lane_commit(lane, at + 2);
    }
}

/* Forget the session's options; the hooks have been removed, or are taken over by a forked child. */
static void reset_options(void)
{
    if (left)
        kymo__functions_inherited();
    else
        kymo__functions_end();
    kymo__named_end();
    kymo__throttle_end();
    kymo__tracing = (struct tracing){0};
}

static int begin_tracing(const struct kymo__python_options *options)
{
    reset_options();
    paused = left = false;
    kymo__tracing = options->tracing;
    kymo__tracing.on = 1;
    kymo__tracing.lines &=
        !(options->tracing.overhead > 0); /* which counts on a record per event */
    if (!options->origin || !kymo__filters_are_of(options->origin))
        kymo__filters_use(options->filters ? *options->filters : NULL, options->origin);
    if (options->filters)
        *options->filters = NULL;
    if (kymo__functions_begin() < 0 ||
        kymo__named_begin(options->named, options->watched, options->named_prefix) < 0)
        return -1;
    if (kymo__tracing.lines)
        kymo__callsites_begin();
    kymo__frames_prepare();
    /* The hook last, so that our set-up is not recorded. */
    if (kymo__tracing.gc && kymo__collector_install() < 0)
        return -1;
    kymo__throttle_begin();
    if (kymo__hook_install() < 0) {
        kymo__collector_remove();
        return -1;
    }
    kymo__frames_begin();
    kymo__hook_began();
    kymo__interpreters_begin();
    return 0;
}

/* For a session that Python did not start, which has no options: everything. */
static const struct kymo__python_options usual = {
    .size = sizeof usual,
    .tracing = {.c_calls = 1, .gc = 1},
};

/* Do we know this Python's frame structures, which many of our files read? False with an
   exception. */
static bool can_record(void)
{
    if (!kymo__frames_known())
        PyErr_SetString(PyExc_RuntimeError,
                        "calls cannot be recorded: kymograph does not know the frames of this "
                        "Python; use --calls off, or calls=False");
    return kymo__frames_known();
}

static int tracer_start(void *user, const struct kymo_source_session *session, void **state)
{
    (void)user;
    const struct kymo__python_options *options = session->options ? session->options : &usual;
    if (!kymo__python_usable())
        return -ECANCELED;
    struct kymo__gil gil = kymo__gil_take();
    int rc = can_record() ? begin_tracing(options) : -1;
    if (rc < 0) {
        PyObject *failure = KYMO_FETCH_EXCEPTION();
        reset_options();
        if (options->failure)
            *options->failure = failure;
        else
            Py_XDECREF(failure);
    }
    kymo__gil_give(gil);
    *state = &kymo__tracing;
    return rc < 0 ? -ECANCELED : 0;
}

/* Run FUNCTION with the GIL, unless the interpreter is gone. */
static void with_python(void (*function)(void))
{
    if (!kymo__python_usable())
        return;
    struct kymo__gil gil = kymo__gil_take();
    function();
    kymo__gil_give(gil);
}

static void unhook(void)
{
    kymo__frames_pause();
    kymo__collector_remove();
    kymo__hook_remove();
}

/* The exception that prevented resuming, or NULL; the thread that called resume raises it. */
static PyObject *resume_failure;

static void hook_again(void)
{
    kymo__throttle_resume();
    kymo__frames_resume();
    if ((kymo__tracing.gc && kymo__collector_install() < 0) || kymo__hook_install() < 0)
        Py_XSETREF(resume_failure, KYMO_FETCH_EXCEPTION());
}

static void tracer_pause(void *state)
{
    (void)state;
    paused = true;
    with_python(unhook);
}

static void tracer_resume(void *state)
{
    (void)state;
    paused = false;
    with_python(hook_again);
}

static void record_collections(void)
{
    kymo__tracing.gc = 1;
    if (!paused && kymo__collector_install() < 0)
        PyErr_Clear();
}

static void tracer_collections(void *state)
{
    (void)state;
    with_python(record_collections);
}

/* In one turn with the GIL, for which busy threads may keep us waiting. */
static void stop_tracing(void)
{
    if (!paused && !leaving)
        unhook();
    kymo__interpreters_end();
}

static void tracer_stop(void *state)
{
    (void)state;
    with_python(stop_tracing);
    paused = true;
}

static void tracer_end(void *state)
{
    (void)state;
    if (leaving)
        return;
    with_python(reset_options);
    kymo__tracing = (struct tracing){0};
}

void kymo__tracer_leaves(bool leaves)
{
    bool stays = leaving && !leaves;
    leaving = leaves;
    if (!stays || kymo_running() || !kymo__tracing.on)
        return;
    unhook();
    reset_options();
}

void kymo__tracer_forked(bool recorded)
{
    if (recorded) {
        /* Most children are recorded like their parent: instrumenting all code again would cost
           more than anything else that a short one does. Nothing is recorded meanwhile. */
        left = !kymo_running() && kymo__tracing.on && kymo__hook_can_stay();
        if (left)
            return;
    }
    if ((kymo_running() && !left) || !kymo__tracing.on)
        return;
    left = false;
    kymo__collector_remove();
    kymo__hook_remove();
    reset_options();
}

/* There is no fork callback: it would run before the interpreter is usable in the child, when
   nothing in Python can be removed. kymo__tracer_forked runs later. */
static const struct kymo_source python = {
    .size = sizeof python,
    .name = "python",
    .flags = KYMO_SOURCE_OFF, /* off by default in sessions that C programs start */
    .start = tracer_start,
    .pause = tracer_pause,
    .resume = tracer_resume,
    .stop = tracer_stop,
    .end = tracer_end,
    .collections = tracer_collections,
};

void kymo__tracer_register(void)
{
    /* Another interpreter of this process may have been first; one tracer serves all. */
    PyThreadState *thread = PyEval_SaveThread();
    (void)kymo_source_register(&python, NULL);
    PyEval_RestoreThread(thread);
}

int kymo__python_options_from(PyObject *tuple, struct kymo__python_options *options,
                              struct kymo__filters **filters)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError, "calls are recorded in the main interpreter only; "
                                            "start the session there, or with calls=False");
        return -1;
    }
    struct tracing *t = &options->tracing;
    PyObject *include, *exclude, *named, *watched;
    int chosen;
    *options = (struct kymo__python_options){.size = sizeof *options, .filters = filters};
    if (!PyArg_ParseTuple(tuple, "ppiOOpd(ddddd)OOsp:python", &t->c_calls, &t->gc, &t->max_depth,
                          &include, &exclude, &chosen, &t->overhead, &t->cost, &t->c_cost,
                          &t->cost_alone, &t->own_ticks, &t->start_cost, &named, &watched,
                          &options->named_prefix, &t->lines))
        return -1;
    if ((named != Py_None && !PyCode_Check(named)) ||
        (watched != Py_None && !PyCode_Check(watched))) {
        PyErr_SetString(PyExc_TypeError, "named and watched must be code objects or None");
        return -1;
    }
    options->named = named == Py_None ? NULL : named;
    options->watched = watched == Py_None ? NULL : watched;
    options->origin = tuple;
    if (kymo__filters_are_of(tuple))
        return 0; /* a forked child begins as its parent did */
    /* The first import runs Python code, and with it pending calls and signal handlers, which must
       not happen under the session's lock. */
    PyObject *gc = t->gc ? PyImport_ImportModule("gc") : Py_NewRef(Py_None);
    if (!gc)
        return -1;
    Py_DECREF(gc);
    *filters = kymo__filters_new(include, exclude, chosen);
    return *filters ? 0 : -1;
}

static PyObject *tracing_hook(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyUnicode_FromString(kymo__hook_name());
}

/* trace_own_ticks(): the least that a callback takes, as measured by sessions with a budget. */
static PyObject *tracing_own_ticks(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyFloat_FromDouble(kymo__throttle_least_ticks());
}

static PyObject *tracing_can_throttle(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(kymo__hook_can_throttle());
}

/* Run FUNCTION of the library, which takes the GIL itself, and raise its error. */
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
    return without_gil(module, kymo_pause);
}

static PyObject *tracing_resume(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    PyObject *done = without_gil(module, kymo_resume), *error = resume_failure;
    if (!done || !error)
        return done;
    resume_failure = NULL;
    Py_DECREF(done);
    Py_XDECREF(without_gil(module, kymo_pause)); /* so that the caller can try again */
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
    return NULL;
}

/* trace_renew(): this thread's open calls begin again, with the lines they are at now. */
static PyObject *tracing_renew(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (kymo__tracing.lines && !paused)
        kymo__frames_renew();
    Py_RETURN_NONE;
}

PyMethodDef kymo__tracing_methods[] = {
    {"pause", tracing_pause, METH_NOARGS,
     "pause($module, /)\n--\n\n"
     "Pause the session's sources, including calls and samples; marks are still recorded.\n\n"
     "Raises SessionError if no session is running."},
    {"resume", tracing_resume, METH_NOARGS,
     "resume($module, /)\n--\n\n"
     "Resume the session's sources after pause; frames open at that time are read again.\n\n"
     "Raises SessionError if no session is running, and RuntimeError if calls cannot be recorded:\n"
     "then the session is still paused."},
    {"trace_renew", tracing_renew, METH_NOARGS, "trace_renew()"},
    {"trace_own_ticks", tracing_own_ticks, METH_NOARGS, "trace_own_ticks()"},
    {"named_watch", kymo__named_watch, METH_O, "named_watch(callable)"},
    {"named_objects", kymo__named_objects, METH_NOARGS, "named_objects()"},
    {"trace_hook", tracing_hook, METH_NOARGS, "trace_hook()"},
    {"trace_can_throttle", tracing_can_throttle, METH_NOARGS, "trace_can_throttle()"},
    {0},
};
