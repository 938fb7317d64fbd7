/* hook_monitoring.c — record calls with sys.monitoring: 3.12 and later.

   The callbacks are objects of our own type with a vectorcall slot, one object per kind of event,
   so that dispatch is free and nothing is unpacked. Uses tool 4, or 3 if that is taken; never 2,
   which the interpreter's own profiler and other tools compete for. */
#include "tracer.h"

#if KYMO_HAS_MONITORING

#include <stddef.h>
#include <stdlib.h>

#include "core.h"
#include "hook_events.h"
#include "throttle.h"
#include "unseen.h"

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static PyTypeObject *callback_type;
static PyObject *monitoring; /* sys.monitoring, while installed */
static PyObject *disable;    /* sys.monitoring.DISABLE */
static PyObject *get_events; /* and get_events with its argument, for forked children */
static PyObject *tool_id;
static int tool = -1;
static struct {
    long events; /* as get_events returned them then: not all that were asked for are among them */
    vectorcallfunc calls[EVENTS];
} installed; /* while `tool` is ours */

static int discard(PyObject *result)
{
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* What was switched off since events were last restarted. Restarting also re-enables what other
   tools switched off, so it is skipped if the next session would switch off the same. */
static struct {
    bool any, by_budget;
    unsigned filters; /* the version of the filters that caused it */
} disabled;

PyObject *kymo__switch_off(void)
{
    disabled.any = true;
    disabled.by_budget |= kymo__throttling();
    disabled.filters = kymo__filter_version;
    return Py_NewRef(disable);
}

/* 0, or -1 with an exception. */
static int switch_on_again(void)
{
    if (!disabled.any || (!disabled.by_budget && disabled.filters == kymo__filter_version))
        return 0;
    disabled.any = disabled.by_budget = false;
    return discard(PyObject_CallMethod(monitoring, "restart_events", NULL));
}

/* The next user of our tool id would not see locations that we switched off. Switch them all on
   again, unless that would affect another tool. */
static void leave_none_off(void)
{
    bool alone = disabled.any;
    for (int id = 0; id < 6 && alone; id++) {
        PyObject *user =
            id == tool ? Py_NewRef(Py_None) : PyObject_CallMethod(monitoring, "get_tool", "i", id);
        alone = user == Py_None;
        Py_XDECREF(user);
    }
    if (alone && discard(PyObject_CallMethod(monitoring, "restart_events", NULL)) == 0)
        disabled.any = disabled.by_budget = false;
    PyErr_Clear();
}

static const char *const event_names[EVENTS] = {
    [EVENT_START] = "PY_START",   [EVENT_RESUME] = "PY_RESUME", [EVENT_THROW] = "PY_THROW",
    [EVENT_RETURN] = "PY_RETURN", [EVENT_YIELD] = "PY_YIELD",   [EVENT_UNWIND] = "PY_UNWIND",
    [EVENT_RAISE] = "RAISE",      [EVENT_CALL] = "CALL",        [EVENT_C_RETURN] = "C_RETURN",
    [EVENT_C_RAISE] = "C_RAISE",
};

/* Is EVENT asked for? */
static bool is_wanted(enum event event)
{
    if (event == EVENT_RAISE)
        return KYMO_SIGNALS_COME_FIRST;
    return event < EVENT_CALL || kymo__tracing.c_calls;
}

static vectorcallfunc callback_for(enum event event)
{
    if (kymo__throttling())
        return kymo__budget_callbacks[event];
    if (event == EVENT_CALL && kymo__filter_chosen)
        return kymo__call_filtered;
    return kymo__callbacks[event];
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct callback, call), Py_READONLY, NULL},
    {0},
};

static void callback_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot callback_slots[] = {
    {Py_tp_members, callback_members},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, callback_dealloc},
    {0, NULL},
};

static PyType_Spec callback_spec = {
    .name = "kymograph._core.Callback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

int kymo__hook_init(PyObject *module)
{
    (void)module;
    if (!callback_type)
        callback_type = (PyTypeObject *)PyType_FromSpec(&callback_spec);
    return callback_type ? 0 : -1;
}

const char *kymo__hook_name(void)
{
    return "sys.monitoring";
}

/* Register CALLBACK, or None, for EVENT; returns the event's bit, or -1. */
static long set_callback(const char *event, PyObject *callback)
{
    PyObject *all = PyObject_GetAttrString(monitoring, "events");
    PyObject *bit = all ? PyObject_GetAttrString(all, event) : NULL;
    PyObject *before =
        bit ? PyObject_CallMethod(monitoring, "register_callback", "iOO", tool, bit, callback)
            : NULL;
    long result = before ? PyLong_AsLong(bit) : -1;
    Py_XDECREF(before);
    Py_XDECREF(bit);
    Py_XDECREF(all);
    return result;
}

static int set_events(long bits)
{
    return discard(PyObject_CallMethod(monitoring, "set_events", "il", tool, bits));
}

/* Take tool 4 or 3. */
static int take_tool(void)
{
    for (int id = 4; id >= 3; id--) {
        if (discard(PyObject_CallMethod(monitoring, "use_tool_id", "is", id, "kymograph")) == 0) {
            tool = id;
            return 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError,
                    "sys.monitoring has no free tool: 3 and 4 are both taken by other tools");
    return -1;
}

bool kymo__hook_can_throttle(void)
{
    return true;
}

bool kymo__hook_can_drop_c_calls(void)
{
    return false;
}

bool kymo__hook_can_stay(void)
{
    return true;
}

/* The events that are on for our tool; negative with an exception. */
static long events_now(void)
{
    PyObject *events = PyObject_CallOneArg(get_events, tool_id);
    long bits = events ? PyLong_AsLong(events) : -1;
    Py_XDECREF(events);
    return bits;
}

/* Is everything that install would do in place already? So it is in a child that was forked from a
   process with a session of the same kind, unless somebody else has changed it. */
static bool is_installed(void)
{
    if (tool < 0)
        return false;
    for (enum event i = 0; i < EVENTS; i++)
        if (installed.calls[i] != (is_wanted(i) ? callback_for(i) : NULL))
            return false;
    bool same = events_now() == installed.events;
    PyErr_Clear();
    return same;
}

static void remove_hook(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (tool >= 0) {
        set_events(0);
        for (enum event i = 0; i < EVENTS; i++) {
            PyErr_Clear();
            set_callback(event_names[i], Py_None);
        }
        PyErr_Clear();
        leave_none_off();
        discard(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool));
        tool = -1;
    }
    PyErr_Clear();
    Py_CLEAR(disable);
    Py_CLEAR(get_events);
    Py_CLEAR(tool_id);
    Py_CLEAR(monitoring);
    PyErr_Restore(type, value, trace);
}

static int install_hook(void)
{
    if (is_installed()) {
        kymo__places_begin();
        return switch_on_again();
    }
    if (tool >= 0)
        remove_hook();
    long bits = 0;
    PyObject *sys = PyImport_ImportModule("sys");
    monitoring = sys ? PyObject_GetAttrString(sys, "monitoring") : NULL;
    Py_XDECREF(sys);
    disable = monitoring ? PyObject_GetAttrString(monitoring, "DISABLE") : NULL;
    get_events = monitoring ? PyObject_GetAttrString(monitoring, "get_events") : NULL;
    if (!disable || !get_events || take_tool() < 0 || !(tool_id = PyLong_FromLong(tool)))
        goto fail;
    for (enum event i = 0; i < EVENTS; i++) {
        installed.calls[i] = is_wanted(i) ? callback_for(i) : NULL;
        if (!installed.calls[i])
            continue;
        struct callback *callback = PyObject_New(struct callback, callback_type);
        if (!callback)
            goto fail;
        callback->call = installed.calls[i];
        long bit = set_callback(event_names[i], (PyObject *)callback);
        Py_DECREF(callback);
        if (bit < 0)
            goto fail;
        bits |= bit;
    }
    kymo__places_begin();
    if (switch_on_again() < 0 || set_events(bits) < 0)
        goto fail;
    installed.events = events_now();
    if (installed.events < 0)
        goto fail;
    return 0;
fail:
    remove_hook();
    return -1;
}

/* Without a GIL, most of what these call stops all threads. */

int kymo__hook_install(void)
{
    kymo__fork_gate_enter();
    int rc = install_hook();
    kymo__fork_gate_leave();
    return rc;
}

void kymo__hook_remove(void)
{
    kymo__fork_gate_enter();
    remove_hook();
    kymo__fork_gate_leave();
}

void kymo__hook_began(void) {}

void kymo__hook_frames_recorded(bool entering, size_t expected)
{
    const struct _PyInterpreterFrame *innermost = KYMO_CURRENT_FRAME(), **frames = NULL;
    size_t count = 0;
    for (const struct _PyInterpreterFrame *frame = innermost; frame; frame = frame->previous)
        count++;
    if (!count || !(frames = malloc(count * sizeof *frames)))
        return;
    size_t next = 0;
    for (const struct _PyInterpreterFrame *frame = innermost; frame; frame = frame->previous)
        if (frame->owner < KYMO_OWNED_BY_NOBODY)
            frames[next++] = frame;
    for (size_t known = 0; next-- > (size_t)entering && (!expected || known < expected);) {
        PyObject *code = (PyObject *)(uintptr_t)KYMO_FRAME_CODE(frames[next]);
        if (kymo__function_of(code)->key == KYMO_LEFT_OUT)
            continue;
        kymo__throttle_open(code, frames[next], expected);
        known++;
    }
    free(frames);
}

void *kymo__hook_stack_take(void *before)
{
    kymo__unseen_end();
    return before;
}

void kymo__hook_stack_give(const void *Py_UNUSED(taken), bool Py_UNUSED(started)) {}

#endif
