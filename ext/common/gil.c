/* gil.c — see core.h.

   On a thread that Python does not know, PyGILState_Ensure makes a thread state first. Where that
   must not happen while another thread forks (see forkgate.c), a function of its own makes it. */
#include "core.h"

static PyThreadState *make_state(void)
{
#if KYMO_FORK_KEEPS_LOCKS
    if (PyGILState_GetThisThreadState())
        return NULL;
    kymo__fork_gate_enter_unknown();
    PyThreadState *made = PyThreadState_New(PyInterpreterState_Main());
    kymo__fork_gate_leave();
    return made;
#else
    return NULL;
#endif
}

struct kymo__gil kymo__gil_take(void)
{
    struct kymo__gil gil = {.made = make_state()};
    if (gil.made)
        PyEval_RestoreThread(gil.made);
    else
        gil.before = PyGILState_Ensure();
    return gil;
}

void kymo__gil_give(struct kymo__gil gil)
{
    if (!gil.made) {
        PyGILState_Release(gil.before);
        return;
    }
    PyThreadState_Clear(gil.made);
    PyThreadState_DeleteCurrent();
}
