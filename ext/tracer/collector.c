/* collector.c — garbage collections as slices, through gc.callbacks. */
#include "tracer.h"

#include <string.h>

static PyObject *callback; /* our entry in gc.callbacks, while installed */
static uint32_t slice_key, generation_key, collected_key, uncollectable_key;

static uint64_t number_of(PyObject *info, const char *name)
{
    PyObject *value = PyDict_GetItemString(info, name);
    return value ? (uint64_t)PyLong_AsUnsignedLongLong(value) : 0;
}

static PyObject *collection_at(PyObject *args, uint64_t ticks)
{
    const char *phase;
    PyObject *info;
    if (!PyArg_ParseTuple(args, "sO!", &phase, &PyDict_Type, &info))
        return NULL;
    if (!slice_key)
        Py_RETURN_NONE;
    if (strcmp(phase, "start") == 0) {
        kymo__trace_at(KYMO_ENTER, 0, slice_key, kymo_ticks());
        kymo__trace_value(KYMO_ARG, generation_key, number_of(info, "generation"));
    } else {
        kymo__trace_at(KYMO_LEAVE, 0, slice_key, ticks);
        kymo__trace_value(KYMO_ARG, collected_key, number_of(info, "collected"));
        kymo__trace_value(KYMO_ARG, uncollectable_key, number_of(info, "uncollectable"));
    }
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *on_collection(PyObject *Py_UNUSED(self), PyObject *args)
{
    kymo__frames_check(false);
    PyObject *result = collection_at(args, kymo__stamp_begin());
    kymo__stamp_end();
    return result;
}

static PyMethodDef on_collection_def = {"kymo_gc", on_collection, METH_VARARGS, NULL};

/* gc.callbacks, or NULL with an exception. */
static PyObject *callbacks(void)
{
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *list = gc ? PyObject_GetAttrString(gc, "callbacks") : NULL;
    Py_XDECREF(gc);
    if (list && !PyList_Check(list)) {
        Py_DECREF(list);
        PyErr_SetString(PyExc_TypeError, "gc.callbacks is not a list");
        return NULL;
    }
    return list;
}

int kymo__collector_install(void)
{
    slice_key = kymo__name_key("Python GC", KYMO_CLASS_GC);
    generation_key = kymo__name_key("generation", KYMO_CLASS_NAME);
    collected_key = kymo__name_key("collected", KYMO_CLASS_NAME);
    uncollectable_key = kymo__name_key("uncollectable", KYMO_CLASS_NAME);
    if (callback)
        return 0; /* a forked child has its parent's */
    PyObject *list = callbacks();
    callback = list ? PyCFunction_New(&on_collection_def, NULL) : NULL;
    int rc = callback ? PyList_Append(list, callback) : -1;
    Py_XDECREF(list);
    if (rc < 0)
        Py_CLEAR(callback);
    return rc;
}

void kymo__collector_remove(void)
{
    if (!callback)
        return;
    slice_key = 0;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* the caller may already have an exception set */
    PyObject *list = callbacks();
    for (Py_ssize_t i = list ? PyList_GET_SIZE(list) : 0; i-- > 0;)
        if (PyList_GET_ITEM(list, i) == callback && PySequence_DelItem(list, i) < 0)
            PyErr_Clear();
    PyErr_Clear();
    Py_XDECREF(list);
    Py_CLEAR(callback);
    PyErr_Restore(type, value, trace);
}
