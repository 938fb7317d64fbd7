/* marking.c — marks from Python. They never raise if something cannot be recorded; they raise for
   arguments of the wrong type, whether or not a session runs. */
#include "core.h"
#include "marks.h"
#include "methods.h"

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static bool is_text(PyObject *value, const char *what)
{
    if (PyUnicode_Check(value))
        return true;
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %.100s", what, Py_TYPE(value)->tp_name);
    return false;
}

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

/* Flows and async spans: a name and an id. Ids are taken modulo 2**64, so that results of id() and
   hash() can be used. */
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

/* Pass TEXT to a function that copies it. */
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
    PyObject *key_owner = NULL, *value_owner = NULL;
    if (!has_two("metadata", count) || !is_text(args[0], "a key"))
        return NULL;
    PyObject *text = PyObject_Str(args[1]);
    const char *key = text ? kymo__text_utf8(args[0], &key_owner) : NULL;
    const char *value = key ? kymo__text_utf8(text, &value_owner) : NULL;
    if (value)
        kymo_metadata(key, value);
    Py_XDECREF(key_owner);
    Py_XDECREF(value_owner);
    Py_XDECREF(text);
    if (!value)
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef kymo__marking_methods[] = {
    {"span_with", kymo__span_with, METH_O, "span_with((name, name of a text, text, ...))"},
    {"span_like", kymo__span_like, METH_O, "span_like(span)"},
    {"mute_spans", kymo__spans_mute, METH_O,
     "mute_spans($module, flag, /)\n--\n\n"
     "Stop recording spans in the running session, or start again; open ones end as usual."},
    {"instant", mark_instant, METH_O, "instant($module, name, /)\n--\n\nMark this moment."},
    {"counter", FAST(mark_counter), METH_FASTCALL,
     "counter($module, name, value, /)\n--\n\nRecord that NAME has VALUE from now on."},
    {"flow_out", FAST(mark_flow_out), METH_FASTCALL,
     "flow_out($module, name, id, /)\n--\n\n"
     "Start an arrow at the open span; flow_in with the same name and id ends it."},
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
     "Attach KEY = str(VALUE) to the capture; a key given twice keeps its last value."},
    {0},
};
