/* export.c — Capture.export: write a capture in another program's format.

   The library works without the GIL while holding the capture's lock. No Python code may run then,
   and signal handlers are Python code. So Ctrl-C is only detected here: it ends the export and is
   raised when the lock is free. */
#include "reading.h"

#include <errno.h>
#include <kymo/heap.h>
#include <string.h>
#include <time.h>

enum { LOOK_EVERY_NS = 50000000 };

struct export_watch {
    PyThreadState *thread;
    int64_t next; /* when to check again */
    bool interrupted;
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int check_interrupt(void *arg, uint64_t done, uint64_t all)
{
    struct export_watch *watch = arg;
    (void)done, (void)all;
    if (now() < watch->next)
        return 0;
    PyEval_RestoreThread(watch->thread);
    watch->interrupted = PyOS_InterruptOccurred() != 0;
    watch->thread = PyEval_SaveThread();
    watch->next = now() + LOOK_EVERY_NS;
    return watch->interrupted ? -ECANCELED : 0;
}

static int run_export(PyObject *object, const char *path, struct kymo_export_options *options)
{
    struct export_watch watch = {.next = now() + LOOK_EVERY_NS};
    options->progress = check_interrupt;
    options->progress_arg = &watch;
    struct kymo_capture *library = kymo__capture_lock(object);
    watch.thread = PyEval_SaveThread();
    int code = kymo_export(library, path, options);
    PyEval_RestoreThread(watch.thread);
    kymo__capture_unlock(object);
    if (watch.interrupted) {
        PyErr_SetInterrupt();
        if (PyErr_CheckSignals() < 0)
            return -1;
        /* The program's handler did not raise; the export has ended anyway. */
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        return -1;
    }
    return code;
}

/* The formats as "a, b, c". */
static PyObject *list_formats(void)
{
    PyObject *list = PyUnicode_FromString("");
    const char *name;
    for (uint32_t i = 0; list && kymo_export_format(i, &name, NULL, NULL) == 0; i++) {
        PyObject *longer = PyUnicode_FromFormat("%U%s'%s'", list, i ? ", " : "", name);
        Py_DECREF(list);
        list = longer;
    }
    return list;
}

static void raise_unknown(PyObject *format, PyObject *path)
{
    PyObject *list = list_formats();
    if (list && format)
        PyErr_Format(PyExc_ValueError, "unknown format %R; expected one of %U", format, list);
    else if (list)
        PyErr_Format(PyExc_ValueError,
                     "cannot tell the format from %R; use an extension such as .html, .json or "
                     ".pb.gz, or set format= to one of %U",
                     path, list);
    Py_XDECREF(list);
}

/* One of the WORDS up to NULL; false with an exception. */
static bool choose_word(const char *name, const char *word, const char *const *words, int *choice)
{
    PyObject *list = PyUnicode_FromString("");
    for (int i = 0; list && words[i]; i++) {
        if (strcmp(word, words[i]) == 0) {
            Py_DECREF(list);
            *choice = i;
            return true;
        }
        const char *before = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        PyObject *longer = PyUnicode_FromFormat("%U%s'%s'", list, before, words[i]);
        Py_DECREF(list);
        list = longer;
    }
    if (list)
        PyErr_Format(PyExc_ValueError, "%s must be %U, not '%s'", name, list, word);
    Py_XDECREF(list);
    return false;
}

/* Which memory: alive at the peak, the end, or a time. -1 with an exception. */
static int choose_memory(PyObject *object, PyObject *at, struct kymo_export_options *options)
{
    static const char *const words[] = {
        [KYMO_HEAP_AT_PEAK] = "peak", [KYMO_HEAP_AT_END] = "end", NULL};
    int64_t thread, end;
    int set = KYMO_HEAP_AT_TIME;
    if (PyUnicode_Check(at)) {
        const char *word = PyUnicode_AsUTF8(at);
        if (!word || !choose_word("at", word, words, &set))
            return -1;
    } else if (kymo__capture_window(object, Py_None, at, Py_None, &thread, &options->at, &end) <
               0) {
        return -1;
    }
    options->set = (unsigned)set;
    return 0;
}

/* The texts of TUPLE and a NULL, for PyMem_Free; they live as long as it does. What is no text, or
   cannot be UTF-8, is left out. NULL with an exception. */
static const char *const *texts_of(PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple), used = 0;
    const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
    if (!texts)
        return (void *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        const char *text = PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : NULL;
        if (text)
            texts[used++] = text;
        else
            PyErr_Clear();
    }
    return texts;
}

PyObject *kymo__capture_export(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"path",       "format",    "thread",       "start", "end",
                            "of",         "native",    "at",           "force", "_extra",
                            "_overloads", "_prefixes", "_first_lines", NULL};
    static const char *const subjects[] = {[KYMO_OF_EITHER] = "either",
                                           [KYMO_OF_CALLS] = "calls",
                                           [KYMO_OF_SAMPLES] = "samples",
                                           [KYMO_OF_MEMORY] = "memory",
                                           NULL};
    static const char *const natives[] = {[KYMO_NATIVE_BRIEF] = "brief",
                                          [KYMO_NATIVE_ALL] = "all",
                                          [KYMO_NATIVE_NONE] = "none",
                                          NULL};
    PyObject *at = Py_None;
    PyObject *arg, *format = Py_None, *thread = Py_None, *start = Py_None, *end = Py_None;
    const char *extra = NULL;           /* what kymograph.profile adds to JSON */
    int overloads = 0, first_lines = 0; /* and what it asks for */
    int force = 0;
    PyObject *prefixes = NULL;
    const char *of = "either", *native = "brief";
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$OOOssOpzpO!p:export", names, &arg,
                                     &format, &thread, &start, &end, &of, &native, &at, &force,
                                     &extra, &overloads, &PyTuple_Type, &prefixes, &first_lines))
        return NULL;
    struct kymo_export_options options = {.size = sizeof options,
                                          .from = 0,
                                          .to = INT64_MAX,
                                          .thread = -1,
                                          .extra = extra,
                                          .overloads = overloads,
                                          .first_lines = first_lines};
    if (!choose_word("of", of, subjects, &options.of) ||
        !choose_word("native", native, natives, &options.native))
        return NULL;
    if (at != Py_None && choose_memory(object, at, &options) < 0)
        return NULL;
    if (kymo__capture_window(object, thread, start, end, &options.thread, &options.from,
                             &options.to) < 0)
        return NULL;
    if (format != Py_None && !PyUnicode_Check(format))
        return PyErr_Format(PyExc_TypeError, "format must be a str, not %.80s",
                            Py_TYPE(format)->tp_name);
    PyObject *bytes, *owner = NULL, *result = NULL;
    PyObject *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    if (format != Py_None && !(options.format = kymo__text_utf8(format, &owner)))
        goto done;
    if (prefixes && !(options.prefixes = texts_of(prefixes)))
        goto done;
    if (!force && kymo_export_check(PyBytes_AS_STRING(bytes)) == -EEXIST) {
        kymo__raise_occupied(path);
        goto done;
    }
    if (kymo__capture_pin(object) < 0)
        goto done;
    int code = run_export(object, PyBytes_AS_STRING(bytes), &options);
    kymo__capture_unpin(object);
    if (PyErr_Occurred())
        goto done;
    if (code == KYMO_EFORMAT)
        raise_unknown(options.format ? format : NULL, path);
    else if (code == -ENODATA)
        PyErr_Format(PyExc_ValueError, "%U has no %s", kymo__capture_path(object),
                     options.of == KYMO_OF_SAMPLES ? "samples"
                     : options.set == KYMO_HEAP_AT_TIME
                         ? "memory events or snapshots before that time"
                         : "memory events");
    else if (code == -ENOTSUP)
        PyErr_Format(PyExc_ValueError,
                     "this format can hold only calls, not the samples or memory of %U",
                     kymo__capture_path(object));
    else if (code < 0)
        kymo__raise(kymo__core_of(object), code, path);
    else
        result = Py_NewRef(Py_None);
done:
    PyMem_Free((void *)options.prefixes);
    Py_XDECREF(owner);
    Py_DECREF(bytes);
    Py_DECREF(path);
    return result;
}

PyObject *kymo__capture_save(PyObject *module, PyObject *args)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *capture, *arg, *bytes, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O:save", core->capture_type, &capture, &arg))
        return NULL;
    PyObject *path = kymo__text_path(arg, &bytes);
    if (!path)
        return NULL;
    if (kymo__capture_pin(capture) == 0) {
        struct kymo_capture *library = kymo__capture_lock(capture);
        PyThreadState *thread = PyEval_SaveThread();
        int code = kymo_capture_save(library, PyBytes_AS_STRING(bytes));
        PyEval_RestoreThread(thread);
        kymo__capture_unlock(capture);
        kymo__capture_unpin(capture);
        if (code < 0)
            kymo__raise(core, code, path);
        else
            result = Py_NewRef(Py_None);
    }
    Py_DECREF(bytes);
    Py_DECREF(path);
    return result;
}
