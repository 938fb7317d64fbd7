/* locals_312.h — the local variables of a thread's frames, from 3.12 on. */
#ifndef KYMO_EXT_LOCALS_312_H
#define KYMO_EXT_LOCALS_312_H

#include "compat.h"

typedef void kymo_local_fn(void *arg, PyObject *code, PyObject *name, PyObject *value);

/* Call FUNCTION for every local variable that has a value, innermost frame first. No other thread
   may run Python code meanwhile. */
static void kymo__locals(PyThreadState *state, kymo_local_fn *function, void *arg)
{
    const struct _PyInterpreterFrame *frame = KYMO_TOP_FRAME(state);
    for (; frame; frame = frame->previous) {
        if (frame->owner >= KYMO_OWNED_BY_NOBODY)
            continue;
        PyCodeObject *code = (PyCodeObject *)(uintptr_t)KYMO_FRAME_CODE(frame);
        if (!PyCode_Check(code))
            continue;
        for (int i = 0; i < code->co_nlocalsplus; i++) {
            PyObject *value = KYMO_FRAME_LOCAL(frame, i);
            if (value)
                function(arg, (PyObject *)code, PyTuple_GET_ITEM(code->co_localsplusnames, i),
                         value);
        }
    }
}

#endif
