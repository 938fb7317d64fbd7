/* spanmake.c — makes spans from what the program gives: a name, texts, or a function. */
#include "span.h"

/* @span without parentheses: a span with the function's name, which decorates it. */
static PyObject *decorate_at_once(PyObject *module, PyObject *function)
{
    PyObject *name = PyObject_GetAttrString(function, "__qualname__");
    if (!name || !PyUnicode_Check(name)) {
        PyErr_Clear();
        Py_XDECREF(name);
        name = PyUnicode_FromString(Py_TYPE(function)->tp_name);
    }
    PyObject *span = name ? kymo__span_new(module, name) : NULL;
    PyObject *result = span ? kymo__span_decorate(span, function) : NULL;
    Py_XDECREF(span);
    Py_XDECREF(name);
    return result;
}

/* Put NAME and str(VALUE) at the end of TEXTS, which has *COUNT of its items. */
static int add_text(PyObject *texts, Py_ssize_t *count, PyObject *name, PyObject *value)
{
    PyObject *text = PyObject_Str(value);
    if (!text)
        return -1;
    PyTuple_SET_ITEM(texts, (*count)++, Py_NewRef(name));
    PyTuple_SET_ITEM(texts, (*count)++, text);
    return 0;
}

/* A span called NAME with the text ARGS, unless NULL, and the keywords NAMES, OWN of which are the
   program's: neither "name" nor "args". */
static PyObject *make_with(PyObject *module, PyObject *name, PyObject *args, PyObject *names,
                           PyObject *const *values, Py_ssize_t own)
{
    Py_ssize_t size = 1 + 2 * (own + (args != NULL)), count = 1;
    if (size > KYMO__TEXTS_MOST)
        return PyErr_Format(PyExc_TypeError, "a span takes at most %d arguments besides its name",
                            (KYMO__TEXTS_MOST - 1) / 2);
    PyObject *texts = PyTuple_New(size), *span = NULL;
    if (!texts)
        return NULL;
    PyTuple_SET_ITEM(texts, 0, Py_NewRef(name));
    int rc = args ? add_text(texts, &count, kymo__core_of_module(module)->args_word, args) : 0;
    for (Py_ssize_t i = 0; rc == 0 && count < size; i++) {
        PyObject *key = PyTuple_GET_ITEM(names, i);
        if (PyUnicode_CompareWithASCIIString(key, "name") != 0 &&
            PyUnicode_CompareWithASCIIString(key, "args") != 0)
            rc = add_text(texts, &count, key, values[i]);
    }
    if (rc == 0)
        span = kymo__span_with(module, texts);
    Py_DECREF(texts);
    return span;
}

PyObject *kymo__span_make(PyObject *type, PyObject *const *args, size_t flags, PyObject *names)
{
    Py_ssize_t count = PyVectorcall_NARGS(flags), own = 0;
    PyObject *module = ((PyHeapTypeObject *)type)->ht_module;
    if (__builtin_expect(count == 1 && !names, 1)) {
        if (!PyUnicode_Check(args[0]) && PyCallable_Check(args[0]))
            return decorate_at_once(module, args[0]);
        return kymo__span_new(module, args[0]);
    }
    PyObject *given[2] = {count > 0 ? args[0] : NULL, count > 1 ? args[1] : NULL};
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *key = PyTuple_GET_ITEM(names, i);
        bool first = PyUnicode_CompareWithASCIIString(key, "name") == 0;
        if (!first && PyUnicode_CompareWithASCIIString(key, "args") != 0)
            own++;
        else if (given[!first])
            return PyErr_Format(PyExc_TypeError, "a span got two values for '%U'", key);
        else
            given[!first] = args[count + i];
    }
    if (count > 2 || !given[0])
        return PyErr_Format(PyExc_TypeError,
                            count > 2
                                ? "a span takes a name and a text; give other values by keyword"
                                : "a span needs a name");
    if (given[1] == Py_None)
        given[1] = NULL;
    if (given[1] && !PyUnicode_Check(given[1]))
        return PyErr_Format(PyExc_TypeError, "args must be a str, not %.100s",
                            Py_TYPE(given[1])->tp_name);
    if (!given[1] && !own)
        return kymo__span_new(module, given[0]);
    return make_with(module, given[0], given[1], names, args + count, own);
}
