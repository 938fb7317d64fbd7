/* forked.c — begin and end the recording of a forked child without running Python code.

   Python code that runs for the first time in a child is instrumented there, reported to the tracer
   and left out by its filters, and every page of objects that it touches is copied: that takes
   longer than all the rest of a child that does little. So the parent prepares a plan, and the hook
   of os.fork in the child is a builtin that carries it out; so is what os._exit calls first. Whatever
   is unusual is left to the hooks in Python, _member._in_child and _member._leave. */
#include "core.h"
#include "marks.h"
#include "methods.h"
#include "tracer.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* What the plan consists of; see _member._plan, which makes the tuple. */
enum part {
    FOLDER,    /* bytes: where children record */
    START,     /* arguments of `start` after the path */
    FACTS,     /* tuple of (key, value): metadata */
    NAME,      /* str: of the process */
    MEMBER,    /* the Member that the child will have, */
    SESSION,   /* and its Session */
    MEMBERS,   /* globals of _member, */
    SESSIONS,  /* and of _session */
    OUTERMOST, /* list: _session._outermost */
    EMPTIED,   /* tuple of dicts that begin empty in a child */
    SIGNALS, /* (getsignal, signal, SIG_DFL, [(number, handler), …]): handlers of the parent's only */
    MADE_FROM, /* what it depends on and the program may change; see kymo__fork_plan_holds */
    PARTS
};

/* Strings that are looked up; made in the parent. */
static PyObject *recording_name, *nested_name, *path_name, *pid_name, *session_name, *at_end_name,
    *argv_name, *environ_name, *process_module, *util_module;
static const struct {
    PyObject **string;
    const char *text;
} strings[] = {
    {&recording_name, "_recording"},
    {&nested_name, "nested"},
    {&path_name, "path"},
    {&pid_name, "pid"},
    {&session_name, "session"},
    {&at_end_name, "_at_end"},
    {&argv_name, "argv"},
    {&environ_name, "environ"},
    {&process_module, "multiprocessing.process"},
    {&util_module, "multiprocessing.util"},
};

static PyObject *plan;      /* NULL: there is none */
static long planned_by;     /* the process that made it */
static PyObject *slow_hook; /* what does it in Python, */
static PyObject *slow_exit; /* and what ends it */
static long planned_pid;    /* the process that was begun as planned */

KYMO_SECTION(plan_section);

static PyObject *part(enum part which)
{
    return PyTuple_GET_ITEM(plan, which);
}

/* fork_hooks(begin, end): the hooks in Python. */
PyObject *kymo__fork_hooks(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *begin, *end;
    if (!PyArg_ParseTuple(args, "OO:fork_hooks", &begin, &end))
        return NULL;
    Py_XSETREF(slow_hook, Py_NewRef(begin));
    Py_XSETREF(slow_exit, Py_NewRef(end));
    Py_RETURN_NONE;
}

static bool make_strings(void)
{
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (!*strings[i].string) {
            *strings[i].string = PyUnicode_InternFromString(strings[i].text);
            if (!*strings[i].string)
                return false;
        }
    return true;
}

/* fork_plan(plan): how forked children are recorded from now on; None: by the hook in Python. */
PyObject *kymo__fork_plan(PyObject *Py_UNUSED(module), PyObject *given)
{
    if (given != Py_None && (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != PARTS))
        return PyErr_Format(PyExc_TypeError, "not a plan");
    if (!make_strings())
        return NULL;
    KYMO_SECTION_LOCK(plan_section);
    PyObject *before = plan;
    plan = given == Py_None ? NULL : Py_NewRef(given);
    planned_by = (long)getpid();
    KYMO_SECTION_UNLOCK(plan_section);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

PyObject *kymo__fork_folder(void)
{
    KYMO_SECTION_LOCK(plan_section);
    PyObject *folder = plan ? Py_NewRef(part(FOLDER)) : NULL;
    KYMO_SECTION_UNLOCK(plan_section);
    return folder;
}

/* Are these variables of ENVIRONMENT, a dict, the very objects that VALUES, a list, has? */
static bool has_values(PyObject *environment, PyObject *names, PyObject *values)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); i++) {
        PyObject *value = PyDict_GetItemWithError(environment, PyList_GET_ITEM(names, i));
        if ((value ? value : Py_None) != PyList_GET_ITEM(values, i))
            return false;
    }
    return true;
}

/* Is the module NAME imported? */
static bool is_imported(PyObject *name)
{
    PyObject *modules = kymo__modules();
    return modules && PyDict_GetItemWithError(modules, name);
}

/* Compares by identity: if that differs, Python code compares again. */
static bool depends_on_same(PyObject *from)
{
    PyObject *system, *script, *os, *variables, *data, *names, *values;
    int multiprocessing;
    if (!PyArg_ParseTuple(from, "O!OO!OO!O!O!p", &PyDict_Type, &system, &script, &PyDict_Type, &os,
                          &variables, &PyDict_Type, &data, &PyList_Type, &names, &PyList_Type,
                          &values, &multiprocessing))
        return false;
    PyObject *argv = PyDict_GetItemWithError(system, argv_name);
    return argv && PyList_Check(argv) && PyList_GET_SIZE(argv) > 0 &&
           PyList_GET_ITEM(argv, 0) == script &&
           PyDict_GetItemWithError(os, environ_name) == variables &&
           PyList_GET_SIZE(names) == PyList_GET_SIZE(values) && has_values(data, names, values) &&
           is_imported(util_module) == multiprocessing;
}

bool kymo__fork_plan_holds(void)
{
    KYMO_SECTION_LOCK(plan_section);
    PyObject *from = plan && planned_by == (long)getpid() ? Py_NewRef(part(MADE_FROM)) : NULL;
    KYMO_SECTION_UNLOCK(plan_section);
    bool same = from && depends_on_same(from);
    Py_XDECREF(from);
    PyErr_Clear();
    return same;
}

/* ---- carrying it out; each returns false with an exception */

/* Call FUNCTION and drop its result. */
static bool call_with(PyObject *function, PyObject *first, PyObject *second)
{
    PyObject *result = PyObject_CallFunctionObjArgs(function, first, second, NULL);
    Py_XDECREF(result);
    return result != NULL;
}

/* What the parent has done about signals is not for the child. */
static bool reset_signals(void)
{
    PyObject *get, *set, *usual, *handlers;
    if (!PyArg_ParseTuple(part(SIGNALS), "OOOO!", &get, &set, &usual, &PyList_Type, &handlers))
        return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(handlers); i++) {
        PyObject *number, *handler;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(handlers, i), "OO", &number, &handler))
            return false;
        PyObject *now = PyObject_CallOneArg(get, number);
        bool ours = now == handler;
        Py_XDECREF(now);
        if (!now || (ours && !call_with(set, number, usual)))
            return false;
    }
    return true;
}

/* Set NAME in GLOBALS to VALUE. */
static bool set_global(enum part globals, PyObject *name, PyObject *value)
{
    return PyDict_SetItem(part(globals), name, value) == 0;
}

static bool set_number(PyObject *object, PyObject *name, long value)
{
    PyObject *number = PyLong_FromLong(value);
    int rc = number ? PyObject_SetAttr(object, name, number) : -1;
    Py_XDECREF(number);
    return rc == 0;
}

/* No session became a range in another yet. */
static bool reset_nested(void)
{
    PyObject *zero = PyLong_FromLong(0);
    bool good = zero && (PyDict_GetItemWithError(part(SESSIONS), nested_name) == zero ||
                         set_global(SESSIONS, nested_name, zero));
    Py_XDECREF(zero);
    return good;
}

/* As _spawn.forked. */
static void forget_children(void)
{
    PyObject *emptied = part(EMPTIED);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(emptied); i++)
        if (PyDict_GET_SIZE(PyTuple_GET_ITEM(emptied, i)))
            PyDict_Clear(PyTuple_GET_ITEM(emptied, i));
}

/* The path of the child's capture, as a new str; see Family.name. */
static PyObject *new_path(void)
{
    char path[PATH_MAX];
    int length, number = 1;
    do {
        length = snprintf(path, sizeof path, "%s/%ld-%d.kymo", PyBytes_AS_STRING(part(FOLDER)),
                          (long)getpid(), number++);
    } while (length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0);
    if (length > 0 && (size_t)length < sizeof path)
        return PyUnicode_DecodeFSDefault(path);
    PyErr_SetString(PyExc_OSError, "no path");
    return NULL;
}

/* Start the session, and set what Python knows about it. */
static bool start_session(PyObject *module)
{
    PyObject *path = new_path(), *rest = part(START);
    PyObject *args = path && PyTuple_Check(rest) ? PyTuple_New(PyTuple_GET_SIZE(rest) + 1) : NULL;
    if (!args) {
        Py_XDECREF(path);
        return false;
    }
    PyTuple_SET_ITEM(args, 0, path);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); i++)
        PyTuple_SET_ITEM(args, i + 1, Py_NewRef(PyTuple_GET_ITEM(rest, i)));
    PyObject *done = kymo__session_start(module, args);
    Py_XDECREF(done);
    bool good = done && PyObject_SetAttr(part(SESSION), path_name, path) == 0 &&
                set_number(part(MEMBER), pid_name, (long)getpid()) &&
                set_global(MEMBERS, recording_name, part(MEMBER)) &&
                PyList_Append(part(OUTERMOST), part(SESSION)) == 0 && reset_nested();
    Py_DECREF(args);
    return good;
}

/* Record KEY = VALUE, two str. */
static void record_fact(PyObject *key, PyObject *value)
{
    PyObject *key_owner = NULL, *value_owner = NULL;
    const char *name = kymo__text_utf8(key, &key_owner);
    const char *text = name ? kymo__text_utf8(value, &value_owner) : NULL;
    if (text)
        kymo_metadata(name, text);
    Py_XDECREF(key_owner);
    Py_XDECREF(value_owner);
}

static void describe_process(void)
{
    char parent[24];
    snprintf(parent, sizeof parent, "%ld", (long)getppid());
    kymo_metadata("process.parent", parent);
    kymo_metadata("process.began", "fork");
    PyObject *facts = part(FACTS), *owner = NULL, *key, *value;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(facts); i++)
        if (PyArg_ParseTuple(PyTuple_GET_ITEM(facts, i), "UU", &key, &value))
            record_fact(key, value);
    const char *name = kymo__text_utf8(part(NAME), &owner);
    if (name)
        kymo_process_name(name);
    Py_XDECREF(owner);
    /* The call of os.fork is about to return here, too. Before 3.12 that is not reported. */
    PyObject *call = kymo__watched_fork();
    if (call && KYMO_HAS_MONITORING)
        kymo__frames_open_call(call);
    kymo_flow_in(kymo_intern("process start"), kymo__process_own());
}

/* As _member._end_on_term. */
static void end_on_term(void)
{
    PyObject *get = PyTuple_GET_ITEM(part(SIGNALS), 0), *usual = PyTuple_GET_ITEM(part(SIGNALS), 2);
    PyObject *number = PyLong_FromLong(SIGTERM);
    PyObject *now = number ? PyObject_CallOneArg(get, number) : NULL;
    if (now && PyObject_RichCompareBool(now, usual, Py_EQ) == 1)
        (void)kymo_end_on_signal(SIGTERM, 0, NULL);
    Py_XDECREF(now);
    Py_XDECREF(number);
}

/* Begin as planned. False with an exception, or with none if nothing is planned. */
static bool begin_as_planned(PyObject *module)
{
    if (!plan || !kymo__process_own() || !reset_signals())
        return false;
    forget_children();
    if (!start_session(module))
        return false;
    describe_process();
    end_on_term();
    PyErr_Clear();
    planned_pid = (long)getpid();
    return true;
}

/* fork_child(): the hook of os.fork in the child. */
PyObject *kymo__fork_child(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    bool failed = false;
    KYMO_SECTION_RESET(plan_section); /* another thread may have held it */
    kymo__fork_in_child();
    if (!begin_as_planned(module)) {
        PyErr_Clear();
        PyObject *result = slow_hook ? PyObject_CallNoArgs(slow_hook) : Py_NewRef(Py_None);
        failed = !result;
        Py_XDECREF(result);
    }
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    kymo__tracer_forked(false); /* if no session began, or none with calls */
    PyErr_Restore(type, value, trace);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- ending it */

/* Is the session of this process as it was planned, and its end nothing special? */
static bool ends_as_planned(void)
{
    if (!plan || planned_pid != (long)getpid() || !kymo_running())
        return false;
    /* multiprocessing has a name for the process, and messages to count. */
    if (is_imported(process_module))
        return false;
    PyObject *sessions = part(OUTERMOST);
    PyObject *member = PyDict_GetItemWithError(part(MEMBERS), recording_name);
    if (PyList_GET_SIZE(sessions) != 1 || !member)
        return false;
    PyObject *session = PyObject_GetAttr(member, session_name);
    PyObject *at_end = session ? PyObject_GetAttr(PyList_GET_ITEM(sessions, 0), at_end_name) : NULL;
    bool planned = at_end == Py_None && session == PyList_GET_ITEM(sessions, 0);
    Py_XDECREF(at_end);
    Py_XDECREF(session);
    return planned;
}

/* As Member.finish. */
static void end_as_planned(void)
{
    /* A parent that has told its child to end may send SIGTERM as well, as Pool.terminate does. */
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, &before);
    kymo_flow_out(kymo_intern("process end"), kymo__process_own());
    kymo__tracer_leaves(true);
    kymo__session_leave();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* fork_exit(args): os._exit has been called. */
PyObject *kymo__fork_exit(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    bool planned = ends_as_planned();
    PyErr_Clear();
    if (planned) {
        end_as_planned();
        Py_RETURN_NONE;
    }
    PyObject *result = slow_exit ? PyObject_CallNoArgs(slow_exit) : Py_NewRef(Py_None);
    if (!result)
        return NULL;
    Py_DECREF(result);
    Py_RETURN_NONE;
}

/* fork_stays(): the process did not end, because the arguments of os._exit were wrong. */
PyObject *kymo__fork_stays(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    kymo__tracer_leaves(false);
    Py_RETURN_NONE;
}
