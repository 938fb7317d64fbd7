/* columns.c — the iterator that Capture.columns() returns, and Capture.callables.

   Each step reads some hundred thousand rows without the GIL and copies them into memoryviews,
   which numpy, pyarrow and array can use directly; none of these is required. */
#include "reading.h"

struct columns {
    PyObject ob_base;
    PyObject *capture;            /* owned */
    struct kymo_columns *columns; /* owned; NULL once released */
    bool busy;                    /* a thread is inside next; atomic */
};

/* Release everything held of the capture. Safe to repeat. */
static void release_columns(struct columns *self)
{
    if (!self->columns)
        return;
    kymo__capture_lock(self->capture);
    kymo_columns_free(self->columns);
    kymo__capture_unlock(self->capture);
    self->columns = NULL;
    kymo__capture_unpin(self->capture);
}

static void columns_dealloc(PyObject *object)
{
    struct columns *self = (struct columns *)object;
    PyTypeObject *type = Py_TYPE(object);
    release_columns(self);
    Py_XDECREF(self->capture);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject *kymo__columns_new(PyObject *capture, const struct kymo_window *window)
{
    struct core *core = kymo__core_of(capture);
    struct columns *self = (struct columns *)core->columns_type->tp_alloc(core->columns_type, 0);
    if (!self)
        return NULL;
    self->capture = Py_NewRef(capture);
    if (kymo__capture_pin(capture) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    struct kymo_capture *library = kymo__capture_lock(capture);
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_columns_new(library, window, &self->columns);
    PyEval_RestoreThread(thread);
    kymo__capture_unlock(capture);
    if (code < 0) {
        self->columns = NULL;
        kymo__capture_unpin(capture);
        kymo__raise(core, code, kymo__capture_path(capture));
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* A copy of COLUMN's values as a memoryview of its type. */
static PyObject *view_of(const struct kymo_column *column, size_t rows)
{
    size_t width = column->type == 'B' ? 1 : column->type == 'I' ? 4 : 8;
    PyObject *bytes = PyBytes_FromStringAndSize(column->values, (Py_ssize_t)(rows * width));
    PyObject *view = bytes ? PyMemoryView_FromObject(bytes) : NULL;
    char type[] = {column->type, '\0'};
    PyObject *cast = view ? PyObject_CallMethod(view, "cast", "s", type) : NULL;
    Py_XDECREF(view);
    Py_XDECREF(bytes);
    return cast;
}

/* Put VALUE, a new reference or NULL with an exception, into DICT. */
static int put_value(PyObject *dict, const char *key, PyObject *value)
{
    int result = value ? PyDict_SetItemString(dict, key, value) : -1;
    Py_XDECREF(value);
    return result;
}

static PyObject *table_dict(const struct kymo_table *table)
{
    PyObject *dict = PyDict_New();
    for (unsigned i = 0; dict && i < table->count; i++)
        if (put_value(dict, table->columns[i].name, view_of(&table->columns[i], table->rows)) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *next_batch(struct columns *self)
{
    if (!self->columns)
        return NULL;
    if (kymo__capture_closed(self->capture)) {
        release_columns(self);
        return kymo__capture_raise_closed(self->capture);
    }
    kymo__capture_lock(self->capture);
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_columns_next(self->columns);
    PyEval_RestoreThread(thread);
    kymo__capture_unlock(self->capture);
    if (code <= 0) {
        release_columns(self);
        return code == 0 ? NULL
                         : kymo__raise(kymo__core_of((PyObject *)self), code,
                                       kymo__capture_path(self->capture));
    }
    PyObject *dict = PyDict_New();
    const struct kymo_table *table;
    for (unsigned i = 0; dict && (table = kymo_columns_table(self->columns, i)); i++)
        if (put_value(dict, table->name, table_dict(table)) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *columns_next(PyObject *object)
{
    struct columns *self = (struct columns *)object;
    if (__atomic_exchange_n(&self->busy, true, __ATOMIC_ACQUIRE)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "another thread is using this iterator; give each thread its own");
        return NULL;
    }
    PyObject *batch = next_batch(self);
    __atomic_store_n(&self->busy, false, __ATOMIC_RELEASE);
    return batch;
}

PyObject *kymo__callables_list(PyObject *capture)
{
    struct core *core = kymo__core_of(capture);
    struct columns *self = (struct columns *)kymo__columns_new(capture, NULL);
    PyObject *list = self ? PyList_New(0) : NULL;
    const char *name, *file;
    uint32_t line, class;
    for (uint32_t i = 0;
         list && kymo_columns_function(self->columns, i, &name, &file, &line, &class) == 0; i++) {
        PyObject *row = kymo__row_function(core, name, file, line, class);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    Py_XDECREF(self);
    return list;
}

static PyType_Slot columns_slots[] = {
    {Py_tp_doc, "An iterator over batches of columns; made by Capture.columns()."},
    {Py_tp_dealloc, columns_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, columns_next},
    {0, NULL},
};

PyType_Spec kymo__columns_spec = {
    .name = "kymograph.Columns",
    .basicsize = sizeof(struct columns),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = columns_slots,
};
