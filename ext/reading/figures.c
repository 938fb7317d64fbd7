/* figures.c — the cost of functions and call paths, as columns: numbers as bytes of 64-bit
   integers, which Python and numpy can view without copying, and texts as lists.

   The capture is locked while being read, so no Python code may run then. Ctrl-C is still detected,
   and its handler runs after the lock is released. */
#include <errno.h>
#include <string.h>

#include "reading.h"

/* A table being built: the number columns side by side. */
struct columns {
    const char *const *names;
    int count;
    PyObject *bytes[16];
    int64_t *numbers[16];
};

static bool columns_make(struct columns *c, Py_ssize_t rows)
{
    for (int i = 0; i < c->count; i++) {
        c->bytes[i] = PyBytes_FromStringAndSize(NULL, rows * (Py_ssize_t)sizeof(int64_t));
        if (!c->bytes[i])
            return false;
        c->numbers[i] = (int64_t *)(void *)PyBytes_AS_STRING(c->bytes[i]);
    }
    return true;
}

/* The bytes of an object need not be aligned. */
static void columns_set(struct columns *c, int column, Py_ssize_t row, int64_t value)
{
    memcpy((char *)c->numbers[column] + row * (Py_ssize_t)sizeof value, &value, sizeof value);
}

static bool columns_take(struct columns *c, PyObject *dict)
{
    for (int i = 0; i < c->count; i++)
        if (PyDict_SetItemString(dict, c->names[i], c->bytes[i]) < 0)
            return false;
    return true;
}

static void columns_free(struct columns *c)
{
    for (int i = 0; i < c->count; i++)
        Py_XDECREF(c->bytes[i]);
}

static bool append_text(PyObject *list, const char *text)
{
    PyObject *string = kymo__text_from(text);
    bool good = string && PyList_Append(list, string) == 0;
    Py_XDECREF(string);
    return good;
}

static PyObject *function_columns(const struct kymo_figures *figures)
{
    static const char *const names[] = {"line",    "kind",     "calls",   "resumes",
                                        "self_ns", "total_ns", "mean_ns", "min_ns",
                                        "max_ns",  "p50_ns",   "p99_ns"};
    struct columns c = {.names = names, .count = COUNT_OF(names)};
    struct kymo_function_figures f = {.size = sizeof f};
    Py_ssize_t rows = 0;
    while (kymo_figures_function(figures, (uint64_t)rows, &f) == 0)
        rows++;
    PyObject *dict = PyDict_New(), *name = PyList_New(0), *file = PyList_New(0);
    bool good = dict && name && file && columns_make(&c, rows);
    for (Py_ssize_t i = 0; good && i < rows; i++) {
        kymo_figures_function(figures, (uint64_t)i, &f);
        const int64_t values[] = {f.line,
                                  f.class_,
                                  (int64_t)f.calls,
                                  (int64_t)f.resumes,
                                  f.self,
                                  f.total,
                                  f.mean,
                                  f.least,
                                  f.most,
                                  f.p50,
                                  f.p99};
        for (int j = 0; j < c.count; j++)
            columns_set(&c, j, i, values[j]);
        good = append_text(name, f.name) && append_text(file, f.file);
    }
    good = good && PyDict_SetItemString(dict, "name", name) == 0 &&
           PyDict_SetItemString(dict, "file", file) == 0 && columns_take(&c, dict);
    columns_free(&c);
    Py_XDECREF(name);
    Py_XDECREF(file);
    if (!good)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *path_columns(const struct kymo_figures *figures)
{
    static const char *const names[] = {"parent",  "function", "calls",
                                        "resumes", "self_ns",  "total_ns"};
    struct columns c = {.names = names, .count = COUNT_OF(names)};
    struct kymo_path_figures p = {.size = sizeof p};
    Py_ssize_t rows = 0;
    while (kymo_figures_path(figures, (uint64_t)rows, &p) == 0)
        rows++;
    PyObject *dict = PyDict_New();
    bool good = dict && columns_make(&c, rows);
    for (Py_ssize_t i = 0; good && i < rows; i++) {
        kymo_figures_path(figures, (uint64_t)i, &p);
        const int64_t values[] = {
            p.parent, (int64_t)p.function, (int64_t)p.calls, (int64_t)p.resumes, p.self, p.total};
        for (int j = 0; j < c.count; j++)
            columns_set(&c, j, i, values[j]);
    }
    good = good && columns_take(&c, dict);
    columns_free(&c);
    if (!good)
        Py_CLEAR(dict);
    return dict;
}

/* Was Ctrl-C pressed? Its handler must not run here. */
static int look_up(void *arg, uint64_t done, uint64_t all)
{
    (void)done, (void)all;
    PyThreadState **thread = arg;
    PyEval_RestoreThread(*thread);
    int stop = PyOS_InterruptOccurred();
    *thread = PyEval_SaveThread();
    return stop ? -ECANCELED : 0;
}

/* Read the capture: 0 or a negative code. */
static int read_capture(PyObject *capture, struct kymo_figures_options *options,
                        struct kymo_figures **figures)
{
    struct kymo_capture *library = kymo__capture_lock(capture);
    PyThreadState *thread = PyEval_SaveThread();
    options->progress = look_up;
    options->progress_arg = &thread;
    int code = kymo_figures_new(library, options, figures);
    PyEval_RestoreThread(thread);
    kymo__capture_unlock(capture);
    return code;
}

PyObject *kymo__figures(PyObject *module, PyObject *args)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *capture, *result = NULL;
    long long thread, from, to, paths;
    if (!PyArg_ParseTuple(args, "O!LLLL:figures", core->capture_type, &capture, &thread, &from, &to,
                          &paths))
        return NULL;
    if (kymo__capture_pin(capture) < 0)
        return NULL;
    struct kymo_figures_options options = {
        .size = sizeof options, .from = from, .to = to, .thread = thread, .paths = (uint64_t)paths};
    struct kymo_figures *figures = NULL;
    int code;
    while ((code = read_capture(capture, &options, &figures)) == -ECANCELED) {
        /* If the handler raises nothing, continue. */
        PyErr_SetInterrupt();
        if (PyErr_CheckSignals() < 0)
            goto done;
    }
    if (code < 0) {
        kymo__raise(core, code, kymo__capture_path(capture));
        goto done;
    }
    PyObject *functions = function_columns(figures);
    PyObject *tree = functions ? path_columns(figures) : NULL;
    if (tree)
        result = PyTuple_Pack(2, functions, tree);
    Py_XDECREF(functions);
    Py_XDECREF(tree);
done:
    kymo_figures_free(figures);
    kymo__capture_unpin(capture);
    return result;
}
