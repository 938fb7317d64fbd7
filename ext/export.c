/* export.c — Capture.export: a capture in the format of another program.

   The library works without the GIL and holds the capture's lock meanwhile. While that is held
   no Python code may run, and a handler of a signal is some: so Ctrl-C is only looked for, ends
   the export, and is raised when the lock is free. */
#include "core.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { LOOK_EVERY_NS = 50000000 };

struct export_watch {
    PyThreadState *thread;
    int64_t next; /* when to look again */
    bool interrupted;
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int look(void *arg, uint64_t done, uint64_t all)
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

static int run(PyObject *object, const char *path, struct kymo_export_options *options)
{
    struct export_watch watch = {.next = now() + LOOK_EVERY_NS};
    options->progress = look;
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
        /* A handler of the program's own that goes on: there is no export all the same. */
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        return -1;
    }
    return code;
}

/* "a, b, c": the formats there are. */
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
        PyErr_Format(PyExc_ValueError, "%R is not a format kymograph knows; it is one of %U",
                     format, list);
    else if (list)
        PyErr_Format(PyExc_ValueError, "%R does not tell the format; give format= one of %U", path,
                     list);
    Py_XDECREF(list);
}

/* One of three WORDS; false with an exception. */
static bool choose(const char *name, const char *word, const char *const *words, int *choice)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(word, words[i]) == 0) {
            *choice = i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "%s must be '%s', '%s' or '%s', not '%s'", name, words[0],
                 words[1], words[2], word);
    return false;
}

PyObject *kymo__capture_export(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"path", "format", "thread", "start", "end",
                            "of",   "native", "_extra", NULL};
    static const char *const whats[] = {
        [KYMO_OF_EITHER] = "either", [KYMO_OF_CALLS] = "calls", [KYMO_OF_SAMPLES] = "samples"};
    static const char *const natives[] = {
        [KYMO_NATIVE_BRIEF] = "brief", [KYMO_NATIVE_ALL] = "all", [KYMO_NATIVE_NONE] = "none"};
    PyObject *arg, *format = Py_None, *thread = Py_None, *start = Py_None, *end = Py_None;
    const char *extra = NULL; /* what kymograph.profile adds to JSON */
    const char *of = "either", *native = "brief";
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$OOOssz:export", names, &arg, &format,
                                     &thread, &start, &end, &of, &native, &extra))
        return NULL;
    struct kymo_export_options options = {
        .size = sizeof options, .from = 0, .to = INT64_MAX, .thread = -1, .extra = extra};
    if (!choose("of", of, whats, &options.of) ||
        !choose("native", native, natives, &options.native))
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
    if (kymo__capture_pin(object) < 0)
        goto done;
    int code = run(object, PyBytes_AS_STRING(bytes), &options);
    kymo__capture_unpin(object);
    if (PyErr_Occurred())
        goto done;
    if (code == -KYMO_EFORMAT)
        raise_unknown(options.format ? format : NULL, path);
    else if (code == -ENODATA)
        PyErr_Format(PyExc_ValueError, "%U has no samples", kymo__capture_path(object));
    else if (code == -ENOTSUP)
        PyErr_Format(PyExc_ValueError, "this format holds calls, and not the samples of %U",
                     kymo__capture_path(object));
    else if (code < 0)
        kymo__raise(kymo__core_of(object), code, path);
    else
        result = Py_NewRef(Py_None);
done:
    Py_XDECREF(owner);
    Py_DECREF(bytes);
    Py_DECREF(path);
    return result;
}
