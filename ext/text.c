/* text.c — text across the border: Python's str on one side, the library's UTF-8
   without NUL on the other. Neither direction fails for a character. */
#include "core.h"

PyObject *kymo__text_from(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* TEXT with every NUL written as its escape, a new reference. */
static PyObject *escape_nul(PyObject *text)
{
    PyObject *nul = PyUnicode_FromStringAndSize("\0", 1);
    PyObject *escape = PyUnicode_FromString("\\x00");
    PyObject *result = NULL;
    if (nul && escape)
        result = PyUnicode_Replace(text, nul, escape, -1);
    Py_XDECREF(nul);
    Py_XDECREF(escape);
    return result;
}

/* TEXT as bytes, for those texts that have no UTF-8 form of their own. */
static const char *utf8_escaped(PyObject *text, PyObject **owner)
{
    PyObject *plain = escape_nul(text);
    if (!plain)
        return NULL;
    *owner = PyUnicode_AsEncodedString(plain, "utf-8", "backslashreplace");
    Py_DECREF(plain);
    return *owner ? PyBytes_AsString(*owner) : NULL;
}

const char *kymo__text_utf8(PyObject *text, PyObject **owner)
{
    *owner = NULL;
    Py_ssize_t length;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length);
    if (utf8 && !memchr(utf8, 0, (size_t)length))
        return utf8;
    if (!utf8) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return NULL;
        PyErr_Clear();
    }
    return utf8_escaped(text, owner);
}

PyObject *kymo__text_path(PyObject *arg, PyObject **bytes)
{
    PyObject *path;
    *bytes = NULL;
    if (!PyUnicode_FSDecoder(arg, &path))
        return NULL;
    *bytes = PyUnicode_EncodeFSDefault(path);
    if (!*bytes)
        Py_CLEAR(path);
    return path;
}
