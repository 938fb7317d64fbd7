/* dumps.c — the stacks of all threads as text, on request and in a crash: stackdump.h of libkymo
   for Python. */
#include "stackobjects.h"

#include <errno.h>
#include <kymo/stackdump.h>
#include <kymo/symbol.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The names of Python's threads, from a list of (tid, name); *OWNER holds the texts. */
static struct kymo_thread_title *titles_of(PyObject *list, PyObject **owner)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    struct kymo_thread_title *titles = calloc((size_t)count + 1, sizeof *titles);
    *owner = PyList_New(0);
    if (!titles || !*owner) {
        free(titles);
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name, *text = NULL;
        unsigned tid;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "IU", &tid, &name)) {
            free(titles);
            return NULL;
        }
        titles[i].tid = tid;
        titles[i].title = kymo__text_utf8(name, &text);
        if (text)
            PyList_Append(*owner, text);
        Py_XDECREF(text);
        if (!titles[i].title)
            titles[i].title = "";
        PyErr_Clear();
    }
    return titles;
}

/* Everything that can be read from FD, as text. */
static PyObject *text_of(int fd)
{
    off_t bytes = lseek(fd, 0, SEEK_END);
    PyObject *whole = bytes < 0 ? NULL : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    Py_ssize_t at = 0;
    while (whole && at < bytes) {
        ssize_t n = pread(fd, PyBytes_AS_STRING(whole) + at, (size_t)(bytes - at), (off_t)at);
        if (n <= 0)
            Py_CLEAR(whole);
        else
            at += n;
    }
    if (!whole)
        return PyErr_Occurred() ? NULL : PyErr_SetFromErrno(PyExc_OSError);
    PyObject *text = PyUnicode_DecodeUTF8(PyBytes_AS_STRING(whole), at, "replace");
    Py_DECREF(whole);
    return text;
}

/* Keeps the GIL until the stacks are captured, so that no Python code runs meanwhile; threads do
   not need it to answer. */
static PyObject *stacks_text(PyObject *module, PyObject *args)
{
    PyObject *list, *owner = NULL, *text = NULL;
    int raw_only;
    if (!PyArg_ParseTuple(args, "O!p", &PyList_Type, &list, &raw_only))
        return NULL;
    struct kymo_thread_title *titles = titles_of(list, &owner);
    int raw = memfd_create("kymograph-raw", MFD_CLOEXEC),
        out = memfd_create("kymograph-out", MFD_CLOEXEC);
    int rc = raw < 0 || out < 0 ? -errno : 0;
    if (!titles)
        goto done;
    if (rc == 0)
        rc = kymo_stacks_write(raw, titles, (size_t)PyList_GET_SIZE(list));
    if (rc == 0 && !raw_only) {
        Py_BEGIN_ALLOW_THREADS lseek(raw, 0, SEEK_SET);
        rc = kymo_stacks_print(raw, out, KYMO_SYMBOL_FULL);
        Py_END_ALLOW_THREADS
    }
    if (rc < 0)
        kymo__raise(kymo__core_of_module(module), rc, NULL);
    else
        text = text_of(raw_only ? raw : out);
done:
    if (raw >= 0)
        close(raw);
    if (out >= 0)
        close(out);
    free(titles);
    Py_XDECREF(owner);
    return text;
}

static PyObject *crash_stacks(PyObject *module, PyObject *args)
{
    PyObject *path = NULL;
    int on, rc;
    if (!PyArg_ParseTuple(args, "pO&", &on, PyUnicode_FSConverter, &path))
        return NULL;
    const char *program = PyBytes_GET_SIZE(path) ? PyBytes_AS_STRING(path) : NULL;
    Py_BEGIN_ALLOW_THREADS rc = kymo_crash_stacks(on, program);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (rc < 0)
        return kymo__raise(kymo__core_of_module(module), rc, NULL);
    Py_RETURN_NONE;
}

PyMethodDef kymo__dumps_methods[] = {
    {"stacks_text", stacks_text, METH_VARARGS,
     "stacks_text($module, titles, raw, /)\n--\n\n"
     "Return the stacks of all threads; titles are pairs of system thread id and name."},
    {"crash_stacks", crash_stacks, METH_VARARGS,
     "crash_stacks($module, on, program, /)\n--\n\n"
     "Print the stacks of all threads when a signal ends the process."},
    {0},
};
