/* loops.c — see loops.h. */
#include "loops.h"

#include <string.h>
#include <time.h>

#include <kymo/lane.h>

#include "ccalls.h"
#include "core.h"
#include "keys.h"
#include "tasks.h"
#include "tracer.h"

enum { BLOCKED_NS = 10000000 };

/* 3.10 has no qualified names of code. */
bool kymo__loop_is_scheduler(const char *file, const char *name)
{
    return kymo__ends_with(name, "_call_soon") && kymo__ends_with(file, "/asyncio/base_events.py");
}

bool kymo__loop_is_runner(const char *file, const char *name)
{
    return (strcmp(name, "_run") == 0 || strcmp(name, "Handle._run") == 0) &&
           kymo__ends_with(file, "/asyncio/events.py");
}

/* The task of which CALLBACK is a step, new; or NULL. Either it begins or repeats a step, or it is
   what a future calls that the task awaits. */
static PyObject *task_stepped(PyObject *callback)
{
    static PyTypeObject *step_type;
    static PyObject *self_name;
    if (Py_IS_TYPE(callback, &PyCFunction_Type)) {
        const PyCFunctionObject *function = (const PyCFunctionObject *)callback;
        bool wakes = function->m_self && strcmp(function->m_ml->ml_name, "task_wakeup") == 0;
        return wakes ? Py_NewRef(function->m_self) : NULL;
    }
    if (!Py_IS_TYPE(callback, step_type)) {
        if (!kymo__ends_with(Py_TYPE(callback)->tp_name, "TaskStepMethWrapper"))
            return NULL;
        step_type = Py_TYPE(callback);
    }
    if (!self_name)
        self_name = PyUnicode_InternFromString("__self__");
    PyObject *task = self_name ? PyObject_GenericGetAttr(callback, self_name) : NULL;
    PyErr_Clear();
    return task;
}

void kymo__loop_schedules(PyObject *callback)
{
    PyObject *task = callback ? task_stepped(callback) : NULL;
    if (task)
        kymo__task_ready(task);
    Py_XDECREF(task);
}

/* ---- callbacks that take long */

static __thread struct {
    uint64_t began; /* in ticks; 0: nothing runs */
    uint32_t key;   /* the function; 0: unknown */
    uint32_t epoch;
} callback_now;

/* Names; valid for the session. */
static uint32_t blocked_key, callback_key, ns_key, unknown_key;

/* When the session began, by both clocks: ticks are converted with these and the present. */
static uint64_t ticks_then, ns_then;

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double tick_ns; /* nanoseconds per tick; 0: not measured yet */

/* Measure it. A callback that blocks makes the session long enough for that itself. */
static void measure_tick(void)
{
    uint64_t ticks = kymo_ticks() - ticks_then, ns = clock_ns() - ns_then;
    if (ticks && ns >= BLOCKED_NS)
        tick_ns = (double)ns / (double)ticks;
}

/* The key of the function that HANDLE calls, or 0. */
static uint32_t callback_of(PyObject *handle)
{
    static PyObject *callback_name;
    if (!callback_name)
        callback_name = PyUnicode_InternFromString("_callback");
    bool plain = handle && callback_name && Py_TYPE(handle)->tp_getattro == PyObject_GenericGetAttr;
    PyObject *callback = plain ? PyObject_GenericGetAttr(handle, callback_name) : NULL;
    PyErr_Clear();
    if (!callback)
        return 0;
    PyObject *function = PyMethod_Check(callback) ? PyMethod_GET_FUNCTION(callback) : callback;
    const struct function *f = NULL;
    if (PyFunction_Check(function)) {
        f = kymo__function_of(PyFunction_GET_CODE(function));
    } else {
        const void *address = kymo__callable_address(callback);
        f = address ? kymo__function_find(address) : NULL;
        if (address && !f)
            f = kymo__function_add_callable(address, callback);
    }
    uint32_t key = f && f->key != KYMO_LEFT_OUT ? f->key : 0;
    Py_DECREF(callback);
    return key;
}

void kymo__loop_runs(PyObject *handle)
{
    callback_now.key = callback_of(handle);
    callback_now.epoch = kymo__epoch;
    callback_now.began = kymo_ticks();
}

void kymo__loop_steps(uint32_t key)
{
    callback_now.key = key;
}

static void define_names(void)
{
    if (blocked_key)
        return;
    callback_key = kymo__name_key("callback", KYMO_CLASS_NAME);
    ns_key = kymo__name_key("blocked_ns", KYMO_CLASS_NAME);
    unknown_key = kymo__name_key("(unknown)", KYMO_CLASS_NAME);
    blocked_key = kymo__name_key("loop blocked", KYMO_CLASS_WAIT);
}

void kymo__loop_ran(void)
{
    uint64_t began = callback_now.began, ticks = kymo_ticks() - began;
    callback_now.began = 0;
    if (!began || callback_now.epoch != kymo__epoch)
        return;
    if (tick_ns == 0)
        measure_tick();
    double ns = (double)ticks * tick_ns;
    if (ns < BLOCKED_NS)
        return;
    define_names();
    struct kymo_lane *lane;
    struct kymo_record *at = blocked_key ? kymo_lane_claim(&lane, 5) : NULL;
    if (!at)
        return;
    uint64_t now = kymo_ticks();
    uint32_t key = callback_now.key ? callback_now.key : unknown_key;
    kymo_lane_store(at, now, kymo_word(KYMO_INSTANT, 0, blocked_key));
    kymo_lane_store(at + 1, now, kymo_word(KYMO_ARG_TEXT, 0, callback_key));
    kymo_lane_store(at + 2, key, KYMO_VALUE_WORD);
    kymo_lane_store(at + 3, now, kymo_word(KYMO_ARG, 0, ns_key));
    kymo_lane_store(at + 4, (uint64_t)ns, KYMO_VALUE_WORD);
    kymo_lane_commit(lane, at + 5);
}

void kymo__loops_reset(void)
{
    blocked_key = callback_key = ns_key = unknown_key = 0;
    tick_ns = 0;
    ticks_then = kymo_ticks();
    ns_then = clock_ns();
}
