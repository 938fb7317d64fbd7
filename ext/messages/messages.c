/* messages.c — builtins that take the place of os.write and os.read in multiprocessing's Connection,
   and of _socket.socketpair, whose results are the two ends of a connection. Each calls the real one
   with the same arguments. */
#include "messages.h"

#include "core.h"
#include "streams.h"

static const char arrow[] = "process message"; /* `merge` does not renumber these */

/* The real functions. They live as long as the interpreter. */
static PyObject *real_write, *real_read, *real_pair;

/* The descriptor ARG, or -1. */
static int descriptor(PyObject *arg)
{
    long fd = PyLong_CheckExact(arg) ? PyLong_AsLong(arg) : -1;
    if (fd == -1 && PyErr_Occurred())
        PyErr_Clear();
    return fd >= 0 && fd <= INT_MAX ? (int)fd : -1;
}

static PyObject *write_message(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    Py_buffer bytes;
    int fd = count == 2 ? descriptor(args[0]) : -1;
    if (fd < 0 || !PyObject_CheckBuffer(args[1]))
        return PyObject_Vectorcall(real_write, args, (size_t)count, NULL);
    if (PyObject_GetBuffer(args[1], &bytes, PyBUF_SIMPLE) < 0)
        return NULL; /* as the real one does */
    struct passage p;
    uint64_t id = kymo__stream_write(&p, fd, bytes.buf, (size_t)bytes.len);
    if (id)
        kymo_flow_out(arrow, id); /* before it can arrive */
    PyObject *result = PyObject_Vectorcall(real_write, args, (size_t)count, NULL);
    Py_ssize_t written = result ? PyLong_AsSsize_t(result) : 0;
    kymo__stream_wrote(&p, bytes.buf, written > 0 ? (size_t)written : 0);
    PyBuffer_Release(&bytes);
    return result;
}

static PyObject *read_message(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    int fd = count == 2 ? descriptor(args[0]) : -1;
    struct passage p = {0};
    if (fd >= 0)
        kymo__stream_read(&p, fd);
    PyObject *result = PyObject_Vectorcall(real_read, args, (size_t)count, NULL);
    bool got = result && PyBytes_CheckExact(result);
    uint64_t id = kymo__stream_got(&p, got ? PyBytes_AS_STRING(result) : NULL,
                                   got ? (size_t)PyBytes_GET_SIZE(result) : 0);
    if (id)
        kymo_flow_in(arrow, id);
    return result;
}

static PyObject *make_pair(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    PyObject *result = PyObject_Vectorcall(real_pair, args, (size_t)count, NULL);
    if (result && PyTuple_CheckExact(result) && PyTuple_GET_SIZE(result) == 2) {
        int a = PyObject_AsFileDescriptor(PyTuple_GET_ITEM(result, 0));
        int b = a < 0 ? -1 : PyObject_AsFileDescriptor(PyTuple_GET_ITEM(result, 1));
        if (b >= 0)
            kymo__streams_pair(a, b);
        else
            PyErr_Clear();
    }
    return result;
}

/* A builtin like FUNCTION, which CALL calls. */
static PyObject *like(PyMethodDef *definition, PyObject **real, PyObject *function,
                      PyObject *(*call)(PyObject *, PyObject *const *, Py_ssize_t))
{
    if (!PyCFunction_CheckExact(function))
        return PyErr_Format(PyExc_TypeError, "expected a builtin, not %.100s",
                            Py_TYPE(function)->tp_name);
    const PyMethodDef *known = ((PyCFunctionObject *)function)->m_ml;
    PyObject *name = PyObject_GetAttrString(function, "__module__");
    if (!name)
        return NULL;
    *real = Py_NewRef(function);
    *definition = (PyMethodDef){known->ml_name, (PyCFunction)(void (*)(void))call, METH_FASTCALL,
                                known->ml_doc};
    PyObject *made = PyCFunction_NewEx(definition, PyCFunction_GET_SELF(function), name);
    Py_DECREF(name);
    return made;
}

/* messages_watch(path, owned, write, read, socketpair): builtins to take the place of these three.
   The counts are in the file PATH, which this process makes if it OWNs it. */
static PyObject *watch_messages(PyObject *Py_UNUSED(module), PyObject *args)
{
    static PyMethodDef definitions[3];
    PyObject *path, *write, *read, *pair, *all = NULL;
    int owned;
    if (!PyArg_ParseTuple(args, "O&pOOO:messages_watch", PyUnicode_FSConverter, &path, &owned,
                          &write, &read, &pair))
        return NULL;
    int code = kymo__streams_init(PyBytes_AS_STRING(path), owned);
    Py_DECREF(path);
    if (code < 0)
        return PyErr_NoMemory();
    PyObject *a = like(&definitions[0], &real_write, write, write_message);
    PyObject *b = a ? like(&definitions[1], &real_read, read, read_message) : NULL;
    PyObject *c = b ? like(&definitions[2], &real_pair, pair, make_pair) : NULL;
    if (c)
        all = PyTuple_Pack(3, a, b, c);
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(c);
    return all;
}

static PyObject *ready(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    kymo__streams_ready();
    Py_RETURN_NONE;
}

static PyObject *end_messages(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    kymo__streams_end();
    Py_RETURN_NONE;
}

PyMethodDef kymo__messages_methods[] = {
    {"messages_watch", watch_messages, METH_VARARGS,
     "messages_watch(path, owned, write, read, socketpair)"},
    {"messages_ready", ready, METH_NOARGS, "messages_ready(): a process is about to start"},
    {"messages_end", end_messages, METH_NOARGS, "messages_end(): this process ends"},
    {0},
};
