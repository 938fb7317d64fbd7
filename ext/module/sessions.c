/* sessions.c — sessions from Python: start, stop, statistics, flight recorder. */
#include "core.h"
#include "heap.h"
#include "marks.h"
#include "methods.h"
#include "reading.h"
#include "torchsource.h"
#include "tracer.h"

#include <kymo/memory.h>
#include <kymo/source.h>

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static int policy_from(const char *word)
{
    if (strcmp(word, "help") == 0)
        return KYMO_HELP;
    if (strcmp(word, "drop") == 0)
        return KYMO_DROP;
    PyErr_Format(PyExc_ValueError, "policy must be \"help\" or \"drop\", not \"%s\"", word);
    return -1;
}

/* Protects core->session_path: another thread may start a session right after. */
KYMO_SECTION(path_section);

/* Remember that PATH is being recorded; takes its reference. */
static void path_set(struct core *core, PyObject *path)
{
    KYMO_SECTION_LOCK(path_section);
    PyObject *before = core->session_path;
    core->session_path = path;
    KYMO_SECTION_UNLOCK(path_section);
    Py_XDECREF(before);
}

/* A new reference, or NULL when Python started no session. */
static PyObject *path_get(struct core *core)
{
    KYMO_SECTION_LOCK(path_section);
    PyObject *path = Py_XNewRef(core->session_path);
    KYMO_SECTION_UNLOCK(path_section);
    return path;
}

/* What runs with the library's session lock may take the GIL, so wait for that lock without the
   GIL. */
static int start_waiting(const struct kymo_options *options, PyObject *const *failure)
{
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_start(options);
    if (code == 0 && *failure)
        kymo_stop();
    PyEval_RestoreThread(thread);
    return code;
}

static int stop_waiting(void)
{
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_stop();
    PyEval_RestoreThread(thread);
    return code;
}

static int stop_before_exit(void)
{
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_stop_before_exit();
    PyEval_RestoreThread(thread);
    return code;
}

static int stop_at_once(void)
{
    int code = kymo_stop_at_once();
    return code == -EBUSY ? stop_waiting() : code;
}

static int start_at_once(const struct kymo_options *options, PyObject *const *failure)
{
    int code = kymo_start_at_once(options);
    if (code == 0 && *failure)
        stop_at_once();
    return code;
}

typedef int (*starter)(const struct kymo_options *options, PyObject *const *failure);

/* Start the session of OPTIONS with START, which ends it again after a failure. Options of the
   tracer are in PYTHON and of the memory tracer in MEMORY, tuples or None; OPS is the mode of the
   torch source. Returns 0, a negative code, or 1 with an exception. */
static int start_with(starter start, struct kymo_options *options, PyObject *python,
                      PyObject *memory, int ops)
{
    struct kymo__filters *filters = NULL;
    struct kymo__python_options own = {0};
    struct kymo__memory_options heap = {0};
    PyObject *failure = NULL;
    if (memory != Py_None && kymo__memory_options_from(memory, &heap) < 0)
        return 1;
    if (python != Py_None && kymo__python_options_from(python, &own, &filters) < 0)
        return 1;
    own.failure = &failure;
    const struct kymo__torch_options torch = {.mode = ops};
    const struct kymo_source_options for_torch = {
        .size = sizeof for_torch, .source = "torch", .options = &torch};
    const struct kymo_source_options for_memory = {
        .size = sizeof for_memory, .next = &for_torch, .source = "memory", .options = &heap.core};
    const struct kymo_source_options *others = memory != Py_None ? &for_memory : &for_torch;
    const struct kymo_source_options for_python = {
        .size = sizeof for_python, .next = others, .source = "python", .options = &own};
    options->source_options = python != Py_None ? &for_python : others;
    kymo__heap_want_objects(heap.objects);

    const uint32_t entered = kymo__memory_thread.entered;
    kymo__memory_thread.entered = 1; /* what this allocates is not the program's */
    int code = start(options, &failure);
    options->source_options = NULL; /* it was lent */
    kymo__filters_free(filters);
    kymo__memory_thread.entered = entered;
    if (failure) {
        PyErr_SetObject((PyObject *)Py_TYPE(failure), failure);
        Py_DECREF(failure);
        return 1;
    }
    return code;
}

/* Raise the exception for CODE of kymo_start. Returns NULL. */
static PyObject *raise_start(struct core *core, int code, const struct kymo_options *options,
                             PyObject *path)
{
    char why[1024];
    if (code == KYMO_ESOURCE && kymo_sources_check(options->sources, why, sizeof why) < 0)
        return PyErr_Format(PyExc_ValueError, "%s", why);
    return kymo__raise(core, code, path);
}

PyObject *kymo__session_start(PyObject *module, PyObject *args)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *arg, *bytes, *python = Py_None, *memory = Py_None;
    unsigned long long budget, flight_bytes = 0;
    long long flight_ns = 0, slow_ns = 0;
    const char *policy_word;
    int ops = 0;
    struct kymo_options options = {.size = sizeof options};
    if (!PyArg_ParseTuple(args, "OKsizO|KLLIizpzOipz:start", &arg, &budget, &policy_word,
                          &options.level, &options.sources, &python, &flight_bytes, &flight_ns,
                          &slow_ns, &options.sample_hz, &options.sample_clock, &options.sample_root,
                          &options.no_command, &options.slow_calls, &memory, &ops, &options.brief,
                          &options.clock_rate))
        return NULL;
    options.budget = budget;
    options.flight_bytes = flight_bytes;
    options.flight_ns = flight_ns;
    options.slow_ns = slow_ns;
    options.policy = policy_from(policy_word);
    if (options.policy < 0)
        return NULL;
    PyObject *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    options.path = PyBytes_AS_STRING(bytes);

    int code = start_with(start_waiting, &options, python, memory, ops);
    Py_DECREF(bytes);
    if (code == 0) {
        path_set(core, path);
        Py_RETURN_NONE;
    }
    if (code < 0)
        raise_start(core, code, &options, path);
    Py_DECREF(path);
    return NULL;
}

static int stop_with(int (*stop)(void))
{
    kymo__names_shut();
    bool memory = kymo_memory_enter(); /* what this allocates is not the program's */
    int code = stop();
    if (memory)
        kymo_memory_leave();
    kymo__names_open();
    return code;
}

void kymo__session_leave(void)
{
    (void)stop_with(stop_before_exit); /* after a failure the capture has what was written before */
}

static PyObject *session_stop(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    struct core *core = kymo__core_of_module(module);
    PyObject *path = path_get(core);
    int code = stop_with(stop_waiting);
    if (code < 0)
        kymo__raise(core, code, path);
    Py_XDECREF(path);
    if (code < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* trial(path, python, function): record FUNCTION, which should be short, and nothing but calls. The
   session starts and stops with the GIL held. In a program of busy threads it takes several tens of
   milliseconds to have the GIL again whenever it was given up; and what other threads do is of no
   interest here. */
static PyObject *session_trial(PyObject *module, PyObject *args)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *arg, *python, *function, *bytes;
    if (!PyArg_ParseTuple(args, "OOO:trial", &arg, &python, &function))
        return NULL;
    PyObject *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    struct kymo_options options = {
        .size = sizeof options, .path = PyBytes_AS_STRING(bytes), .sources = "*=off,python=on"};
    PyObject *result = NULL;
    int code = start_with(start_at_once, &options, python, Py_None, 0);
    if (code == 0) {
        result = PyObject_CallNoArgs(function);
        code = stop_with(stop_at_once);
        if (code < 0)
            Py_CLEAR(result);
    }
    if (code < 0 && !PyErr_Occurred())
        kymo__raise(core, code, path);
    Py_DECREF(bytes);
    Py_DECREF(path);
    return result;
}

static PyObject *session_running(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(kymo_running());
}

static PyObject *session_stats(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    struct core *core = kymo__core_of_module(module);
    struct kymo_stats stats = {.size = sizeof stats};
    /* A session that is stopping holds the lock this waits for, and needs the GIL itself. Otherwise
       keep the GIL: threads that release it briefly, over and over, starve those that wait for
       it. */
    int code = kymo_stats_at_once(&stats);
    if (code == -EBUSY) {
        PyThreadState *thread = PyEval_SaveThread();
        code = kymo_stats(&stats);
        PyEval_RestoreThread(thread);
    }
    if (code < 0)
        return kymo__raise(core, code, NULL);
    return kymo__row_stats(core, &stats);
}

/* The text of REASON, or NULL with an exception; release OWNER afterwards. */
static const char *reason_from(PyObject *reason, PyObject **owner)
{
    if (PyUnicode_Check(reason))
        return kymo__text_utf8(reason, owner);
    return (void *)PyErr_Format(PyExc_TypeError, "a reason must be a str, not %.100s",
                                Py_TYPE(reason)->tp_name);
}

static PyObject *flight_write(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *owner = NULL;
    const char *why = "";
    if (count > 1)
        return PyErr_Format(PyExc_TypeError, "flight_write() takes at most 1 argument (%zd given)",
                            count);
    if (count && !(why = reason_from(args[0], &owner)))
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_flight_write(why);
    PyEval_RestoreThread(thread);
    Py_XDECREF(owner);
    if (code == 0)
        Py_RETURN_NONE;
    PyObject *path = path_get(core);
    kymo__raise(core, code, path);
    Py_XDECREF(path);
    return NULL;
}

/* compare_clocks(folder): returns whether that is possible. */
static PyObject *compare_clocks(PyObject *module, PyObject *arg)
{
    PyObject *bytes, *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    int code = kymo_compare_clocks(PyBytes_AS_STRING(bytes));
    Py_DECREF(bytes);
    if (code < 0 && code != -ENOTSUP)
        kymo__raise(kymo__core_of_module(module), code, path);
    Py_DECREF(path);
    return code < 0 && code != -ENOTSUP ? NULL : PyBool_FromLong(code == 0);
}

/* flight_on_signal(number, end): returns False if the program handles that signal itself. */
static PyObject *flight_on_signal(PyObject *module, PyObject *args)
{
    int number, end;
    if (!PyArg_ParseTuple(args, "ip:flight_on_signal", &number, &end))
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_flight_on_signal(number, end);
    PyEval_RestoreThread(thread);
    if (code == 0 || code == -EBUSY)
        return PyBool_FromLong(code == 0);
    return kymo__raise(kymo__core_of_module(module), code, NULL);
}

/* clock_rate(): for the last argument of `start` in other processes, or None. */
static PyObject *clock_rate(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    char text[64];
    if (kymo_clock_rate(text, sizeof text) == 0)
        Py_RETURN_NONE;
    return PyUnicode_FromString(text);
}

/* end_on_signal(number, grace_ms, message) */
static PyObject *end_on_signal(PyObject *module, PyObject *args)
{
    int number;
    unsigned grace_ms;
    PyObject *message;
    if (!PyArg_ParseTuple(args, "iIO:end_on_signal", &number, &grace_ms, &message))
        return NULL;
    /* Encoded here, because os.fsencode would be recorded as a call of the program. */
    PyObject *bytes = message == Py_None ? NULL : PyUnicode_EncodeFSDefault(message);
    if (!bytes && message != Py_None)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_end_on_signal(number, grace_ms, bytes ? PyBytes_AS_STRING(bytes) : NULL);
    PyEval_RestoreThread(thread);
    Py_XDECREF(bytes);
    if (code == 0)
        Py_RETURN_NONE;
    return kymo__raise(kymo__core_of_module(module), code, NULL);
}

/* crash_message(message) */
static PyObject *crash_message(PyObject *module, PyObject *message)
{
    PyObject *bytes = PyUnicode_EncodeFSDefault(message);
    if (!bytes)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_crash_message(PyBytes_AS_STRING(bytes));
    PyEval_RestoreThread(thread);
    Py_DECREF(bytes);
    if (code == 0)
        Py_RETURN_NONE;
    return kymo__raise(kymo__core_of_module(module), code, NULL);
}

/* memory_apart(on): what this thread allocates while it is on is not the program's. */
static PyObject *memory_apart(PyObject *Py_UNUSED(module), PyObject *on)
{
    kymo__memory_thread.entered = on == Py_True;
    Py_RETURN_NONE;
}

PyMethodDef kymo__session_methods[] = {
    {"start", kymo__session_start, METH_VARARGS,
     "start(path, budget, policy, level, sources, python, flight_bytes=0, flight_ns=0, slow_ns=0, "
     "sample_hz=0, sample_clock=0, sample_root=None, "
     "no_command=False, slow_calls=None, memory=None, ops=0, brief=False, clock_rate=None)"},
    {"stop", session_stop, METH_NOARGS,
     "stop($module, /)\n--\n\n"
     "Stop recording and close the capture.\n\n"
     "Raises SessionError if no session is running, and OSError if a write\n"
     "failed; the capture still opens and reports what is missing."},
    {"trial", session_trial, METH_VARARGS, "trial(path, python, function)"},
    {"flight_write", FAST(flight_write), METH_FASTCALL,
     "flight_write($module, why='', /)\n--\n\n"
     "Write what the flight recorder has kept so far, and continue.\n\n"
     "WHY is marked in the capture. Raises SessionError if no flight recorder is running, and\n"
     "OSError if the write failed; then everything is still kept."},
    {"clock_rate", clock_rate, METH_NOARGS, "clock_rate()"},
    {"compare_clocks", compare_clocks, METH_O, "compare_clocks(folder)"},
    {"flight_on_signal", flight_on_signal, METH_VARARGS, "flight_on_signal(number, end)"},
    {"end_on_signal", end_on_signal, METH_VARARGS, "end_on_signal(number, grace_ms, message)"},
    {"crash_message", crash_message, METH_O, "crash_message(message)"},
    {"memory_apart", memory_apart, METH_O, "memory_apart(on)"},
    {"running", session_running, METH_NOARGS,
     "running($module, /)\n--\n\nTrue while this process records."},
    {"stats", session_stats, METH_NOARGS,
     "stats($module, /)\n--\n\n"
     "Return statistics of the running session. Raises SessionError if none is running."},
    {0},
};
