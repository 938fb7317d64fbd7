/* ccalls.h — what the interpreter calls when it calls something that is not a Python
   function, and what that is called.

   A callable is known by the address of what defines it: the PyMethodDef of a C function,
   the slot of a wrapper, the type. Names are read from those structures; no attribute is
   looked up and no code of anybody's runs. */
#ifndef KYMO_EXT_CCALLS_H
#define KYMO_EXT_CCALLS_H

#include "compat.h"

#include <stdint.h>

/* A method-wrapper, which the API shows no structure of; the same in 3.10 to 3.15. */
struct method_wrapper {
    PyObject_HEAD
    PyWrapperDescrObject *descr;
    PyObject *self;
};

/* The type of method-wrappers, which the API does not show either. */
extern PyTypeObject *kymo__method_wrapper_type;

/* Find out what the API does not show; 0, or -1 with an exception. */
int kymo__callables_init(void);

/* The address of what defines CALLABLE, or NULL for a Python function: that one reports
   itself. */
static inline const void *kymo__callable_address(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    if (type == &PyFunction_Type)
        return NULL;
    if (type == &PyMethod_Type) {
        callable = PyMethod_GET_FUNCTION(callable);
        type = Py_TYPE(callable);
        if (type == &PyFunction_Type)
            return NULL;
    }
    if (type == &PyCFunction_Type || type == &PyCMethod_Type)
        return ((PyCFunctionObject *)callable)->m_ml;
    if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type)
        return ((PyMethodDescrObject *)callable)->d_method;
    if (PyType_Check(callable))
        return callable;
    if (type == &PyWrapperDescr_Type)
        return ((PyWrapperDescrObject *)callable)->d_base;
    if (type == kymo__method_wrapper_type)
        return ((struct method_wrapper *)callable)->descr->d_base;
    /* Any other object: all of a type are alike. The odd address keeps a call of an
       instance apart from a call of the type. */
    return (const char *)type + 1;
}

/* A key for CALLABLE, whose address is ADDRESS; KYMO_LEFT_OUT when filters say so, 0 when
   there is no room. May leave an exception set. */
uint32_t kymo__callable_key(PyObject *callable, const void *address);

/* The session is over. */
void kymo__callables_end(void);

#endif
