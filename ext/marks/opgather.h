/* opgather.h — Python objects as the arguments of an operator. Only what can be read without
   running code of the program is: numbers, texts, lists, tuples, and what exports a buffer from C,
   such as arrays of numpy. Everything else is recorded as the name of its type. */
#ifndef KYMO_EXT_OPGATHER_H
#define KYMO_EXT_OPGATHER_H

#include "core.h"

#include <kymo/op.h>

enum { KYMO__GATHER_FEW = 16, KYMO__GATHER_DIMS = 64, KYMO__GATHER_OWNERS = 16 };

struct kymo__gather {
    struct kymo_op_value *values;
    size_t count, capacity;
    int64_t *dims; /* shapes and strides of values */
    size_t dim_count, dim_capacity;
    PyObject **owners; /* what values point into */
    size_t owner_count, owner_capacity;
    struct kymo_op_value few[KYMO__GATHER_FEW]; /* the first; more are allocated */
    int64_t few_dims[KYMO__GATHER_DIMS];
    PyObject *few_owners[KYMO__GATHER_OWNERS];
};

/* Gather the arguments in SEQUENCE: its items if it is a tuple or list, else itself. NULL: none. Never
   raises. FINI must follow, after the values were used. */
void kymo__gather_init(struct kymo__gather *g, PyObject *sequence);

/* Add the arguments that KEYWORDS, a dict or NULL, has as values, in its order. */
void kymo__gather_keywords(struct kymo__gather *g, PyObject *keywords);

/* Name the arguments from value FIRST on: NAMES has COUNT names. */
void kymo__gather_name(struct kymo__gather *g, size_t first, const char *const *names,
                       Py_ssize_t count);

void kymo__gather_fini(struct kymo__gather *g);

/* Set by the torch source: reads OBJECT into VALUE if it is a tensor of torch. False: it is not, or
   cannot be read. Its shape is lent while OBJECT lives. */
extern bool (*kymo__gather_tensor)(PyObject *object, struct kymo_op_value *value);

#endif
