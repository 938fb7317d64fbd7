/* allocations.c — who held memory, as columns: numbers as bytes of 64-bit integers, texts as lists.

   The capture is locked while being read, as in figures.c. */
#include <errno.h>
#include <kymo/heap.h>
#include <string.h>

#include "reading.h"

enum { BYTES, BLOCKS, ERROR, STACK, NUMBERS };

static const char *const names[NUMBERS] = {"bytes", "blocks", "error", "stack"};

static bool append_text(PyObject *list, const char *text)
{
    PyObject *string = kymo__text_from(text);
    bool good = string && PyList_Append(list, string) == 0;
    Py_XDECREF(string);
    return good;
}

/* The rows of SET as a dict of columns. */
static PyObject *columns_of(const struct kymo_heap *heap, unsigned set)
{
    struct kymo_heap_row row = {.size = sizeof row};
    PyObject *dict = PyDict_New(), *function = PyList_New(0), *category = PyList_New(0);
    PyObject *bytes[NUMBERS] = {NULL};
    Py_ssize_t rows = 0;
    while (kymo_heap_row(heap, set, (size_t)rows, &row) == 0)
        rows++;
    bool good = dict && function && category;
    for (int i = 0; good && i < NUMBERS; i++) {
        bytes[i] = PyBytes_FromStringAndSize(NULL, rows * (Py_ssize_t)sizeof(int64_t));
        good = bytes[i] && PyDict_SetItemString(dict, names[i], bytes[i]) == 0;
    }
    for (Py_ssize_t at = 0; good && at < rows; at++) {
        kymo_heap_row(heap, set, (size_t)at, &row);
        const int64_t values[NUMBERS] = {(int64_t)row.sum.bytes, (int64_t)row.sum.count,
                                         (int64_t)row.sum.error, row.stack};
        for (int i = 0; i < NUMBERS; i++)
            memcpy(PyBytes_AS_STRING(bytes[i]) + at * (Py_ssize_t)sizeof(int64_t), &values[i],
                   sizeof(int64_t));
        good = append_text(function, row.function) &&
               append_text(category, kymo_heap_category_word(row.category));
    }
    good = good && PyDict_SetItemString(dict, "function", function) == 0 &&
           PyDict_SetItemString(dict, "category", category) == 0;
    for (int i = 0; i < NUMBERS; i++)
        Py_XDECREF(bytes[i]);
    Py_XDECREF(function);
    Py_XDECREF(category);
    if (!good)
        Py_CLEAR(dict);
    return dict;
}

PyObject *kymo__allocations(PyObject *module, PyObject *args)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *capture, *result = NULL;
    long long at, older_than;
    int set;
    if (!PyArg_ParseTuple(args, "O!iLL:allocations", core->capture_type, &capture, &set, &at,
                          &older_than))
        return NULL;
    if (kymo__capture_pin(capture) < 0)
        return NULL;
    const struct kymo_heap_options options = {
        .size = sizeof options, .at = at, .older_than = older_than};
    struct kymo_heap *heap = NULL;
    struct kymo_capture *library = kymo__capture_lock(capture);
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_heap_new(library, &options, &heap);
    PyEval_RestoreThread(thread);
    kymo__capture_unlock(capture);
    if (code < 0)
        kymo__raise(core, code, kymo__capture_path(capture));
    else
        result = columns_of(heap, (unsigned)set);
    kymo_heap_free(heap);
    kymo__capture_unpin(capture);
    return result;
}
