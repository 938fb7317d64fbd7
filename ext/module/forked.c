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
    FOLDER,   /* str: where children record */
    START,    /* arguments of `start` after the path */
    FACTS,    /* tuple of (key, value): metadata */
    NAME,     /* str: of the process */
    MEMBER,   /* the Member that the child will have, */
    SESSION,  /* and its Session */
    MEMBERS,  /* globals of _member, */
    SESSIONS, /* of _session, */
    SPAWNS,   /* and of _spawn */
    SIGNALS, /* (getsignal, signal, SIG_DFL, [(number, handler), …]): handlers of the parent's only */
    PARTS
};

static PyObject *plan;             /* NULL: there is none */
static PyObject *slow_hook;        /* what does it in Python, */
static PyObject *slow_exit;        /* and what ends it */
static long planned_pid;           /* the process that was begun as planned */
static uint64_t own_id;            /* its id in arrows */
static __thread uint64_t child_id; /* of the child that this thread forks; 0: it is not recorded */

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

/* fork_plan(plan): how forked children are recorded from now on; None: by the hook in Python. */
PyObject *kymo__fork_plan(PyObject *Py_UNUSED(module), PyObject *given)
{
    if (given != Py_None && (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != PARTS))
        return PyErr_Format(PyExc_TypeError, "not a plan");
    KYMO_SECTION_LOCK(plan_section);
    PyObject *before = plan;
    plan = given == Py_None ? NULL : Py_NewRef(given);
    KYMO_SECTION_UNLOCK(plan_section);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

/* fork_recorded(id): this thread is about to fork a child that has this id in arrows and is to be
   recorded; 0: it is not. */
PyObject *kymo__fork_recorded(PyObject *Py_UNUSED(module), PyObject *id)
{
    child_id = PyLong_AsUnsignedLongLongMask(id);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

bool kymo__fork_is_recorded(void)
{
    return child_id != 0;
}

uint64_t kymo__fork_take_id(void)
{
    const uint64_t id = child_id;
    child_id = 0;
    return id;
}

PyObject *kymo__fork_folder(void)
{
    KYMO_SECTION_LOCK(plan_section);
    PyObject *folder = plan ? Py_NewRef(part(FOLDER)) : NULL;
    KYMO_SECTION_UNLOCK(plan_section);
    return folder;
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

/* Set NAME in GLOBALS to VALUE, a new reference. */
static bool set_global(enum part globals, const char *name, PyObject *value)
{
    int rc = value ? PyDict_SetItemString(part(globals), name, value) : -1;
    Py_XDECREF(value);
    return rc == 0;
}

/* Append VALUE to the list NAME. */
static bool add_to_global(enum part globals, const char *name, PyObject *value)
{
    PyObject *list = PyDict_GetItemString(part(globals), name);
    return list && PyList_Append(list, value) == 0;
}

static bool set_attribute(enum part object, const char *name, PyObject *value)
{
    int rc = value ? PyObject_SetAttrString(part(object), name, value) : -1;
    Py_XDECREF(value);
    return rc == 0;
}

static bool clear_global(enum part globals, const char *name)
{
    PyObject *dict = PyDict_GetItemString(part(globals), name);
    if (!dict || !PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, name);
        return false;
    }
    PyDict_Clear(dict);
    return true;
}

/* As _spawn.forked. */
static bool forget_children(void)
{
    return set_global(SPAWNS, "_own", PyLong_FromUnsignedLongLong(child_id)) &&
           set_global(SPAWNS, "_last", PyLong_FromLong(0)) &&
           set_global(SPAWNS, "_others", PyLong_FromLong(0)) && clear_global(SPAWNS, "_children") &&
           clear_global(SPAWNS, "_names");
}

/* The path of the child's capture, as a new str; see Family.name. */
static PyObject *new_path(void)
{
    PyObject *folder = PyUnicode_EncodeFSDefault(part(FOLDER));
    char path[PATH_MAX];
    int length = 0, number = 1;
    do {
        length = folder ? snprintf(path, sizeof path, "%s/%ld-%d.kymo", PyBytes_AS_STRING(folder),
                                   (long)getpid(), number++)
                        : -1;
    } while (length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0);
    Py_XDECREF(folder);
    if (length > 0 && (size_t)length < sizeof path)
        return PyUnicode_DecodeFSDefault(path);
    if (!PyErr_Occurred())
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
    bool good = done && set_attribute(SESSION, "path", Py_NewRef(path)) &&
                set_attribute(MEMBER, "session", Py_NewRef(part(SESSION))) &&
                set_attribute(MEMBER, "pid", PyLong_FromLong((long)getpid())) &&
                set_global(MEMBERS, "_recording", Py_NewRef(part(MEMBER))) &&
                add_to_global(SESSIONS, "_outermost", part(SESSION)) &&
                set_global(SESSIONS, "nested", PyLong_FromLong(0));
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
    kymo_flow_in(kymo_intern("process start"), child_id);
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
    if (!plan || !child_id || !reset_signals() || !forget_children() || !start_session(module))
        return false;
    describe_process();
    end_on_term();
    PyErr_Clear();
    planned_pid = (long)getpid();
    own_id = child_id;
    return true;
}

/* fork_child(): the hook of os.fork in the child. */
PyObject *kymo__fork_child(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    bool failed = false;
    KYMO_SECTION_RESET(plan_section); /* another thread may have held it */
    if (!begin_as_planned(module)) {
        PyErr_Clear();
        PyObject *result = slow_hook ? PyObject_CallNoArgs(slow_hook) : Py_NewRef(Py_None);
        failed = !result;
        Py_XDECREF(result);
    }
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    child_id = 0;
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
    PyObject *modules = PyImport_GetModuleDict();
    if (PyDict_GetItemString(modules, "multiprocessing.process"))
        return false;
    PyObject *sessions = PyDict_GetItemString(part(SESSIONS), "_outermost");
    PyObject *member = PyDict_GetItemString(part(MEMBERS), "_recording");
    if (!sessions || !PyList_Check(sessions) || PyList_GET_SIZE(sessions) != 1 || !member)
        return false;
    PyObject *session = PyObject_GetAttrString(member, "session");
    PyObject *at_end =
        session ? PyObject_GetAttrString(PyList_GET_ITEM(sessions, 0), "_at_end") : NULL;
    bool planned = at_end == Py_None && session == PyList_GET_ITEM(sessions, 0);
    Py_XDECREF(at_end);
    Py_XDECREF(session);
    return planned;
}

/* As Member.finish. */
static void end_as_planned(PyObject *module)
{
    /* A parent that has told its child to end may send SIGTERM as well, as Pool.terminate does. */
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, &before);
    kymo_flow_out(kymo_intern("process end"), own_id);
    kymo__tracer_leaves(true);
    PyObject *done = kymo__session_stop(module, NULL);
    Py_XDECREF(done);
    if (!done)
        PyErr_Clear(); /* the capture has everything written before that */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* fork_exit(args): os._exit has been called. */
PyObject *kymo__fork_exit(PyObject *module, PyObject *Py_UNUSED(args))
{
    bool planned = ends_as_planned();
    PyErr_Clear();
    if (planned) {
        end_as_planned(module);
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
