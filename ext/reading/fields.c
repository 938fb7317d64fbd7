/* fields.c — the fields of a payload as a dict: numbers, str, bytes, and tuples for lists. */
#include <kymo/payload.h>

#include "reading.h"

static PyObject *value_of(const struct kymo_capture *capture, struct kymo_value *value);

static PyObject *list_of(const struct kymo_capture *capture, struct kymo_value *list)
{
    struct kymo_value one = {.size = sizeof one};
    PyObject *tuple = PyTuple_New((Py_ssize_t)list->length);
    for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item =
            kymo_value_next(capture, list, &one) ? value_of(capture, &one) : Py_NewRef(Py_None);
        if (item)
            PyTuple_SET_ITEM(tuple, i, item);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *value_of(const struct kymo_capture *capture, struct kymo_value *value)
{
    switch (value->type) {
    case KYMO_FIELD_INT:
        return PyLong_FromLongLong(value->integer);
    case KYMO_FIELD_FLOAT:
        return PyFloat_FromDouble(value->real);
    case KYMO_FIELD_TEXT:
    case KYMO_FIELD_NAME:
        return PyUnicode_DecodeUTF8(value->text, (Py_ssize_t)value->length, "replace");
    case KYMO_FIELD_BYTES:
        return PyBytes_FromStringAndSize(value->text, (Py_ssize_t)value->length);
    }
    return value->type > KYMO_FIELD_NAME ? list_of(capture, value)
                                         : PyLong_FromUnsignedLongLong(value->number);
}

PyObject *kymo__fields_dict(const struct kymo_capture *capture, const struct kymo_event *event)
{
    PyObject *dict = PyDict_New();
    struct kymo_value value = {.size = sizeof value};
    for (unsigned i = 0; dict && kymo_event_value(capture, event, i, &value) == 0; i++) {
        PyObject *name = kymo__text_from(value.name);
        PyObject *object = name ? value_of(capture, &value) : NULL;
        if (!object || PyDict_SetItem(dict, name, object) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(name);
        Py_XDECREF(object);
    }
    return dict;
}
