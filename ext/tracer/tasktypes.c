/* tasktypes.c — see tasktypes.h. */
#include "tasktypes.h"

#include <string.h>

/* The task type that TYPE is or is derived from, or NULL. */
static PyTypeObject *task_type(const PyTypeObject *type)
{
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (strcmp(base->tp_name, "_asyncio.Task") == 0)
            return base;
    }
    return NULL;
}

bool kymo__is_task_type(PyTypeObject *type)
{
    return task_type(type) != NULL;
}

/* Methods of the task type itself: an override would run the program's code. Calling them creates
   no object. */
static PyTypeObject *asked_type; /* the type that has them; kept alive by them */
static PyObject *done_method, *coro_method;

KYMO_SECTION(types_section);

static bool know_methods(PyTypeObject *type)
{
    if (__atomic_load_n(&asked_type, __ATOMIC_ACQUIRE) == type)
        return true;
    PyObject *done = PyObject_GetAttrString((PyObject *)type, "done");
    PyObject *coro = PyObject_GetAttrString((PyObject *)type, "get_coro");
    PyErr_Clear();
    KYMO_SECTION_LOCK(types_section);
    bool first = !asked_type && done && coro;
    if (first) {
        done_method = done;
        coro_method = coro;
        __atomic_store_n(&asked_type, type, __ATOMIC_RELEASE);
    }
    bool known = asked_type == type;
    KYMO_SECTION_UNLOCK(types_section);
    if (!first) {
        Py_XDECREF(done);
        Py_XDECREF(coro);
    }
    return known;
}

/* A task that was already done when it was created has no coroutine, and 3.12.1 crashes when asked
   for it. */
PyObject *kymo__task_coro(PyObject *object)
{
    PyTypeObject *type = object ? task_type(Py_TYPE(object)) : NULL;
    if (!type || !know_methods(type))
        return NULL;
    PyObject *done = PyObject_CallOneArg(done_method, object);
    PyObject *coro = done == Py_False ? PyObject_CallOneArg(coro_method, object) : NULL;
    Py_XDECREF(done);
    PyErr_Clear();
    return coro;
}

PyObject *kymo__task_code(PyObject *object)
{
    PyObject *coro = kymo__task_coro(object);
    const void *frame = coro ? KYMO_COROUTINE_FRAME(coro) : NULL;
    PyObject *code = frame ? KYMO_COROUTINE_CODE(coro) : NULL;
    Py_XDECREF(coro);
    return code;
}

void kymo__task_types_reset(void)
{
    asked_type = NULL;
    Py_CLEAR(done_method);
    Py_CLEAR(coro_method);
}
