/* program.c — what running a program under kymograph needs and Python cannot do: report an
   exception exactly as the interpreter does, count calls without creating an object for each, drop
   the parent's session in a child, and stay invisible when the program forks. */
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"
#include "heap.h"
#include "methods.h"
#include "throttle.h"
#include "tracer.h"

#include <frameobject.h> /* after Python.h */

/* show_exception(error): do what the interpreter does with an exception that left the main program.
   Must not be called with SystemExit. */
static PyObject *show_exception(PyObject *Py_UNUSED(module), PyObject *error)
{
    if (!PyExceptionInstance_Check(error))
        return PyErr_Format(PyExc_TypeError, "expected an exception, not %.100s",
                            Py_TYPE(error)->tp_name);
    /* Restore, not SetObject, which would chain it to the exception being handled. */
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), Py_NewRef(error), PyException_GetTraceback(error));
    PyErr_PrintEx(1);
    Py_RETURN_NONE;
}

/* Count the calls in CAPTURE, including those open at its start, and store in *OFF how many
   functions and call sites an overhead budget switched off. Returns a negative code if it cannot be
   read. */
static int64_t count_calls(struct kymo_capture *capture, int64_t *off)
{
    struct kymo_info info = {.size = sizeof info};
    int code = kymo_capture_info(capture, &info);
    int64_t calls = 0;
    /* Thread by thread: the order does not matter, and merging them costs time. */
    for (uint64_t thread = 0; code >= 0 && thread < info.threads; thread++) {
        struct kymo_cursor *cursor;
        code = kymo_cursor_new(capture,
                               &(struct kymo_window){.size = sizeof(struct kymo_window),
                                                     .to = INT64_MAX,
                                                     .thread = (int64_t)thread},
                               &cursor);
        if (code < 0)
            break;
        /* Only what fits is filled in. */
        struct kymo_event event = {.size = offsetof(struct kymo_event, key)};
        while ((code = kymo_cursor_next(cursor, &event)) > 0) {
            calls += event.kind == KYMO_ENTER && (event.detail == 0 || event.detail == 3);
            *off += event.kind == KYMO_OFF;
        }
        kymo_cursor_free(cursor);
    }
    return code < 0 ? code : calls;
}

static PyObject *count_calls_of(PyObject *module, PyObject *arg)
{
    PyObject *bytes;
    PyObject *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    int64_t calls = 0, off = 0;
    struct kymo_capture *capture;
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_open(PyBytes_AS_STRING(bytes), &capture);
    if (code >= 0) {
        calls = count_calls(capture, &off);
        code = calls < 0 ? (int)calls : 0;
        kymo_close(capture);
    }
    PyEval_RestoreThread(thread);
    Py_DECREF(bytes);
    PyObject *result = code < 0 ? kymo__raise(kymo__core_of_module(module), code, path)
                                : Py_BuildValue("LL", (long long)calls, (long long)off);
    Py_DECREF(path);
    return result;
}

/* after_fork(): run in a child forked while its parent was traced. The session is the parent's;
   remove the copy of its state in the interpreter. */
static PyObject *after_fork(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    kymo__tracer_forked(kymo__fork_is_recorded());
    kymo__heap_forked();
    Py_RETURN_NONE;
}

/* Since 3.12 os.fork warns about threads, no matter whose. Ours are not the program's: they rest
   while the main thread forks. */

static const void *forking; /* address of the frame that called os.fork, or NULL */
static int put_off;         /* how often restarting the writer was postponed since */

enum { PUT_OFF_MOST = 100000 }; /* by then it cannot be a hook */

/* True while a fork hook called by os.fork runs. */
static bool is_forking(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    bool inside = false;
    Py_XINCREF(frame);
    while (frame && !inside) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
        inside = frame && frame == forking;
    }
    Py_XDECREF(frame);
    return inside;
}

static int start_writing(void *ignored)
{
    /* If a hook is written in Python, pending calls run inside it. */
    if (forking && put_off++ < PUT_OFF_MOST && is_forking() &&
        Py_AddPendingCall(start_writing, ignored) == 0)
        return 0;
    forking = NULL;
    /* A thread that starts or stops a session holds the lock that this takes, and needs the GIL. It
       may even be this one, if pending calls run in Python code that starting a session needs: so
       do not wait. If it fails otherwise, threads write for themselves. */
    if (kymo_writer_work_at_once() != -EBUSY)
        put_off = 0;
    else if (put_off++ < PUT_OFF_MOST)
        (void)Py_AddPendingCall(start_writing, ignored);
    return 0;
}

static PyObject *before_fork(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (KYMO_FORK_WARNS && kymo_running() && getpid() == (pid_t)syscall(SYS_gettid)) {
        forking = PyEval_GetFrame();
        put_off = 0;
        /* Our threads may be waiting for the GIL. */
        PyThreadState *thread = PyEval_SaveThread();
        kymo_writer_rest();
        PyEval_RestoreThread(thread);
    }
    kymo__fork_gate_enter();
    Py_RETURN_NONE;
}

/* Some versions count the threads after this, but all before the main thread continues. */
static PyObject *after_fork_in_parent(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    kymo__fork_gate_leave();
    if (KYMO_FORK_WARNS && kymo_running() && Py_AddPendingCall(start_writing, NULL) < 0) {
        forking = NULL;
        start_writing(NULL);
    }
    Py_RETURN_NONE;
}

/* export_format(path): the format that its extension selects, or None. */
static PyObject *export_format(PyObject *Py_UNUSED(module), PyObject *arg)
{
    PyObject *bytes, *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    const char *format = kymo_export_format_of(PyBytes_AS_STRING(bytes));
    Py_DECREF(bytes);
    Py_DECREF(path);
    return format ? PyUnicode_FromString(format) : Py_NewRef(Py_None);
}

/* export_check(path): raise FileExistsError if a file is there that no export wrote. */
static PyObject *export_check(PyObject *Py_UNUSED(module), PyObject *arg)
{
    PyObject *bytes, *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    int rc = kymo_export_check(PyBytes_AS_STRING(bytes));
    Py_DECREF(bytes);
    if (rc < 0) {
        errno = -rc;
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    }
    Py_DECREF(path);
    return rc < 0 ? NULL : Py_NewRef(Py_None);
}

/* capture_check(path): raise OSError if a capture must not be written there. */
static PyObject *capture_check(PyObject *module, PyObject *arg)
{
    PyObject *bytes, *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    int rc = kymo_capture_check(PyBytes_AS_STRING(bytes));
    Py_DECREF(bytes);
    if (rc < 0)
        kymo__raise(kymo__core_of_module(module), rc, path);
    Py_DECREF(path);
    return rc < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef kymo__program_methods[] = {
    {"capture_check", capture_check, METH_O, "capture_check(path)"},
    {"export_check", export_check, METH_O, "export_check(path)"},
    {"export_format", export_format, METH_O, "export_format(path)"},
    {"before_fork", before_fork, METH_NOARGS, "before_fork()"},
    {"after_fork_in_parent", after_fork_in_parent, METH_NOARGS, "after_fork_in_parent()"},
    {"after_fork", after_fork, METH_NOARGS, "after_fork()"},
    {"fork_apart", kymo__fork_apart, METH_O, "fork_apart(apart)"},
    {"fork_before", kymo__fork_before, METH_NOARGS, "fork_before()"},
    {"fork_child", kymo__fork_child, METH_NOARGS, "fork_child()"},
    {"child_status", kymo__child_status, METH_VARARGS, "child_status(pid, status)"},
    {"fork_exit", kymo__fork_exit, METH_O, "fork_exit(args)"},
    {"fork_hooks", kymo__fork_hooks, METH_VARARGS, "fork_hooks(begin, end)"},
    {"fork_made", kymo__fork_made, METH_VARARGS, "fork_made(result, args)"},
    {"fork_plan", kymo__fork_plan, METH_O, "fork_plan(plan)"},
    {"fork_recorded", kymo__fork_recorded, METH_O, "fork_recorded(recorded)"},
    {"fork_stays", kymo__fork_stays, METH_NOARGS, "fork_stays()"},
    {"fork_waited", kymo__fork_waited, METH_VARARGS, "fork_waited(result, args)"},
    {"fork_watch", kymo__fork_watch, METH_VARARGS, "fork_watch(children, after_wait, before_fork)"},
    {"show_exception", show_exception, METH_O, "show_exception(error)"},
    {"watched", kymo__watched, METH_VARARGS, "watched(function, before, after, failed)"},
    {"watched_fork", kymo__watched_fork_call, METH_NOARGS, "watched_fork()"},
    {"inside", kymo__inside_call, METH_O, "inside(function)"},
    {"process_id", kymo__process_id, METH_NOARGS, "process_id()"},
    {"process_is", kymo__process_is, METH_O, "process_is(id)"},
    {"process_own", kymo__process_own_id, METH_NOARGS, "process_own()"},
    {"process_begin", kymo__process_begin, METH_VARARGS, "process_begin(name, id, pid, command)"},
    {"process_end", kymo__process_end, METH_VARARGS, "process_end(name, id, status)"},
    {"count_calls", count_calls_of, METH_O, "count_calls(path)"},
    {0},
};
