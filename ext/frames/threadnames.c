/* threadnames.c — see threadnames.h. */
#include "threadnames.h"

#include "core.h"

PyObject *kymo__own_attribute(PyObject *object, const char *name)
{
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    PyObject *value = dict && PyDict_CheckExact(dict) ? kymo__dict_get(dict, name) : NULL;
    Py_XDECREF(dict);
    PyErr_Clear();
    return value;
}

/* threading._active: Thread objects by ident. A new reference, or NULL. */
static PyObject *active_threads(void)
{
    PyObject *modules = kymo__modules(), *active = NULL;
    PyObject *threading = modules ? kymo__dict_get(modules, "threading") : NULL;
    if (threading && PyModule_Check(threading))
        active = kymo__dict_get(PyModule_GetDict(threading), "_active");
    Py_XDECREF(threading);
    if (active && !PyDict_CheckExact(active))
        Py_CLEAR(active);
    return active;
}

static void name_thread(PyObject *thread, void (*name)(uint32_t tid, const char *text))
{
    PyObject *native = kymo__own_attribute(thread, "_native_id");
    PyObject *text = kymo__own_attribute(thread, "_name"), *owner = NULL;
    long tid = native && PyLong_CheckExact(native) ? PyLong_AsLong(native) : 0;
    const char *utf8 =
        tid > 0 && text && PyUnicode_Check(text) ? kymo__text_utf8(text, &owner) : NULL;
    if (utf8)
        name((uint32_t)tid, utf8);
    PyErr_Clear();
    Py_XDECREF(owner);
    Py_XDECREF(text);
    Py_XDECREF(native);
}

void kymo__threads_name(void (*name)(uint32_t tid, const char *text))
{
    PyObject *active = active_threads(), *thread;
    Py_ssize_t position = 0;
    if (!active)
        return;
    Py_BEGIN_CRITICAL_SECTION(active);
    while (PyDict_Next(active, &position, NULL, &thread)) {
        Py_INCREF(thread); /* what follows may collect garbage */
        name_thread(thread, name);
        Py_DECREF(thread);
    }
    Py_END_CRITICAL_SECTION();
    Py_DECREF(active);
}
