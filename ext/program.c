/* program.c — what running a program under kymograph needs and Python cannot do: to report an
   exception exactly as the interpreter does, to count calls without making an object of
   each, to let go of the parent's session in a child, and not to be seen when it forks. */
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"
#include "thunks.h"
#include "tracer.h"

/* show_exception(error): what the interpreter does with an exception that left the main
   program, except that SystemExit is not to be given to it. */
static PyObject *show_exception(PyObject *Py_UNUSED(module), PyObject *error)
{
    if (!PyExceptionInstance_Check(error))
        return PyErr_Format(PyExc_TypeError, "an exception, not %.100s", Py_TYPE(error)->tp_name);
    /* Restore, and not SetObject: the latter would chain it to the one being handled. */
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), Py_NewRef(error), PyException_GetTraceback(error));
    PyErr_PrintEx(1);
    Py_RETURN_NONE;
}

/* Calls in CAPTURE, those that were open at its start included; a negative code when it
   cannot be read. */
static int64_t count_calls(struct kymo_capture *capture)
{
    struct kymo_info info = {.size = sizeof info};
    int code = kymo_capture_info(capture, &info);
    int64_t calls = 0;
    /* Thread by thread: their order does not matter, and putting them in order costs. */
    for (uint64_t thread = 0; code >= 0 && thread < info.threads; thread++) {
        struct kymo_cursor *cursor;
        code = kymo_cursor_new(capture,
                               &(struct kymo_window){.size = sizeof(struct kymo_window),
                                                     .to = INT64_MAX,
                                                     .thread = (int64_t)thread},
                               &cursor);
        if (code < 0)
            break;
        /* No more is filled in than fits. */
        struct kymo_event event = {.size = offsetof(struct kymo_event, key)};
        while ((code = kymo_cursor_next(cursor, &event)) > 0)
            calls += event.kind == KYMO_ENTER && (event.detail == 0 || event.detail == 3);
        kymo_cursor_free(cursor);
    }
    return code < 0 ? code : calls;
}

static PyObject *count(PyObject *module, PyObject *arg)
{
    PyObject *bytes;
    PyObject *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    int64_t calls = 0;
    struct kymo_capture *capture;
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_open(PyBytes_AS_STRING(bytes), &capture);
    if (code >= 0) {
        calls = count_calls(capture);
        code = calls < 0 ? (int)calls : 0;
        kymo_close(capture);
    }
    PyEval_RestoreThread(thread);
    Py_DECREF(bytes);
    PyObject *result = code < 0 ? kymo__raise(kymo__core_of_module(module), code, path)
                                : PyLong_FromLongLong(calls);
    Py_DECREF(path);
    return result;
}

/* after_fork(): this is a child that was forked while its parent was traced. The session is
   the parent's; what of it lives in the interpreter was copied, and goes. */
static PyObject *after_fork(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (!kymo_running() && kymo__tracing.wanted) {
        kymo__collector_remove();
        kymo__thunks_remove();
        kymo__hook_remove();
        kymo__functions_end();
        kymo__tracing.wanted = 0;
    }
    Py_RETURN_NONE;
}

/* Since 3.12 os.fork warns of threads, whosesoever they are. Ours are none of the program's:
   they rest while the main thread forks. */

static const void *forking; /* the frame that called os.fork, as an address; NULL: nobody did */
static int put_off;         /* how often starting to write was put off since */

enum { PUT_OFF_MOST = 100000 }; /* by then it is not a hook that runs */

/* True while a hook of somebody's runs, which os.fork called. */
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
    /* Where a hook is written in Python, pending calls are made in it. */
    if (forking && put_off++ < PUT_OFF_MOST && is_forking() &&
        Py_AddPendingCall(start_writing, ignored) == 0)
        return 0;
    forking = NULL;
    (void)kymo_writer_work(); /* without it threads write for themselves */
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
    Py_RETURN_NONE;
}

/* Some versions count the threads after this, but all before the main thread goes on. */
static PyObject *after_fork_in_parent(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (KYMO_FORK_WARNS && kymo_running() && Py_AddPendingCall(start_writing, NULL) < 0) {
        forking = NULL;
        start_writing(NULL);
    }
    Py_RETURN_NONE;
}

/* export_format(path): what its extension stands for, or None. */
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

PyMethodDef kymo__program_methods[] = {
    {"export_format", export_format, METH_O, "export_format(path)"},
    {"before_fork", before_fork, METH_NOARGS, "before_fork()"},
    {"after_fork_in_parent", after_fork_in_parent, METH_NOARGS, "after_fork_in_parent()"},
    {"after_fork", after_fork, METH_NOARGS, "after_fork()"},
    {"show_exception", show_exception, METH_O, "show_exception(error)"},
    {"count_calls", count, METH_O, "count_calls(path)"},
    {0},
};
