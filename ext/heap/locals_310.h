/* locals_310.h — the local variables of a thread's frames, on 3.10. See locals_312.h. */
#ifndef KYMO_EXT_LOCALS_310_H
#define KYMO_EXT_LOCALS_310_H

#include "compat.h"

#include <frameobject.h>

typedef void kymo_local_fn(void *arg, PyObject *code, PyObject *name, PyObject *value);

static void kymo__locals(PyThreadState *state, kymo_local_fn *function, void *arg)
{
    for (PyFrameObject *frame = state->frame; frame; frame = frame->f_back) {
        PyCodeObject *code = frame->f_code;
        PyObject *const names[] = {code->co_varnames, code->co_cellvars, code->co_freevars};
        PyObject **value = frame->f_localsplus;
        for (int kind = 0; kind < 3; kind++) {
            Py_ssize_t count = kind ? PyTuple_GET_SIZE(names[kind]) : code->co_nlocals;
            for (Py_ssize_t i = 0; i < count; i++, value++)
                if (*value)
                    function(arg, (PyObject *)code, PyTuple_GET_ITEM(names[kind], i), *value);
        }
    }
}

#endif
