/* floor.c — a Python extension for the benchmarks: the least a tracer of calls can cost.

   It hooks calls the way kymograph does and does nothing with them, or reads the counter once
   for every event that a tracer has to record. What kymograph costs above the second is what
   kymograph does. bench/tracer/floor.py compiles it; it is not part of the package. */
#include "compat.h"

#include <kymo/arch.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static uint64_t last; /* where the counter goes, so that reading it has a purpose */

#if KYMO_HAS_MONITORING

#define TOOL 5 /* kymograph has 4 or 3, the interpreter's profiler and others 2 */

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static PyTypeObject *callback_type;

static PyObject *on_event(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args),
                          size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    Py_RETURN_NONE;
}

static PyObject *on_event_reading(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args),
                                  size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    last = kymo__counter_read();
    Py_RETURN_NONE;
}

/* CALL is reported for Python functions too, which report themselves once more. */
static PyObject *on_call_reading(PyObject *Py_UNUSED(self), PyObject *const *args,
                                 size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    PyObject *callable = args[2];
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    if (!PyFunction_Check(callable))
        last = kymo__counter_read();
    Py_RETURN_NONE;
}

static const struct {
    const char *name;
    vectorcallfunc reading;
    bool c_call;
} events[] = {
    {"PY_START", on_event_reading, false},
    {"PY_RESUME", on_event_reading, false},
    {"PY_THROW", on_event_reading, false},
    {"PY_RETURN", on_event_reading, false},
    {"PY_YIELD", on_event_reading, false},
    {"PY_UNWIND", on_event_reading, false},
    {"CALL", on_call_reading, true},
    {"C_RETURN", on_event_reading, true},
    {"C_RAISE", on_event_reading, true},
#if KYMO_SIGNALS_COME_FIRST
    {"RAISE", on_event, false}, /* heard, and nothing to record: see enter_late in ext/ */
#endif
};
enum { EVENTS = sizeof events / sizeof events[0] };

static PyMemberDef members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct callback, call), Py_READONLY, NULL},
    {0},
};

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {
    {Py_tp_members, members},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "floor.Callback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* Register CALL for the event of that NAME; its bit, or -1 with an exception. */
static long set_callback(PyObject *monitoring, const char *name, vectorcallfunc call)
{
    PyObject *all = PyObject_GetAttrString(monitoring, "events");
    PyObject *bit = all ? PyObject_GetAttrString(all, name) : NULL;
    struct callback *callback = bit ? PyObject_New(struct callback, callback_type) : NULL;
    PyObject *before = NULL;
    if (callback) {
        callback->call = call;
        before = PyObject_CallMethod(monitoring, "register_callback", "iOO", TOOL, bit, callback);
    }
    long result = before ? PyLong_AsLong(bit) : -1;
    Py_XDECREF(before);
    Py_XDECREF(callback);
    Py_XDECREF(bit);
    Py_XDECREF(all);
    return result;
}

static PyObject *install(PyObject *monitoring, bool reading, bool c_calls)
{
    PyObject *taken = PyObject_CallMethod(monitoring, "use_tool_id", "is", TOOL, "floor");
    if (!taken)
        return NULL;
    Py_DECREF(taken);
    long bits = 0;
    for (int i = 0; i < EVENTS; i++) {
        if (events[i].c_call && !c_calls)
            continue;
        long bit = set_callback(monitoring, events[i].name, reading ? events[i].reading : on_event);
        if (bit < 0)
            return NULL;
        bits |= bit;
    }
    return PyObject_CallMethod(monitoring, "set_events", "il", TOOL, bits);
}

static PyObject *remove_all(PyObject *monitoring)
{
    PyObject *done = PyObject_CallMethod(monitoring, "set_events", "ii", TOOL, 0);
    if (!done)
        return NULL;
    Py_DECREF(done);
    return PyObject_CallMethod(monitoring, "free_tool_id", "i", TOOL);
}

static PyObject *sys_monitoring(void)
{
    PyObject *sys = PyImport_ImportModule("sys");
    PyObject *monitoring = sys ? PyObject_GetAttrString(sys, "monitoring") : NULL;
    Py_XDECREF(sys);
    return monitoring;
}

static PyObject *start_hook(bool reading, bool c_calls)
{
    PyObject *monitoring = sys_monitoring();
    PyObject *done = monitoring ? install(monitoring, reading, c_calls) : NULL;
    Py_XDECREF(monitoring);
    return done;
}

static PyObject *stop_hook(void)
{
    PyObject *monitoring = sys_monitoring();
    PyObject *done = monitoring ? remove_all(monitoring) : NULL;
    Py_XDECREF(monitoring);
    return done;
}

static int init(PyObject *Py_UNUSED(module))
{
    if (!callback_type)
        callback_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return callback_type ? 0 : -1;
}

#else /* 3.10, 3.11: the frame evaluator, or a profile function when C calls are asked for */

#include KYMO_FRAME_HEADER

static _PyFrameEvalFunction evaluator_before; /* NULL: the evaluator is not ours */

static int on_event(PyObject *Py_UNUSED(self), PyFrameObject *Py_UNUSED(frame), int Py_UNUSED(what),
                    PyObject *Py_UNUSED(arg))
{
    return 0;
}

static int on_event_reading(PyObject *Py_UNUSED(self), PyFrameObject *Py_UNUSED(frame),
                            int Py_UNUSED(what), PyObject *Py_UNUSED(arg))
{
    last = kymo__counter_read();
    return 0;
}

static PyObject *evaluate(PyThreadState *state, kymo_eval_frame *frame, int throwing)
{
    return evaluator_before(state, frame, throwing);
}

static PyObject *evaluate_reading(PyThreadState *state, kymo_eval_frame *frame, int throwing)
{
    if (kymo__eval_creates_generator(frame))
        return evaluator_before(state, frame, throwing); /* it only makes the object */
    last = kymo__counter_read();
    PyObject *result = evaluator_before(state, frame, throwing);
    last = kymo__counter_read();
    return result;
}

static PyObject *start_hook(bool reading, bool c_calls)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (c_calls || !kymo__frames_are_exact()) {
        PyEval_SetProfile(reading ? on_event_reading : on_event, NULL);
    } else {
        evaluator_before = _PyInterpreterState_GetEvalFrameFunc(interpreter);
        _PyInterpreterState_SetEvalFrameFunc(interpreter, reading ? evaluate_reading : evaluate);
    }
    Py_RETURN_NONE;
}

static PyObject *stop_hook(void)
{
    PyEval_SetProfile(NULL, NULL);
    /* What runs just now was called by ours, which therefore still needs its `before`. */
    if (evaluator_before)
        _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluator_before);
    Py_RETURN_NONE;
}

static int init(PyObject *Py_UNUSED(module))
{
    return 0;
}

#endif

static PyObject *start(PyObject *Py_UNUSED(module), PyObject *args)
{
    int reading, c_calls;
    if (!PyArg_ParseTuple(args, "pp", &reading, &c_calls))
        return NULL;
    return start_hook(reading, c_calls);
}

static PyObject *stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return stop_hook();
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, "start(reading, c_calls): hook calls until stop()"},
    {"stop", stop, METH_NOARGS, "stop(): leave everything as start() found it"},
    {0},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)init},
    KYMO_LAST_SLOTS,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "floor",
    .m_methods = methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit_floor(void);
PyMODINIT_FUNC PyInit_floor(void)
{
    return PyModuleDef_Init(&module);
}
