/* captures.c — a Python extension for the benchmarks: captures of stacks in a loop, so that what
   is measured is the capture and not the call of it from Python. It is given the addresses of
   the functions; bench/bench_traceback.py compiles it. It is not part of the package. */
#include "compat.h"

#include <kymo/stack.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef kymo_stack capture_fn(unsigned parts, unsigned skip);
typedef void release_fn(kymo_stack stack);

/* capture(capture, release, parts, count): nanoseconds of one capture, and of one release. */
static PyObject *capture(PyObject *Py_UNUSED(module), PyObject *args)
{
    unsigned long long capture_at, release_at;
    unsigned parts;
    int count;
    if (!PyArg_ParseTuple(args, "KKIi", &capture_at, &release_at, &parts, &count))
        return NULL;
    capture_fn *take = (capture_fn *)(uintptr_t)capture_at;
    release_fn *release = (release_fn *)(uintptr_t)release_at;
    kymo_stack *stacks = PyMem_Malloc(sizeof *stacks * (size_t)count);
    if (!stacks)
        return PyErr_NoMemory();
    double start = now();
    for (int i = 0; i < count; i++)
        stacks[i] = take(parts, 0);
    double taken = now();
    for (int i = 0; i < count; i++)
        release(stacks[i]);
    double released = now();
    bool none = !stacks[0];
    PyMem_Free(stacks);
    if (none)
        return PyErr_Format(PyExc_RuntimeError, "nothing was captured");
    return Py_BuildValue("dd", (taken - start) / count, (released - taken) / count);
}

typedef int backtrace_fn(void **frames, int count);

/* backtrace(function, count): nanoseconds of one, and how many frames it found. */
static PyObject *backtrace(PyObject *Py_UNUSED(module), PyObject *args)
{
    unsigned long long at;
    int count, frames = 0;
    if (!PyArg_ParseTuple(args, "Ki", &at, &count))
        return NULL;
    backtrace_fn *take = (backtrace_fn *)(uintptr_t)at;
    void *found[1024];
    double start = now();
    for (int i = 0; i < count; i++)
        frames = take(found, 1024);
    return Py_BuildValue("di", (now() - start) / count, frames);
}

static PyMethodDef methods[] = {
    {"capture", capture, METH_VARARGS, NULL},
    {"backtrace", backtrace, METH_VARARGS, NULL},
    {0},
};

static PyModuleDef_Slot module_slots[] = {
    KYMO_LAST_SLOTS,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "captures",
    .m_methods = methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit_captures(void);
PyMODINIT_FUNC PyInit_captures(void)
{
    return PyModuleDef_Init(&module);
}
