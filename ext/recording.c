/* recording.c — the session and the marks from Python. Marks never raise for what
   happens to the record; they raise for arguments of the wrong type, and do so
   whether a session runs or not. */
#include "core.h"
#include "tracer.h"

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static bool is_text(PyObject *value, const char *what)
{
    if (PyUnicode_Check(value))
        return true;
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %.100s", what, Py_TYPE(value)->tp_name);
    return false;
}

/* ---- the session */

static int policy_from(const char *word)
{
    if (strcmp(word, "help") == 0)
        return KYMO_HELP;
    if (strcmp(word, "drop") == 0)
        return KYMO_DROP;
    PyErr_Format(PyExc_ValueError, "policy must be \"help\" or \"drop\", not \"%s\"", word);
    return -1;
}

/* Guards core->session_path: a start may follow on another thread's heels. */
KYMO_SECTION(path_section);

/* Remember that PATH is recorded into; takes its reference. */
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

static PyObject *session_start(PyObject *module, PyObject *args)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *arg, *bytes;
    unsigned long long budget, flight_bytes = 0;
    long long flight_ns = 0, slow_ns = 0;
    const char *policy_word;
    struct kymo_options options = {.size = sizeof options};
    if (!PyArg_ParseTuple(args, "OKsi|KLLIiz:start", &arg, &budget, &policy_word, &options.level,
                          &flight_bytes, &flight_ns, &slow_ns, &options.sample_hz,
                          &options.sample_clock, &options.sample_root))
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

    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_start(&options);
    PyEval_RestoreThread(thread);
    Py_DECREF(bytes);
    if (code < 0) {
        /* The tracer that was asked for is not for the session after this one. */
        if (!kymo_running())
            kymo__tracing.wanted = 0;
        kymo__raise(core, code, path);
        Py_DECREF(path);
        return NULL;
    }
    path_set(core, path);
    Py_RETURN_NONE;
}

static PyObject *session_stop(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    struct core *core = kymo__core_of_module(module);
    PyObject *path = path_get(core);
    kymo__names_shut();
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_stop();
    PyEval_RestoreThread(thread);
    kymo__names_open();
    if (code < 0)
        kymo__raise(core, code, path);
    Py_XDECREF(path);
    if (code < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *session_running(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(kymo_running());
}

static PyObject *session_stats(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    struct core *core = kymo__core_of_module(module);
    struct kymo_stats stats = {.size = sizeof stats};
    /* A session that stops meanwhile holds what this waits for, and needs the GIL itself. But for
       that the GIL is kept: threads that give it away for an instant, over and over, starve those
       that wait for it. */
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

static PyObject *flight_write(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *owner = NULL;
    const char *why = "";
    if (count > 1)
        return PyErr_Format(PyExc_TypeError, "flight_write() takes at most 1 argument (%zd given)",
                            count);
    if (count && (!is_text(args[0], "a reason") || !(why = kymo__text_utf8(args[0], &owner))))
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

/* flight_on_signal(number, end): False when the program handles that signal itself. */
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

PyMethodDef kymo__session_methods[] = {
    {"start", session_start, METH_VARARGS,
     "start(path, budget, policy, level, flight_bytes=0, flight_ns=0, slow_ns=0, sample_hz=0, "
     "sample_clock=0, sample_root=None)"},
    {"stop", session_stop, METH_NOARGS,
     "stop($module, /)\n--\n\n"
     "Stop recording and close the capture.\n\n"
     "Raises SessionError when nothing is being recorded, and OSError when a write\n"
     "failed; the capture opens nevertheless and says what is missing."},
    {"flight_write", FAST(flight_write), METH_FASTCALL,
     "flight_write($module, why='', /)\n--\n\n"
     "Write what a flight recorder has kept until now, and go on.\n\n"
     "WHY is marked in the capture. Raises SessionError when no flight recorder runs, and\n"
     "OSError when the write failed; then everything is still kept."},
    {"flight_on_signal", flight_on_signal, METH_VARARGS, "flight_on_signal(number, end)"},
    {"running", session_running, METH_NOARGS,
     "running($module, /)\n--\n\nTrue while this process records."},
    {"stats", session_stats, METH_NOARGS,
     "stats($module, /)\n--\n\n"
     "What the running session has done so far. Raises SessionError when none runs."},
    {0},
};

/* ---- the marks */

static bool has_two(const char *function, Py_ssize_t count)
{
    if (count == 2)
        return true;
    PyErr_Format(PyExc_TypeError, "%s() takes 2 arguments (%zd given)", function, count);
    return false;
}

static PyObject *mark_instant(PyObject *module, PyObject *text)
{
    if (!is_text(text, "a name"))
        return NULL;
    if (kymo_running()) {
        const char *name = kymo__name_hold(kymo__core_of_module(module), text);
        if (name)
            kymo_instant(name);
        kymo__name_release();
    }
    Py_RETURN_NONE;
}

static PyObject *mark_counter(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!has_two("counter", count) || !is_text(args[0], "a name"))
        return NULL;
    double value = PyFloat_AsDouble(args[1]);
    if (value == -1.0 && PyErr_Occurred())
        return NULL;
    if (kymo_running()) {
        const char *name = kymo__name_hold(kymo__core_of_module(module), args[0]);
        if (name)
            kymo_counter(name, value);
        kymo__name_release();
    }
    Py_RETURN_NONE;
}

/* Flows and async spans: a name and an id. Ids are taken modulo 2**64, so that the
   result of id() and of hash() will do. */
static PyObject *mark_link(PyObject *module, const char *function, PyObject *const *args,
                           Py_ssize_t count, enum kymo_kind kind)
{
    if (!has_two(function, count) || !is_text(args[0], "a name"))
        return NULL;
    if (!PyLong_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "an id must be an int, not %.100s",
                            Py_TYPE(args[1])->tp_name);
    uint64_t id = PyLong_AsUnsignedLongLongMask(args[1]);
    if (kymo_running()) {
        const char *name = kymo__name_hold(kymo__core_of_module(module), args[0]);
        if (name)
            kymo__link(name, id, kind);
        kymo__name_release();
    }
    Py_RETURN_NONE;
}

static PyObject *mark_flow_out(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return mark_link(module, "flow_out", args, count, KYMO_FLOW_OUT);
}

static PyObject *mark_flow_in(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return mark_link(module, "flow_in", args, count, KYMO_FLOW_IN);
}

static PyObject *mark_async_begin(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return mark_link(module, "async_begin", args, count, KYMO_ASYNC_BEGIN);
}

static PyObject *mark_async_end(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return mark_link(module, "async_end", args, count, KYMO_ASYNC_END);
}

/* Give TEXT to a function that copies it. */
static PyObject *mark_copied(PyObject *text, void (*mark)(const char *))
{
    PyObject *owner;
    if (!is_text(text, "a name"))
        return NULL;
    const char *utf8 = kymo__text_utf8(text, &owner);
    if (!utf8)
        return NULL;
    mark(utf8);
    Py_XDECREF(owner);
    Py_RETURN_NONE;
}

static PyObject *mark_thread_name(PyObject *Py_UNUSED(module), PyObject *text)
{
    return mark_copied(text, kymo_thread_name);
}

static PyObject *mark_process_name(PyObject *Py_UNUSED(module), PyObject *text)
{
    return mark_copied(text, kymo_process_name);
}

static PyObject *mark_metadata(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    PyObject *key_owner, *value_owner = NULL;
    if (!has_two("metadata", count) || !is_text(args[0], "a key") || !is_text(args[1], "a value"))
        return NULL;
    const char *key = kymo__text_utf8(args[0], &key_owner);
    const char *value = key ? kymo__text_utf8(args[1], &value_owner) : NULL;
    if (value)
        kymo_metadata(key, value);
    Py_XDECREF(key_owner);
    Py_XDECREF(value_owner);
    if (!value)
        return NULL;
    Py_RETURN_NONE;
}

/* record_function(name, args=None): a span, as torch.profiler makes it. ARGS is a text that
   describes the arguments there. */
static PyObject *mark_record_function(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                      PyObject *names)
{
    if (__builtin_expect(count == 1 && !names, 1))
        return kymo__span_new(module, args[0]);
    PyObject *given[2] = {count > 0 ? args[0] : NULL, count > 1 ? args[1] : NULL};
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < named && count <= 2; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        bool first = PyUnicode_CompareWithASCIIString(name, "name") == 0;
        if ((!first && PyUnicode_CompareWithASCIIString(name, "args") != 0) || given[!first])
            return PyErr_Format(PyExc_TypeError,
                                "record_function() got an unexpected argument '%U'", name);
        given[!first] = args[count + i];
    }
    if (count > 2 || !given[0])
        return PyErr_Format(PyExc_TypeError,
                            "record_function() takes a name and a text (%zd given)", count + named);
    if (!given[1] || given[1] == Py_None)
        return kymo__span_new(module, given[0]);
    if (!is_text(given[0], "a name") || !is_text(given[1], "args"))
        return NULL;
    PyObject *word = kymo__core_of_module(module)->args_word;
    PyObject *texts = PyTuple_Pack(3, given[0], word, given[1]);
    PyObject *span = texts ? kymo__span_with(module, texts) : NULL;
    Py_XDECREF(texts);
    return span;
}

PyMethodDef kymo__marking_methods[] = {
    {"span", kymo__span_new, METH_O,
     "span($module, name, /)\n--\n\n"
     "A span for a with block: it begins and ends with the block, on this thread."},
    {"record_function", FAST(mark_record_function), METH_FASTCALL | METH_KEYWORDS,
     "record_function($module, /, name, args=None)\n--\n\n"
     "A span for a with block, or to decorate a function; as torch.profiler has it. The text\n"
     "ARGS is recorded with it."},
    {"span_with", kymo__span_with, METH_O, "span_with((name, name of a text, text, ...))"},
    {"span_like", kymo__span_like, METH_O, "span_like(span)"},
    {"mute_spans", kymo__spans_mute, METH_O,
     "mute_spans($module, flag, /)\n--\n\n"
     "Begin no spans in the session that runs, or begin them again; open ones end as usual."},
    {"instant", mark_instant, METH_O, "instant($module, name, /)\n--\n\nMark this moment."},
    {"counter", FAST(mark_counter), METH_FASTCALL,
     "counter($module, name, value, /)\n--\n\nRecord that NAME has VALUE from now on."},
    {"flow_out", FAST(mark_flow_out), METH_FASTCALL,
     "flow_out($module, name, id, /)\n--\n\n"
     "Start an arrow at the span open here; flow_in with the same name and id ends it."},
    {"flow_in", FAST(mark_flow_in), METH_FASTCALL,
     "flow_in($module, name, id, /)\n--\n\nEnd an arrow at the span open here."},
    {"async_begin", FAST(mark_async_begin), METH_FASTCALL,
     "async_begin($module, name, id, /)\n--\n\n"
     "Begin a span that belongs to no thread and may overlap others; async_end with the\n"
     "same name and id ends it, on any thread."},
    {"async_end", FAST(mark_async_end), METH_FASTCALL,
     "async_end($module, name, id, /)\n--\n\nEnd the async span of this name and id."},
    {"thread_name", mark_thread_name, METH_O,
     "thread_name($module, name, /)\n--\n\nName the calling thread in the capture."},
    {"process_name", mark_process_name, METH_O,
     "process_name($module, name, /)\n--\n\nName this process in the capture."},
    {"metadata", FAST(mark_metadata), METH_FASTCALL,
     "metadata($module, key, value, /)\n--\n\n"
     "Attach KEY = VALUE to the capture; a key given twice keeps its last value."},
    {0},
};
