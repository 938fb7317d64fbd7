/* torchannotate.c — spans for other listeners of torch: its profiler, its execution-trace observer.

   They see only annotations that go through torch. A span that does is recorded by our source too, if
   that listens, as an operator of torch's user scope. */
#include "core.h"
#include "marks.h"
#include "torchops.h"
#include "torchsource.h"

static PyObject *enter_function, *exit_function; /* of torch.autograd; kept for ever */

static PyObject *begin_range(PyObject *name, PyObject *text, bool *recorded)
{
    if (!kymo__torch_others())
        return NULL;
    PyObject *handle = PyObject_CallFunctionObjArgs(enter_function, name, text, NULL);
    if (!handle)
        PyErr_Clear();
    *recorded = handle && kymo__torch_listens();
    return handle;
}

static void end_range(PyObject *handle)
{
    PyObject *none = PyObject_CallFunctionObjArgs(exit_function, handle, NULL);
    if (!none)
        PyErr_Clear();
    Py_XDECREF(none);
    Py_DECREF(handle);
}

static const struct kymo__span_listener listener = {.begin = begin_range, .end = end_range};

PyObject *kymo__torch_annotate(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *enter, *leave;
    if (!PyArg_ParseTuple(args, "OO:torch_annotate", &enter, &leave))
        return NULL;
    if (!kymo__span_listener) {
        enter_function = Py_NewRef(enter);
        exit_function = Py_NewRef(leave);
        kymo__span_listener = &listener;
    }
    Py_RETURN_NONE;
}

PyObject *kymo__torch_others_listen(PyObject *Py_UNUSED(module), PyObject *flag)
{
    kymo__torch_others_set(flag == Py_True);
    Py_RETURN_NONE;
}
