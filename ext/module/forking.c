/* forking.c — what a process notes about children that it forks and waits for, without running Python
   code. Between two forks, the first store into any page copies it, or asks the kernel whether it
   must: Python functions store into many, as they count references. Whatever is unusual about a wait
   is left to _spawn._after_wait. */
#include "core.h"
#include "methods.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKED "process (fork)" /* the name of the span of a child without a command */

enum { STATUSES = 10000 }; /* children whose exit status is kept for `info`, at most */

static PyObject *children;  /* _spawn._children: by pid, not yet waited for: (name, id) */
static PyObject *slow_wait; /* _spawn._after_wait */
static unsigned statuses;   /* noted so far */

/* fork_watch(children, after_wait): from now on. */
PyObject *kymo__fork_watch(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *given, *wait;
    if (!PyArg_ParseTuple(args, "O!O:fork_watch", &PyDict_Type, &given, &wait))
        return NULL;
    Py_XSETREF(children, Py_NewRef(given));
    Py_XSETREF(slow_wait, Py_NewRef(wait));
    Py_RETURN_NONE;
}

/* fork_made(result, args): os.fork or os.forkpty has returned, in the parent or in the child. */
PyObject *kymo__fork_made(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *pid, *ignored;
    if (!PyArg_ParseTuple(args, "OO:fork_made", &pid, &ignored))
        return NULL;
    if (PyTuple_Check(pid) && PyTuple_GET_SIZE(pid) > 0)
        pid = PyTuple_GET_ITEM(pid, 0);
    const uint64_t id = kymo__fork_take_id();
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
    PyObject *bytes = folder ? PyUnicode_EncodeFSDefault(folder) : NULL;
    int length =
        bytes ? snprintf(path, sizeof path, "%s/%ld-1.kymo", PyBytes_AS_STRING(bytes), pid) : -1;
    Py_XDECREF(bytes);
    Py_XDECREF(folder);
    PyErr_Clear();
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
