/* ccalls.h — identify and name callables that are not Python functions.

   A callable is identified by the address of its definition: the PyMethodDef of a C function,
   the type, or, for what types share, an address inside the type. Objects of C types that have
   their own name (Cython functions, numpy ufuncs) are identified by their own address. Names are
   read from those structures, from the object's dict and through the descriptors of C types;
   none of the program's code runs. */
#ifndef KYMO_EXT_CCALLS_H
#define KYMO_EXT_CCALLS_H

#include "compat.h"
#include "keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A method-wrapper, whose structure is not in the API; the same in 3.10 to 3.15. */
struct method_wrapper {
    PyObject_HEAD PyWrapperDescrObject *descr;
    PyObject *self;
};

/* The type of method-wrappers, which the API does not expose either; the definition of __new__,
   which all types share; and that of object's __repr__, from which the other slots are counted. */
extern PyTypeObject *kymo__method_wrapper_type;
extern PyMethodDef *kymo__new_definition;
extern struct wrapperbase *kymo__repr_slot;

/* functools.partial, and where its function is in an object. */
extern PyTypeObject *kymo__partial_type;
extern Py_ssize_t kymo__partial_function;

/* Find what the API does not expose. Returns 0, or -1 with an exception. */
int kymo__callables_init(void);

/* Type objects are large: nobody else uses addresses inside one, so these identify what belongs
   to the type. */
enum inside_type {
    INSIDE_INSTANCE = 1, /* the call of an instance; all instances share it */
    INSIDE_NEW = 2,      /* the call of its __new__ */
    INSIDE_PARTIAL = 3,  /* in any callable's definition: the call of a partial around it */
    INSIDE_SLOT = 128,   /* the call of its slot __repr__; the other slots are around it */
};

/* All types share the definition of a slot; wrappers differ by their type. */
static inline const void *kymo__slot_address(const PyWrapperDescrObject *descr)
{
    ptrdiff_t slot = ((intptr_t)descr->d_base - (intptr_t)kymo__repr_slot) /
                     (ptrdiff_t)sizeof(struct wrapperbase);
    if (slot <= -INSIDE_SLOT / 2 || slot >= INSIDE_SLOT)
        return descr->d_base; /* from another library's table */
    return (const char *)PyDescr_TYPE(descr) + INSIDE_SLOT + slot;
}

/* The address for OBJECT, which is of a type that the interpreter does not create itself. */
const void *kymo__object_address(PyObject *object);

/* The address of CALLABLE's definition, or NULL for a Python function, which reports itself. */
static inline const void *kymo__callable_address(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    /* Unwrap fully: some versions report a method when it is called, and the function it wraps
       when that returns. */
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
    return kymo__object_address(callable);
}

/* A key for CALLABLE, whose address is ADDRESS; KYMO_LEFT_OUT when filters exclude it, 0 when
   there is no room. May leave an exception set. */
uint32_t kymo__callable_key(PyObject *callable, const void *address);

/* Does CALLABLE, identified by its type so far, have its own name? */
bool kymo__has_own_name(PyObject *callable);

/* A session begins; 0, or -1 with an exception. The session is over. */
int kymo__callables_begin(void);
void kymo__callables_end(void);

#endif
