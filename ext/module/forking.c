/* forking.c — what a process notes about children that it forks and waits for, without running Python
   code. Between two forks, the first store into any page copies it, or asks the kernel whether it
   must: Python functions store into many, as they count references. Whatever is unusual about a wait
   is left to _spawn._after_wait. */
#include "core.h"
#include "methods.h"
#include "streams.h"

#include <stdio.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKED "process (fork)" /* the name of the span of a child without a command */

enum { STATUSES = 10000 }; /* children whose exit status is kept for `info`, at most */

static PyObject *children;    /* _spawn._children: by pid, not yet waited for: (name, id) */
static PyObject *slow_wait;   /* _spawn._after_wait */
static PyObject *slow_before; /* _member._before_fork */
static unsigned statuses;     /* noted so far */

static uint64_t last_id;           /* given to a child, or 0 */
static uint64_t own_id;            /* this process, in its parent's arrows; 0 for the first */
static __thread uint64_t child_id; /* of the child that this thread forks; 0: it is not recorded */
static __thread int apart;         /* what this thread forks is not a child of the program */

/* fork_watch(children, after_wait, before_fork): from now on. */
PyObject *kymo__fork_watch(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *given, *wait, *before;
    if (!PyArg_ParseTuple(args, "O!OO:fork_watch", &PyDict_Type, &given, &wait, &before))
        return NULL;
    Py_XSETREF(children, Py_NewRef(given));
    Py_XSETREF(slow_wait, Py_NewRef(wait));
    Py_XSETREF(slow_before, Py_NewRef(before));
    Py_RETURN_NONE;
}

/* ---- ids in arrows */

static uint64_t new_id(void)
{
    uint64_t none = 0, first = 0;
    /* Without randomness, ids of two processes may be equal, and an arrow wrong. */
    if (!__atomic_load_n(&last_id, __ATOMIC_RELAXED) && getrandom(&first, 7, GRND_NONBLOCK) == 7)
        __atomic_compare_exchange_n(&last_id, &none, first, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    return __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

/* process_id(): an id for a child of this process. */
PyObject *kymo__process_id(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(new_id());
}

uint64_t kymo__process_own(void)
{
    return own_id;
}

/* process_own(): the id of this process in its parent's arrows, or 0. */
PyObject *kymo__process_own_id(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(own_id);
}

/* process_is(id): this is it. */
PyObject *kymo__process_is(PyObject *Py_UNUSED(module), PyObject *id)
{
    own_id = PyLong_AsUnsignedLongLongMask(id);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- forking */

bool kymo__fork_is_recorded(void)
{
    return child_id != 0;
}

/* fork_apart(apart): whether children that this thread forks are none of the program's, or become
   another program at once. */
PyObject *kymo__fork_apart(PyObject *Py_UNUSED(module), PyObject *is_apart)
{
    apart = PyObject_IsTrue(is_apart);
    Py_RETURN_NONE;
}

/* fork_recorded(recorded): this thread is about to fork a child; is that to be recorded? */
PyObject *kymo__fork_recorded(PyObject *Py_UNUSED(module), PyObject *recorded)
{
    child_id = PyObject_IsTrue(recorded) == 1 && apart != 1 ? new_id() : 0;
    if (child_id)
        kymo_flow_out(kymo_intern("process start"), child_id);
    Py_RETURN_NONE;
}

/* fork_before(): the hook of os.fork before it. */
PyObject *kymo__fork_before(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    if (!kymo_running() || !kymo__fork_plan_holds())
        return slow_before ? PyObject_CallNoArgs(slow_before) : Py_NewRef(Py_None);
    kymo__streams_ready();
    return kymo__fork_recorded(module, Py_True);
}

void kymo__fork_in_child(void)
{
    own_id = child_id;
    child_id = last_id = 0;
}

/* fork_made(result, args): os.fork or os.forkpty has returned, in the parent or in the child. */
PyObject *kymo__fork_made(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *pid, *ignored;
    if (!PyArg_ParseTuple(args, "OO:fork_made", &pid, &ignored))
        return NULL;
    if (PyTuple_Check(pid) && PyTuple_GET_SIZE(pid) > 0)
        pid = PyTuple_GET_ITEM(pid, 0);
    const uint64_t id = child_id;
    child_id = 0;
    const long number = PyLong_AsLong(pid);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number <= 0 || !id || !children || !kymo_running())
        Py_RETURN_NONE;
    PyObject *child = Py_BuildValue("(sK)", FORKED, (unsigned long long)id);
    int rc = child ? PyDict_SetItem(children, pid, child) : -1;
    Py_XDECREF(child);
    if (rc < 0)
        return NULL;
    kymo__process_began(FORKED, id, (uint64_t)number, "(fork)");
    Py_RETURN_NONE;
}

/* ---- waiting */

/* As _spawn._is_recorded. False also if that is not known here. */
static bool is_recorded(long pid)
{
    char path[4096];
    PyObject *folder = kymo__fork_folder();
    int length =
        folder ? snprintf(path, sizeof path, "%s/%ld-1.kymo", PyBytes_AS_STRING(folder), pid) : -1;
    Py_XDECREF(folder);
    return length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0;
}

static void note_status(long pid, const char *status)
{
    char key[32];
    if (__atomic_fetch_add(&statuses, 1, __ATOMIC_RELAXED) >= STATUSES)
        return;
    snprintf(key, sizeof key, "child.%ld", pid);
    kymo_metadata(key, status);
}

/* child_status(pid, status): this recorded child has ended. */
PyObject *kymo__child_status(PyObject *Py_UNUSED(module), PyObject *args)
{
    long pid;
    const char *status;
    if (!PyArg_ParseTuple(args, "ls:child_status", &pid, &status))
        return NULL;
    note_status(pid, status);
    Py_RETURN_NONE;
}

/* As _spawn._waited, for a child that is recorded. False with an exception. */
static bool note_end(PyObject *key, long pid, int status)
{
    const char *name;
    unsigned long long id;
    PyObject *child = PyObject_GetItem(children, key);
    bool good =
        child && PyArg_ParseTuple(child, "sK", &name, &id) && PyDict_DelItem(children, key) == 0;
    if (good) {
        char text[32];
        if (WIFEXITED(status))
            snprintf(text, sizeof text, "exit code %d", WEXITSTATUS(status));
        else
            snprintf(text, sizeof text, "signal %d", WTERMSIG(status));
        kymo__process_ended(name, id, text);
        kymo_flow_in(kymo_intern("process end"), id);
        note_status(pid, text);
    }
    Py_XDECREF(child);
    return good;
}

/* fork_waited(result, args): os.wait, waitpid, wait3 or wait4 has returned. */
PyObject *kymo__fork_waited(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *result, *given;
    if (!PyArg_ParseTuple(args, "O!O:fork_waited", &PyTuple_Type, &result, &given))
        return NULL;
    if (!children || PyTuple_GET_SIZE(result) < 2)
        Py_RETURN_NONE;
    PyObject *key = PyTuple_GET_ITEM(result, 0);
    const long pid = PyLong_AsLong(key);
    const int status = (int)PyLong_AsLong(PyTuple_GET_ITEM(result, 1));
    if (PyErr_Occurred())
        return NULL;
    if (pid <= 0 || (!WIFEXITED(status) && !WIFSIGNALED(status)))
        Py_RETURN_NONE;
    const int known = PyDict_Contains(children, key);
    if (known <= 0)
        return known < 0 ? NULL : Py_NewRef(Py_None);
    if (!kymo_running() || !is_recorded(pid))
        return PyObject_CallFunctionObjArgs(slow_wait, result, given, NULL);
    return note_end(key, pid, status) ? Py_NewRef(Py_None) : NULL;
}
