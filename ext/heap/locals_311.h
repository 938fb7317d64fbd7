/* locals_311.h — the local variables of a thread's frames, on 3.11. See locals_312.h. */
#ifndef KYMO_EXT_LOCALS_311_H
#define KYMO_EXT_LOCALS_311_H

#include "compat.h"

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

typedef void kymo_local_fn(void *arg, PyObject *code, PyObject *name, PyObject *value);

static void kymo__locals(PyThreadState *state, kymo_local_fn *function, void *arg)
{
    const struct _PyInterpreterFrame *frame = state->cframe->current_frame;
    for (; frame; frame = frame->previous) {
        PyCodeObject *code = frame->f_code;
        for (int i = 0; i < code->co_nlocalsplus; i++) {
            PyObject *value = frame->localsplus[i];
            if (value)
                function(arg, (PyObject *)code, PyTuple_GET_ITEM(code->co_localsplusnames, i),
                         value);
        }
    }
}

#endif
