/* text.c — convert between Python's str and the library's UTF-8 without NUL. No character makes
   either direction fail. */
#include "core.h"

PyObject *kymo__text_from(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* TEXT with every NUL replaced by its escape; a new reference. */
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

/* TEXT as bytes, for texts that have no UTF-8 form. */
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

size_t kymo__text_encode(Py_UCS4 c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd; /* lone surrogate: usually undecodable bytes of a file name */
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 63));
        to[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63));
    to[3] = (char)(0x80 | (c & 63));
    return 4;
}
