/* watched.c — builtins that call another builtin and tell Python code about it. They take the place
   of functions such as os.fork: unlike a wrapper in Python they add no frame, so that warnings name
   the program's line, and they have the same name, module and signature. */
#include "core.h"
#include "marks.h"
#include "methods.h"
#include "tracer.h"

enum { WATCHED_MOST = 16 };

/* A builtin receives its module, not its definition, so each has a function of its own below. What
   they call lives as long as the interpreter. */
static struct watched {
    PyMethodDef definition;
    PyObject *function, *before, *after, *failed;
    PyObject *made;
} all[WATCHED_MOST];
static unsigned count;
static __thread const struct watched *calling; /* the innermost that this thread is calling */

/* RESULT of a function of ours, or None if it raised an Exception: the program comes first. */
static PyObject *guarded(PyObject *result)
{
    if (result || !PyErr_ExceptionMatches(PyExc_Exception))
        return result;
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

static PyObject *call_watched(const struct watched *w, PyObject *args, PyObject *keywords)
{
    PyObject *other = NULL, *ignored;
    if (w->before != Py_None) {
        other = guarded(PyObject_CallOneArg(w->before, args));
        if (!other)
            return NULL;
        if (PyTuple_Check(other))
            args = other;
    }
    const struct watched *outer = calling;
    calling = w;
    PyObject *result = PyObject_Call(w->function, args, keywords);
    calling = outer;
    if (w->after != Py_None && result) {
        ignored = guarded(PyObject_CallFunctionObjArgs(w->after, result, args, NULL));
        Py_XDECREF(ignored);
        if (!ignored)
            Py_CLEAR(result);
    }
    if (w->failed != Py_None && !result) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        ignored = PyObject_CallNoArgs(w->failed);
        Py_XDECREF(ignored);
        PyErr_Restore(type, value, traceback);
    }
    Py_XDECREF(other);
    return result;
}

#define EACH(x)                                                                                    \
    x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14) x(15)
#define FUNCTION(n)                                                                                \
    static PyObject *call_##n(PyObject *Py_UNUSED(self), PyObject *args, PyObject *keywords)       \
    {                                                                                              \
        return call_watched(&all[n], args, keywords);                                              \
    }
#define NAME(n) call_##n,
EACH(FUNCTION)
static const PyCFunctionWithKeywords functions[WATCHED_MOST] = {EACH(NAME)};

/* watched(function, before, after, failed): a builtin like FUNCTION. BEFORE(args) returns the
   arguments to call it with, or None for the same; AFTER(result, args) is called if it returns,
   FAILED() if it raises. Each may be None. Exceptions in them are ignored. */
PyObject *kymo__watched(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *before, *after, *failed;
    if (!PyArg_ParseTuple(args, "O!OOO:watched", &PyCFunction_Type, &function, &before, &after,
                          &failed))
        return NULL;
    if (count == WATCHED_MOST)
        return PyErr_Format(PyExc_RuntimeError, "too many watched functions");
    PyObject *name = PyObject_GetAttrString(function, "__module__");
    if (!name)
        return NULL;
    const PyMethodDef *known = ((PyCFunctionObject *)function)->m_ml;
    struct watched *w = &all[count];
    *w = (struct watched){
        .definition = {known->ml_name, (PyCFunction)(void (*)(void))functions[count],
                       METH_VARARGS | METH_KEYWORDS, known->ml_doc},
        .function = Py_NewRef(function),
        .before = Py_NewRef(before),
        .after = Py_NewRef(after),
        .failed = Py_NewRef(failed),
    };
    count++;
    w->made = PyCFunction_NewEx(&w->definition, PyCFunction_GET_SELF(function), name);
    Py_DECREF(name);
    return Py_XNewRef(w->made);
}

PyObject *kymo__watched_fork(void)
{
    const char *name = calling ? calling->definition.ml_name : "";
    return strcmp(name, "fork") == 0 || strcmp(name, "forkpty") == 0 ? calling->made : NULL;
}

/* watched_fork(): os.fork or os.forkpty, if this thread is calling it; else None. */
PyObject *kymo__watched_fork_call(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *call = kymo__watched_fork();
    return Py_NewRef(call ? call : Py_None);
}

/* inside(function): this thread is inside a call of this builtin, which began before the session. */
PyObject *kymo__inside_call(PyObject *Py_UNUSED(module), PyObject *function)
{
    kymo__frames_open_call(function);
    Py_RETURN_NONE;
}

void kymo__process_began(const char *name, uint64_t id, uint64_t pid, const char *command)
{
    if (!kymo_running())
        return;
    kymo_async_begin(kymo_intern(name), id);
    if (pid)
        kymo_arg(kymo_intern("pid"), pid);
    kymo_arg_text(kymo_intern("command"), kymo_intern(command));
}

void kymo__process_ended(const char *name, uint64_t id, const char *status)
{
    if (!kymo_running())
        return;
    kymo_async_end(kymo_intern(name), id);
    kymo_arg_text(kymo_intern("status"), kymo_intern(status));
}

/* process_begin(name, id, pid, command): a child process, as a span that belongs to no thread. Its
   pid may be unknown: 0. */
PyObject *kymo__process_begin(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *name, *command;
    unsigned long long id, pid;
    if (!PyArg_ParseTuple(args, "sKKs:process_begin", &name, &id, &pid, &command))
        return NULL;
    kymo__process_began(name, id, pid, command);
    Py_RETURN_NONE;
}

/* process_end(name, id, status): it was waited for. */
PyObject *kymo__process_end(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *name, *status;
    unsigned long long id;
    if (!PyArg_ParseTuple(args, "sKs:process_end", &name, &id, &status))
        return NULL;
    kymo__process_ended(name, id, status);
    Py_RETURN_NONE;
}
