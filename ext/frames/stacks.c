/* stacks.c — captured stacks in Python: an object that holds an id. framenames.c names their
   frames. */
#include "stackobjects.h"

#include <kymo/stack.h>

#include "codes.h"
#include "linetable.h"
#include "pyframes.h"

struct stack {
    PyObject_HEAD kymo_stack id;
};

static kymo_stack stack_id(PyObject *self)
{
    return ((struct stack *)self)->id;
}

int64_t kymo__stack_of(PyTypeObject *type, PyObject *object)
{
    if (PyObject_TypeCheck(object, type))
        return stack_id(object);
    PyErr_Format(PyExc_TypeError, "not a captured traceback: %R", object);
    return -1;
}

/* Innermost native frames of our own: extract itself. */
#define OWN_FRAMES 1

/* Parse ARGS, COUNT of them positional and the rest named by NAMES, into VALUES, which are in the
   order of WORDS and hold their defaults. The last NUMBERS are numbers, the others booleans. */
static int arguments(const char *const *words, size_t word_count, size_t numbers, long *values,
                     PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Py_ssize_t given = count + (names ? PyTuple_GET_SIZE(names) : 0);
    for (Py_ssize_t i = 0; i < given; i++) {
        PyObject *name = i < count ? NULL : PyTuple_GET_ITEM(names, i - count);
        size_t which = name ? 0 : (size_t)i;
        while (name && which < word_count &&
               PyUnicode_CompareWithASCIIString(name, words[which]) != 0)
            which++;
        if (which >= word_count) {
            if (name)
                PyErr_Format(PyExc_TypeError, "unexpected argument '%U'", name);
            else
                PyErr_Format(PyExc_TypeError, "expected at most %zu arguments, got %zd", word_count,
                             given);
            return -1;
        }
        bool number = which + numbers >= word_count;
        values[which] = number ? PyLong_AsLong(args[i]) : PyObject_IsTrue(args[i]);
        if (values[which] < 0 && !PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s must not be negative", words[which]);
        if (values[which] < 0)
            return -1;
    }
    return 0;
}

/* Inlined, so that its callers are our only frames. */
static inline __attribute__((always_inline)) PyObject *capture(PyObject *type, unsigned parts,
                                                               unsigned skip)
{
    PyObject *self = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
    if (self)
        ((struct stack *)self)->id = kymo_stack_capture(parts, skip);
    return self;
}

static PyObject *stack_extract(PyObject *type, PyObject *const *args, Py_ssize_t count,
                               PyObject *names)
{
    static const char *const words[] = {"script", "cpp", "skip"};
    long values[COUNT_OF(words)] = {0, 0, 0};
    if (count)
        return PyErr_Format(PyExc_TypeError, "extract() takes keyword arguments only");
    if (names && arguments(words, COUNT_OF(words), 1, values, args, 0, names) < 0)
        return NULL;
    if (values[2] && (values[0] || values[1]))
        return PyErr_Format(PyExc_ValueError, "skip works only with Python frames; leave out "
                                              "script and cpp");
    return capture(type, KYMO_STACK_MANAGED | (values[1] ? KYMO_STACK_NATIVE : 0u),
                   values[1] ? OWN_FRAMES : (unsigned)values[2]);
}

static PyObject *stack_gather(PyObject *type, PyObject *const *args, Py_ssize_t count,
                              PyObject *names)
{
    static const char *const words[] = {"python", "script", "cpp"};
    long values[COUNT_OF(words)] = {1, 1, 1};
    if (arguments(words, COUNT_OF(words), 0, values, args, count, names) < 0)
        return NULL;
    return capture(type,
                   (values[0] ? KYMO_STACK_MANAGED : 0u) | (values[2] ? KYMO_STACK_NATIVE : 0u),
                   values[2] ? OWN_FRAMES : 0);
}

static PyObject *stack_cleanup(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    kymo_stack_release(__atomic_exchange_n(&((struct stack *)self)->id, 0u, __ATOMIC_ACQ_REL));
    Py_RETURN_NONE;
}

static PyObject *stack_get_id(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(stack_id(self));
}

static Py_ssize_t stack_length(PyObject *self)
{
    return (Py_ssize_t)kymo_stack_frames(stack_id(self), NULL, 0);
}

/* Releasing needs neither the GIL nor a lock; Python just happens to hold it here. */
static void stack_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    kymo_stack_release(stack_id(self));
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef stack_methods[] = {
    {"extract", (PyCFunction)(void (*)(void))stack_extract,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "extract($type, *, script=False, cpp=False, skip=0)\n--\n\n"
     "Capture this thread's stack, with native frames if cpp is true."},
    {"gather", (PyCFunction)(void (*)(void))stack_gather,
     METH_FASTCALL | METH_KEYWORDS | METH_CLASS,
     "gather($type, python=True, script=True, cpp=True)\n--\n\n"
     "Capture the selected parts of this thread's stack. There are never frames of "
     "TorchScript."},
    {"cleanup", stack_cleanup, METH_NOARGS,
     "cleanup($self, /)\n--\n\nForget the stack; it is empty from then on."},
    {0},
};

static PyGetSetDef stack_getset[] = {
    {"id", stack_get_id, NULL, "Equal stacks have equal ids; 0 is no stack.", NULL},
    {0},
};

static PyType_Slot stack_slots[] = {
    {Py_tp_doc, "A captured stack; use kymograph.CapturedTraceback."},
    {Py_tp_methods, stack_methods},
    {Py_tp_getset, stack_getset},
    {Py_tp_dealloc, stack_dealloc},
    {Py_sq_length, stack_length},
    {0},
};

PyType_Spec kymo__stack_spec = {
    .name = "kymograph._core.CapturedStack",
    .basicsize = sizeof(struct stack),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = stack_slots,
};

static PyObject *stack_check(PyObject *Py_UNUSED(module), PyObject *skew)
{
    unsigned long by = PyLong_AsUnsignedLong(skew);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(kymo__walk_check((unsigned)by));
}

/* code_line(code, offset, before): the line at an offset, looked up after that at another. */
static PyObject *code_line(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyCodeObject *code;
    unsigned offset, before;
    if (!PyArg_ParseTuple(args, "O!II", &PyCode_Type, &code, &offset, &before))
        return NULL;
    const uint8_t *table = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);
    size_t bytes = (size_t)PyBytes_GET_SIZE(code->co_linetable);
    uint32_t first = (uint32_t)code->co_firstlineno;
    uint64_t cursor = 0;
    kymo__line_of(table, bytes, first, before / 2, &cursor);
    return PyLong_FromUnsignedLong(kymo__line_of(table, bytes, first, offset / 2, &cursor));
}

static PyObject *frames_know(PyObject *Py_UNUSED(module), PyObject *known)
{
    kymo__frames_know(known == Py_True);
    Py_RETURN_NONE;
}

static PyObject *stack_stats(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    struct kymo_stack_stats stats = {.size = sizeof stats};
    kymo_stack_stats(&stats);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "captures", stats.captures, "stacks",
                         stats.stacks, "bytes", stats.bytes, "limit", stats.limit, "dropped",
                         stats.dropped, "truncated", stats.truncated, "unnamed",
                         (unsigned long long)kymo__codes_unnamed());
}

PyMethodDef kymo__stacks_methods[] = {
    {"stack_names", kymo__stack_names, METH_VARARGS,
     "stack_names($module, stacks, mode, /)\n--\n\n"
     "Name the frames of stacks. Returns the frames, and for each stack their indices."},
    {"address_names", kymo__address_names, METH_VARARGS,
     "address_names($module, addresses, mode, /)\n--\n\nWhat is at addresses of this process."},
    {"stack_stats", stack_stats, METH_NOARGS,
     "stack_stats($module, /)\n--\n\nHow many stacks are known, and their memory."},
    {"code_line", code_line, METH_VARARGS,
     "code_line($module, code, offset, before, /)\n--\n\nThe line of an instruction, or 0."},
    {"frames_know", frames_know, METH_O, "frames_know(known): for a test"},
    {"stack_check", stack_check, METH_O,
     "stack_check($module, skew, /)\n--\n\nDo the interpreter's frames look as they should?"},
    {0},
};
