/* averages.c — for kymograph.profile: totals, and the list of calls. */
#include "reading.h"

#include <kymo/averages.h>
#include <limits.h>

/* Parse a part of a capture; None means no limit. */
static int part_from(PyObject *start, PyObject *end, kymo_ns *from, kymo_ns *to)
{
    *from = INT64_MIN;
    *to = INT64_MAX;
    if (start != Py_None)
        *from = PyLong_AsLongLong(start);
    if (!PyErr_Occurred() && end != Py_None)
        *to = PyLong_AsLongLong(end);
    return PyErr_Occurred() ? -1 : 0;
}

/* (name, file, line, class) */
static PyObject *callee_new(const struct kymo_callee *callee)
{
    PyObject *name = kymo__text_from(callee->name);
    PyObject *file = name ? kymo__text_from(callee->file) : NULL;
    PyObject *result =
        file ? Py_BuildValue("(OOII)", name, file, callee->line, callee->class_) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(file);
    return result;
}

/* ---- sums */

static PyObject *callers_of(const struct kymo_averages *averages, size_t index)
{
    PyObject *list = PyList_New(0);
    struct kymo_callee callee = {.size = sizeof callee};
    for (size_t level = 0; list; level++) {
        if (kymo_averages_caller(averages, index, level, &callee) < 0)
            break;
        PyObject *caller = callee_new(&callee);
        if (!caller || PyList_Append(list, caller) < 0)
            Py_CLEAR(list);
        Py_XDECREF(caller);
    }
    return list;
}

/* (callee, callers, calls, resumes, self, total, outermost) */
static PyObject *average_new(const struct kymo_averages *averages, size_t index)
{
    struct kymo_average average = {.size = sizeof average};
    kymo_averages_get(averages, index, &average);
    PyObject *callee = callee_new(&average.callee);
    PyObject *callers = callee ? callers_of(averages, index) : NULL;
    if (!callers) {
        Py_XDECREF(callee);
        return NULL;
    }
    return Py_BuildValue("(NNKKLLO)", callee, callers, (unsigned long long)average.calls,
                         (unsigned long long)average.resumes, (long long)average.self,
                         (long long)average.total, average.outermost ? Py_True : Py_False);
}

static PyObject *list_of(const struct kymo_averages *averages)
{
    size_t count = kymo_averages_count(averages);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *average = average_new(averages, i);
        if (average)
            PyList_SET_ITEM(list, (Py_ssize_t)i, average);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* averages(capture, start, end, stack, functions, until=0): stack < 0 for every caller. Returns a list,
   and whether there was no time to read everything. */
static PyObject *averages(PyObject *module, PyObject *args)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *capture, *start, *end;
    Py_ssize_t stack;
    int functions;
    kymo_ns from, to;
    long long until = 0;
    if (!PyArg_ParseTuple(args, "O!OOnp|L:averages", core->capture_type, &capture, &start, &end,
                          &stack, &functions, &until) ||
        part_from(start, end, &from, &to) < 0 || kymo__capture_pin(capture) < 0)
        return NULL;
    struct kymo_averages *found = NULL;
    struct kymo_capture *library = kymo__capture_lock(capture);
    PyThreadState *thread = PyEval_SaveThread();
    kymo_capture_until(library, until);
    int code = kymo_averages_new(library, from, to, stack < 0 ? SIZE_MAX : (size_t)stack, functions,
                                 &found);
    kymo_capture_until(library, 0);
    PyEval_RestoreThread(thread);
    kymo__capture_unlock(capture);
    PyObject *list =
        code < 0 ? kymo__raise(core, code, kymo__capture_path(capture)) : list_of(found);
    PyObject *cut = list && kymo_averages_is_cut(found) ? Py_True : Py_False;
    kymo_averages_free(found);
    kymo__capture_unpin(capture);
    return list ? Py_BuildValue("(NO)", list, cut) : NULL;
}

/* ---- the list of calls: a Timeline keeps its capture open */

struct timeline {
    PyObject ob_base;
    PyObject *capture; /* owned and pinned */
    struct kymo_timeline *library;
};

/* timeline(capture, start, end, functions, whole=False, until=0, first_lines=False) */
static PyObject *timeline_new(PyObject *module, PyObject *args)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *capture, *start, *end;
    int functions, whole = 0, first_lines = 0;
    kymo_ns from, to;
    long long until = 0;
    if (!PyArg_ParseTuple(args, "O!OOp|pLp:timeline", core->capture_type, &capture, &start, &end,
                          &functions, &whole, &until, &first_lines) ||
        part_from(start, end, &from, &to) < 0)
        return NULL;
    PyTypeObject *type = core->timeline_type;
    struct timeline *self = (struct timeline *)type->tp_alloc(type, 0);
    if (!self || kymo__capture_pin(capture) < 0) {
        Py_XDECREF(self);
        return NULL;
    }
    self->capture = Py_NewRef(capture);
    struct kymo_capture *library = kymo__capture_lock(capture);
    PyThreadState *thread = PyEval_SaveThread();
    const unsigned what = (functions ? KYMO_TIMELINE_FUNCTIONS : 0u) |
                          (whole ? KYMO_TIMELINE_WHOLE : 0u) |
                          (first_lines ? KYMO_TIMELINE_FIRST_LINES : 0u);
    kymo_capture_until(library, until);
    int code = kymo_timeline_new(library, from, to, what, &self->library);
    kymo_capture_until(library, 0);
    PyEval_RestoreThread(thread);
    kymo__capture_unlock(capture);
    if (code < 0) {
        self->library = NULL;
        kymo__raise(core, code, kymo__capture_path(capture));
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void timeline_dealloc(PyObject *object)
{
    struct timeline *self = (struct timeline *)object;
    PyTypeObject *type = Py_TYPE(object);
    kymo_timeline_free(self->library);
    if (self->capture) {
        kymo__capture_unpin(self->capture);
        Py_DECREF(self->capture);
    }
    type->tp_free(object);
    Py_DECREF(type);
}

static Py_ssize_t timeline_length(PyObject *object)
{
    return (Py_ssize_t)kymo_timeline_count(((struct timeline *)object)->library);
}

/* (callee, start, end, self, parent, thread, id, enter, leave, open, number, from, call) */
static PyObject *timeline_item(PyObject *object, Py_ssize_t index)
{
    struct kymo_call call = {.size = sizeof call};
    if (index < 0 || kymo_timeline_get(((struct timeline *)object)->library, (size_t)index, &call))
        return PyErr_Format(PyExc_IndexError, "no call has index %zd", index);
    PyObject *callee = callee_new(&call.callee);
    if (!callee)
        return NULL;
    return Py_BuildValue("(NLLLLIKIIIKIK)", callee, (long long)call.start, (long long)call.end,
                         (long long)call.self, (long long)call.parent, call.thread,
                         (unsigned long long)call.id, (unsigned)call.enter, (unsigned)call.leave,
                         (unsigned)call.open, (unsigned long long)call.number, call.from,
                         (unsigned long long)call.call);
}

/* operator(index): the fields of the note "operator.in", or None. */
static PyObject *timeline_operator(PyObject *object, PyObject *number)
{
    struct timeline *self = (struct timeline *)object;
    struct kymo_event event = {.size = sizeof event};
    Py_ssize_t index = PyLong_AsSsize_t(number);
    if (index == -1 && PyErr_Occurred())
        return NULL;
    if (index < 0 || kymo_timeline_operator(self->library, (size_t)index, &event) < 0)
        Py_RETURN_NONE;
    PyObject *fields = kymo__fields_dict(kymo__capture_lock(self->capture), &event);
    kymo__capture_unlock(self->capture);
    return fields;
}

static PyObject *timeline_is_cut(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(kymo_timeline_is_cut(((struct timeline *)object)->library));
}

static PyGetSetDef timeline_members[] = {
    {.name = "is_cut", .get = timeline_is_cut, .doc = "Was there no time to read everything?"},
    {0},
};

static PyMethodDef timeline_methods[] = {
    {"operator", timeline_operator, METH_O, "operator(index)"},
    {0},
};

static PyType_Slot timeline_slots[] = {
    {Py_tp_doc, "The calls of a capture in the order in which they began."},
    {Py_tp_dealloc, timeline_dealloc},
    {Py_sq_length, timeline_length},
    {Py_sq_item, timeline_item},
    {Py_tp_getset, timeline_members},
    {Py_tp_methods, timeline_methods},
    {0, NULL},
};

PyType_Spec kymo__timeline_spec = {
    .name = "kymograph._core.Timeline",
    .basicsize = sizeof(struct timeline),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = timeline_slots,
};

PyMethodDef kymo__averages_methods[] = {
    {"averages", averages, METH_VARARGS,
     "averages(capture, start, end, stack, functions, until=0)"},
    {"timeline", timeline_new, METH_VARARGS,
     "timeline(capture, start, end, functions, whole=False, until=0, first_lines=False)"},
    {0},
};
