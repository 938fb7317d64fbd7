/* ccalls.h — what the interpreter calls when it calls something that is not a Python
   function, and what that is called.

   A callable is known by the address of what defines it: the PyMethodDef of a C function,
   the type, and for what types share an address inside the type. Names are read from those
   structures; no attribute is looked up and no code of anybody's runs. */
#ifndef KYMO_EXT_CCALLS_H
#define KYMO_EXT_CCALLS_H

#include "compat.h"

#include <stddef.h>
#include <stdint.h>

/* A method-wrapper, which the API shows no structure of; the same in 3.10 to 3.15. */
struct method_wrapper {
    PyObject_HEAD PyWrapperDescrObject *descr;
    PyObject *self;
};

/* The type of method-wrappers, which the API does not show either; the definition of
   __new__, which all types share; and that of object's __repr__, from which those of the
   other slots are counted. */
extern PyTypeObject *kymo__method_wrapper_type;
extern PyMethodDef *kymo__new_definition;
extern struct wrapperbase *kymo__repr_slot;

/* Find out what the API does not show; 0, or -1 with an exception. */
int kymo__callables_init(void);

/* Types are large: addresses inside one are nobody else's, and name what belongs to it. */
enum inside_type {
    INSIDE_INSTANCE = 1, /* the call of an instance; all of a type are alike */
    INSIDE_NEW = 2,      /* the call of its __new__ */
    INSIDE_SLOT = 128,   /* the call of its slot __repr__; the other slots lie around it */
};

/* All types share the definition of a slot; wrappers differ by their type. */
static inline const void *kymo__slot_address(const PyWrapperDescrObject *descr)
{
    ptrdiff_t slot = ((intptr_t)descr->d_base - (intptr_t)kymo__repr_slot) /
                     (ptrdiff_t)sizeof(struct wrapperbase);
    if (slot <= -INSIDE_SLOT / 2 || slot >= INSIDE_SLOT)
        return descr->d_base; /* from a table of somebody else's */
    return (const char *)PyDescr_TYPE(descr) + INSIDE_SLOT + slot;
}

/* The address of what defines CALLABLE, or NULL for a Python function: that one reports
   itself. */
static inline const void *kymo__callable_address(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    /* To the bottom: some versions report a method when it is called, and what it is
       bound to when that returns. */
    while (type == &PyMethod_Type) {
        callable = PyMethod_GET_FUNCTION(callable);
        type = Py_TYPE(callable);
    }
    if (type == &PyFunction_Type)
        return NULL;
    if (type == &PyCFunction_Type || type == &PyCMethod_Type) {
        const PyCFunctionObject *f = (PyCFunctionObject *)callable;
        if (__builtin_expect(f->m_ml == kymo__new_definition, 0))
            return (const char *)f->m_self + INSIDE_NEW;
        return f->m_ml;
    }
    if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type)
        return ((PyMethodDescrObject *)callable)->d_method;
    if (PyType_Check(callable))
        return callable;
    if (type == &PyWrapperDescr_Type)
        return kymo__slot_address((PyWrapperDescrObject *)callable);
    if (type == kymo__method_wrapper_type)
        return kymo__slot_address(((struct method_wrapper *)callable)->descr);
    return (const char *)type + INSIDE_INSTANCE;
}

/* A key for CALLABLE, whose address is ADDRESS; KYMO_LEFT_OUT when filters say so, 0 when
   there is no room. May leave an exception set. */
uint32_t kymo__callable_key(PyObject *callable, const void *address);

/* A session begins; 0, or -1 with an exception. It is over. */
int kymo__callables_begin(void);
void kymo__callables_end(void);

#endif
