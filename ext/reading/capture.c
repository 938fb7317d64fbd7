/* capture.c — kymograph.Capture: an opened capture file.

   The library's capture can be used by one thread at a time, lends texts until it is closed, and
   must outlive its cursors. So a lock protects every use, and code that needs texts or a cursor
   pins the capture: close() then only marks it closed, and the last unpin closes the file. The lock
   is never held while Python code could run, so a thread cannot meet it twice. */
#include "reading.h"

struct capture {
    PyObject ob_base;
    PyObject *path; /* owned str */
    PyThread_type_lock lock;
    struct kymo_capture *library; /* owned; NULL once really closed. Under the lock */
    Py_ssize_t pins;              /* under the lock */
    bool closed;                  /* written under the lock, read anywhere; atomic */
};

/* A thread that holds the lock may be waiting for the GIL, so never wait for the lock while holding
   the GIL. */
struct kymo_capture *kymo__capture_lock(PyObject *object)
{
    struct capture *self = (struct capture *)object;
    if (!PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) {
        PyThreadState *thread = PyEval_SaveThread();
        PyThread_acquire_lock(self->lock, WAIT_LOCK);
        PyEval_RestoreThread(thread);
    }
    return self->library;
}

void kymo__capture_unlock(PyObject *object)
{
    PyThread_release_lock(((struct capture *)object)->lock);
}

bool kymo__capture_closed(PyObject *object)
{
    return __atomic_load_n(&((struct capture *)object)->closed, __ATOMIC_ACQUIRE);
}

PyObject *kymo__capture_path(PyObject *object)
{
    return ((struct capture *)object)->path;
}

PyObject *kymo__capture_raise_closed(PyObject *object)
{
    return PyErr_Format(PyExc_ValueError, "the capture %R is closed", kymo__capture_path(object));
}

/* Close the file if requested and nobody reads it. Under the lock. */
static void close_if_unused(struct capture *self)
{
    if (kymo__capture_closed((PyObject *)self) && self->pins == 0) {
        kymo_close(self->library);
        self->library = NULL;
    }
}

int kymo__capture_pin(PyObject *object)
{
    struct capture *self = (struct capture *)object;
    kymo__capture_lock(object);
    bool closed = kymo__capture_closed(object);
    if (!closed)
        self->pins++;
    kymo__capture_unlock(object);
    if (!closed)
        return 0;
    kymo__capture_raise_closed(object);
    return -1;
}

void kymo__capture_unpin(PyObject *object)
{
    struct capture *self = (struct capture *)object;
    kymo__capture_lock(object);
    self->pins--;
    close_if_unused(self);
    kymo__capture_unlock(object);
}

static void close_capture(struct capture *self)
{
    kymo__capture_lock((PyObject *)self);
    __atomic_store_n(&self->closed, true, __ATOMIC_RELEASE);
    close_if_unused(self);
    kymo__capture_unlock((PyObject *)self);
}

/* ---- life */

/* Warn if parts of the capture at PATH are left out. Returns 0, or -1 if the warning is an error. */
static int warn_unknown(struct kymo_capture *capture, PyObject *path)
{
    struct kymo_info info = {.size = offsetof(struct kymo_info, samples)};
    kymo_capture_info(capture, &info);
    if (!info.unknown_parts)
        return 0;
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1,
        "%S is incomplete: a newer kymograph wrote it (format %d.%d), and parts "
        "of it are not shown; update kymograph",
        path, info.version_major, info.version_minor);
}

/* FAMILY: with its child processes, or those that PROCESS names. */
static PyObject *open_capture(PyObject *module, PyObject *arg, bool family, const char *process)
{
    struct core *core = kymo__core_of_module(module);
    PyTypeObject *type = core->capture_type;
    PyObject *bytes;
    PyObject *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    struct capture *self = (struct capture *)type->tp_alloc(type, 0);
    if (!self) {
        Py_DECREF(path);
        goto fail;
    }
    self->path = path;
    self->lock = PyThread_allocate_lock();
    if (!self->lock) {
        PyErr_NoMemory();
        goto fail;
    }

    PyThreadState *thread = PyEval_SaveThread();
    int code = family ? kymo_open_family(PyBytes_AS_STRING(bytes), process, &self->library)
                      : kymo_open(PyBytes_AS_STRING(bytes), &self->library);
    PyEval_RestoreThread(thread);
    if (code < 0) {
        self->library = NULL;
        kymo__raise(core, code, path);
        goto fail;
    }
    if (warn_unknown(self->library, path) < 0)
        goto fail;
    Py_DECREF(bytes);
    return (PyObject *)self;

fail:
    Py_DECREF(bytes);
    Py_XDECREF(self);
    return NULL;
}

PyObject *kymo__capture_open(PyObject *module, PyObject *arg)
{
    return open_capture(module, arg, false, NULL);
}

PyObject *kymo__capture_open_family(PyObject *module, PyObject *args)
{
    PyObject *path;
    const char *process;
    if (!PyArg_ParseTuple(args, "Oz:open_family", &path, &process))
        return NULL;
    return open_capture(module, path, true, process);
}

/* Cursors hold a reference, so none is left here. */
static void capture_dealloc(PyObject *object)
{
    struct capture *self = (struct capture *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->library)
        kymo_close(self->library);
    if (self->lock)
        PyThread_free_lock(self->lock);
    Py_XDECREF(self->path);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *capture_close(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    close_capture((struct capture *)object);
    Py_RETURN_NONE;
}

static PyObject *capture_enter(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    if (kymo__capture_closed(object))
        return kymo__capture_raise_closed(object);
    return Py_NewRef(object);
}

static PyObject *capture_exit(PyObject *object, PyObject *Py_UNUSED(args))
{
    return capture_close(object, NULL);
}

/* ---- attributes */

static PyObject *capture_get_closed(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(kymo__capture_closed(object));
}

static PyObject *capture_get_path(PyObject *object, void *Py_UNUSED(closure))
{
    return Py_NewRef(kymo__capture_path(object));
}

static PyObject *capture_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<kymograph.Capture %R%s>", kymo__capture_path(object),
                                kymo__capture_closed(object) ? " (closed)" : "");
}

static PyObject *capture_info(PyObject *object, void *Py_UNUSED(closure))
{
    struct core *core = kymo__core_of(object);
    struct kymo_info info = {.size = sizeof info};
    if (kymo__capture_pin(object) < 0)
        return NULL;
    int code = kymo_capture_info(kymo__capture_lock(object), &info);
    kymo__capture_unlock(object);
    kymo__capture_unpin(object);
    if (code < 0)
        return kymo__raise(core, code, kymo__capture_path(object));
    return kymo__row_info(core, &info);
}

/* Element INDEX of one of the lists below. *END is set past the last. */
typedef PyObject *element_fn(PyObject *capture, uint64_t index, bool *end);

static PyObject *thread_at(PyObject *object, uint64_t index, bool *end)
{
    struct kymo_thread_info thread = {.size = sizeof thread};
    int code = kymo_capture_thread(kymo__capture_lock(object), (uint32_t)index, &thread);
    kymo__capture_unlock(object);
    *end = code < 0;
    return *end ? NULL : kymo__row_thread(kymo__core_of(object), &thread);
}

static PyObject *snapshot_at(PyObject *object, uint64_t index, bool *end)
{
    uint64_t ticks;
    int64_t monotonic, wall;
    int code = kymo_capture_snapshot(kymo__capture_lock(object), index, &ticks, &monotonic, &wall);
    kymo__capture_unlock(object);
    *end = code < 0;
    return *end ? NULL : kymo__row_snapshot(kymo__core_of(object), ticks, monotonic, wall);
}

/* A list of the results of AT for 0, 1, 2, … */
static PyObject *list_of(PyObject *object, element_fn *at)
{
    if (kymo__capture_pin(object) < 0)
        return NULL;
    PyObject *list = PyList_New(0);
    bool end = !list;
    for (uint64_t i = 0; !end; i++) {
        PyObject *element = at(object, i, &end);
        if (!end && (!element || PyList_Append(list, element) < 0)) {
            Py_CLEAR(list);
            end = true;
        }
        Py_XDECREF(element);
    }
    kymo__capture_unpin(object);
    return list;
}

static PyObject *capture_threads(PyObject *object, void *Py_UNUSED(closure))
{
    return list_of(object, thread_at);
}

static PyObject *capture_snapshots(PyObject *object, void *Py_UNUSED(closure))
{
    return list_of(object, snapshot_at);
}

static int dict_add(PyObject *dict, const char *key, const char *value)
{
    int result = -1;
    PyObject *key_text = kymo__text_from(key);
    PyObject *value_text = kymo__text_from(value);
    if (key_text && value_text)
        result = PyDict_SetItem(dict, key_text, value_text);
    Py_XDECREF(key_text);
    Py_XDECREF(value_text);
    return result;
}

static PyObject *capture_metadata(PyObject *object, void *Py_UNUSED(closure))
{
    if (kymo__capture_pin(object) < 0)
        return NULL;
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict; i++) {
        const char *key, *value;
        int code = kymo_capture_metadata(kymo__capture_lock(object), i, &key, &value);
        kymo__capture_unlock(object);
        if (code < 0)
            break;
        if (dict_add(dict, key, value) < 0)
            Py_CLEAR(dict);
    }
    kymo__capture_unpin(object);
    return dict;
}

/* ---- its events */

/* A thread is given by its index or as an element of Capture.threads. Returns the
   index, or -1 with an exception. */
static int64_t thread_index(PyObject *object, PyObject *thread)
{
    if (PyObject_TypeCheck(thread, kymo__core_of(object)->thread_type))
        thread = PyStructSequence_GetItem(thread, 0);
    long long index = PyLong_AsLongLong(thread);
    if (index == -1 && PyErr_Occurred())
        return -1;
    if (kymo__capture_pin(object) < 0)
        return -1;
    struct kymo_thread_info info = {.size = sizeof info};
    int code = -1;
    if (index >= 0 && index <= UINT32_MAX) {
        code = kymo_capture_thread(kymo__capture_lock(object), (uint32_t)index, &info);
        kymo__capture_unlock(object);
    }
    kymo__capture_unpin(object);
    if (code == 0)
        return index;
    PyErr_Format(PyExc_IndexError, "the capture has no thread %lld", index);
    return -1;
}

/* Leaves *TIME alone for None. Returns 0, or -1 with an exception. */
static int time_from(PyObject *value, kymo_ns *time)
{
    if (value == Py_None)
        return 0;
    *time = PyLong_AsLongLong(value);
    return *time == -1 && PyErr_Occurred() ? -1 : 0;
}

int kymo__capture_window(PyObject *object, PyObject *thread, PyObject *start, PyObject *end,
                         int64_t *index, kymo_ns *from, kymo_ns *to)
{
    if (time_from(start, from) < 0 || time_from(end, to) < 0)
        return -1;
    if (thread != Py_None)
        *index = thread_index(object, thread);
    return thread != Py_None && *index < 0 ? -1 : 0;
}

/* Parse the arguments of a method that takes a part of the capture; FORMAT ends with its name.
   Returns 0, or -1 with an exception. */
static int part_from(PyObject *object, PyObject *args, PyObject *keywords, const char *format,
                     struct kymo_window *window)
{
    static char *names[] = {"thread", "start", "end", NULL};
    PyObject *thread = Py_None, *start = Py_None, *end = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, format, names, &thread, &start, &end))
        return -1;
    *window = (struct kymo_window){sizeof *window, 0, INT64_MAX, -1};
    return kymo__capture_window(object, thread, start, end, &window->thread, &window->from,
                                &window->to);
}

static PyObject *capture_events(PyObject *object, PyObject *args, PyObject *keywords)
{
    struct kymo_window window;
    if (part_from(object, args, keywords, "|OOO:events", &window) < 0)
        return NULL;
    return kymo__cursor_new(object, &window);
}

/* Tables are built in Python from columns of _core.figures. */
static PyObject *table_of(PyObject *object, const char *maker, PyObject *args, PyObject *keywords)
{
    PyObject *module = PyImport_ImportModule("kymograph._tables");
    PyObject *function = module ? PyObject_GetAttrString(module, maker) : NULL;
    PyObject *self = PyTuple_Pack(1, object);
    PyObject *all = self ? PySequence_Concat(self, args) : NULL;
    PyObject *table = function && all ? PyObject_Call(function, all, keywords) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(self);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return table;
}

static PyObject *capture_functions(PyObject *object, PyObject *args, PyObject *keywords)
{
    return table_of(object, "functions", args, keywords);
}

static PyObject *capture_call_tree(PyObject *object, PyObject *args, PyObject *keywords)
{
    return table_of(object, "call_tree", args, keywords);
}

static PyObject *capture_samples(PyObject *object, PyObject *args, PyObject *keywords)
{
    return table_of(object, "samples", args, keywords);
}

static PyObject *capture_memory(PyObject *object, PyObject *args, PyObject *keywords)
{
    return table_of(object, "memory", args, keywords);
}

static PyObject *capture_columns(PyObject *object, PyObject *args, PyObject *keywords)
{
    struct kymo_window window;
    if (part_from(object, args, keywords, "|OOO:columns", &window) < 0)
        return NULL;
    return kymo__columns_new(object, &window);
}

static PyObject *capture_callables(PyObject *object, void *Py_UNUSED(closure))
{
    return kymo__callables_list(object);
}

static PyObject *capture_iter(PyObject *object)
{
    return kymo__cursor_new(object, NULL);
}

/* ---- the type */

static PyMethodDef capture_methods[] = {
    {"events", (PyCFunction)(void (*)(void))capture_events, METH_VARARGS | METH_KEYWORDS,
     "events($self, thread=None, start=None, end=None)\n--\n\n"
     "Iterate over the events in order of time.\n\n"
     "thread: only events of this thread, given by index or as an element of threads.\n"
     "start, end: only events with start <= time < end, in monotonic nanoseconds.\n"
     "If the capture is closed meanwhile, the iterator raises ValueError."},
    {"export", (PyCFunction)(void (*)(void))kymo__capture_export, METH_VARARGS | METH_KEYWORDS,
     "export($self, path, format=None, *, thread=None, start=None, end=None, of='either',"
     " native='brief', at=None, force=False)\n--\n\n"
     "Write the capture to path in the format of another program.\n\n"
     "format: one that `kymograph export --help` lists; None: chosen by the extension of\n"
     "path. A path that ends in .gz is compressed.\n"
     "thread, start, end: only this part, as for events(); calls open at its ends are cut.\n"
     "of: 'calls' or 'samples', for formats that hold only one; 'either': calls, or samples if\n"
     "there are no calls. native: which native frames of samples, as for `kymograph export`.\n"
     "at: which memory, with of='memory': 'peak', 'end' or a time.\n"
     "The file appears when it is complete and replaces an older export; with force whatever is\n"
     "there. Raises ValueError if the format is unknown or cannot hold the data, FileExistsError if\n"
     "a file that no export wrote is there, and OSError if the file cannot be written."},
    {"functions", (PyCFunction)(void (*)(void))capture_functions, METH_VARARGS | METH_KEYWORDS,
     "functions($self, thread=None, start=None, end=None)\n--\n\n"
     "Return what each function cost, as a table of columns, in order of decreasing self time.\n\n"
     "thread, start, end: only this part, as for events; calls open at its ends are cut.\n"
     "The capture is read when the table is first used."},
    {"call_tree", (PyCFunction)(void (*)(void))capture_call_tree, METH_VARARGS | METH_KEYWORDS,
     "call_tree($self, thread=None, start=None, end=None)\n--\n\n"
     "Return what each function cost on each call path, as a table of columns.\n\n"
     "thread, start, end: as for functions."},
    {"columns", (PyCFunction)(void (*)(void))capture_columns, METH_VARARGS | METH_KEYWORDS,
     "columns($self, thread=None, start=None, end=None)\n--\n\n"
     "Iterate over finished calls and all other events as columns.\n\n"
     "Each step yields some hundred thousand rows: a dict with the tables \"slices\", \"marks\"\n"
     "and \"args\", each a dict of columns, which are memoryviews of numbers: numpy, pyarrow and\n"
     "array use them without a copy. The column function holds indices into callables.\n"
     "thread, start, end: only this part, as for events(); calls open at its ends are cut."},
    {"memory", (PyCFunction)(void (*)(void))capture_memory, METH_VARARGS | METH_KEYWORDS,
     "memory($self, of='peak', *, at=None, older_than=0)\n--\n\n"
     "Return who held memory, by stack and allocating function, as a table of columns, the\n"
     "largest first.\n\n"
     "of: 'peak', 'end', 'allocated' (freed or not) or 'temporary', as in `kymograph report\n"
     "--memory`. at: what was alive at this time instead, in monotonic nanoseconds.\n"
     "older_than: with 'end', only blocks at least this many nanoseconds old.\n"
     "Raises ValueError if there is no such set. stacks() has the stacks."},
    {"samples", (PyCFunction)(void (*)(void))capture_samples, METH_VARARGS | METH_KEYWORDS,
     "samples($self, thread=None, start=None, end=None)\n--\n\n"
     "Return every sample in order of time, as a table of columns: time, thread, stack, periods\n"
     "and clock, \"cpu\" or \"wall\". A sample represents its periods, each as long as metadata\n"
     "\"sample.period_ns\" says. stacks() resolves its stack.\n\n"
     "thread, start, end: only this part, as for events."},
    {"stacks", (PyCFunction)(void (*)(void))kymo__capture_stacks, METH_VARARGS | METH_KEYWORDS,
     "stacks($self, *, symbols=True)\n--\n\n"
     "Return the stacks of samples: a dict from stack number to a tuple of Frame, innermost\n"
     "function first. If the file is damaged, a sample's stack may be missing.\n\n"
     "symbols: look up native functions in their code files and debug\n"
     "information; otherwise they are named after those files."},
    {"close", capture_close, METH_NOARGS,
     "close($self, /)\n--\n\nClose the file. Closing twice does nothing."},
    {"__enter__", capture_enter, METH_NOARGS, NULL},
    {"__exit__", capture_exit, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef capture_getset[] = {
    {"path", capture_get_path, NULL, "the path it was opened by", NULL},
    {"closed", capture_get_closed, NULL, "True after close()", NULL},
    {"info", capture_info, NULL, "what the capture says of itself: an Info", NULL},
    {"threads", capture_threads, NULL, "the recorded threads: a list of Thread", NULL},
    {"callables", capture_callables, NULL, "what the column function counts in: a list of Function",
     NULL},
    {"metadata", capture_metadata, NULL, "what was attached to the capture: a dict of str", NULL},
    {"snapshots", capture_snapshots, NULL, "the clock readings: a list of Snapshot", NULL},
    {0},
};

static PyType_Slot capture_slots[] = {
    {Py_tp_doc, "An opened capture; made by kymograph.open(). Iterating gives its events."},
    {Py_tp_dealloc, capture_dealloc},
    {Py_tp_repr, capture_repr},
    {Py_tp_iter, capture_iter},
    {Py_tp_methods, capture_methods},
    {Py_tp_getset, capture_getset},
    {0, NULL},
};

PyType_Spec kymo__capture_spec = {
    .name = "kymograph.Capture",
    .basicsize = sizeof(struct capture),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = capture_slots,
};
