/* attributes_311.h — attributes kept in the instance itself, which since 3.11 has no dict until
   someone asks for it. Asking would create one, so the names are read from the type. */
#ifndef KYMO_EXT_ATTRIBUTES_311_H
#define KYMO_EXT_ATTRIBUTES_311_H

#include "compat.h"

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* 3.12's internal headers define a function of that name */
#include <internal/pycore_dict.h>
#undef Py_BUILD_CORE

/* The name of the attribute of OBJECT that holds VALUE, borrowed; NULL if no attribute kept in the
   instance does. */
static PyObject *kymo__attribute_holding(PyObject *object, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(object);
    if (!KYMO_HAS_INLINE_VALUES(type))
        return NULL;
    const PyDictValues *values = KYMO_INLINE_VALUES(object);
    PyDictKeysObject *keys = ((PyHeapTypeObject *)type)->ht_cached_keys;
    if (!values || !keys || keys->dk_kind == DICT_KEYS_GENERAL)
        return NULL;
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++)
        if (values->values[i] == value)
            return DK_UNICODE_ENTRIES(keys)[i].me_key;
    return NULL;
}

#endif
