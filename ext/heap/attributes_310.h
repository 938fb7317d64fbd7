/* attributes_310.h — on 3.10 attributes are in slots and dicts only. See attributes_311.h. */
#ifndef KYMO_EXT_ATTRIBUTES_310_H
#define KYMO_EXT_ATTRIBUTES_310_H

#include "compat.h"

static PyObject *kymo__attribute_holding(PyObject *Py_UNUSED(object), PyObject *Py_UNUSED(value))
{
    return NULL;
}

#endif
