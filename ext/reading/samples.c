/* samples.c — Capture.samples() as columns, and Capture.stacks() with names.

   Looking up names in programs and libraries may take long, so it runs without the GIL, with the
   capture locked. */
#include <kymo/symbol.h>
#include <string.h>

#include "reading.h"

enum { COLUMNS = 5 };

static const char *const column_names[COLUMNS] = {"time", "thread", "stack", "periods", "clock"};

/* Growing columns of 64-bit numbers; no Python objects, because the GIL is not held. */
struct rows {
    int64_t *columns[COLUMNS];
    size_t count, capacity;
};

static bool add_sample(struct rows *rows, const struct kymo_event *event)
{
    const int64_t values[COLUMNS] = {event->time, event->thread, (int64_t)(uint32_t)event->id,
                                     (int64_t)(event->id >> 32), event->detail};
    if (rows->count == rows->capacity) {
        size_t wanted = rows->capacity ? 2 * rows->capacity : 1024;
        for (int i = 0; i < COLUMNS; i++) {
            int64_t *grown = PyMem_RawRealloc(rows->columns[i], wanted * sizeof *grown);
            if (!grown)
                return false;
            rows->columns[i] = grown;
        }
        rows->capacity = wanted;
    }
    for (int i = 0; i < COLUMNS; i++)
        rows->columns[i][rows->count] = values[i];
    rows->count++;
    return true;
}

static int read_samples(struct kymo_capture *library, const struct kymo_window *window,
                        struct rows *rows)
{
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof event};
    int code = kymo_cursor_new(library, window, &cursor);
    if (code < 0)
        return code;
    while ((code = kymo_cursor_next(cursor, &event)) > 0)
        if (event.kind == KYMO_SAMPLE && !add_sample(rows, &event)) {
            code = -ENOMEM;
            break;
        }
    kymo_cursor_free(cursor);
    return code;
}

PyObject *kymo__sample_columns(PyObject *module, PyObject *args)
{
    struct core *core = kymo__core_of_module(module);
    PyObject *capture, *result = NULL;
    long long thread, from, to;
    if (!PyArg_ParseTuple(args, "O!LLL:samples", core->capture_type, &capture, &thread, &from, &to))
        return NULL;
    if (kymo__capture_pin(capture) < 0)
        return NULL;
    const struct kymo_window window = {
        .size = sizeof window, .from = from, .to = to, .thread = thread};
    struct rows rows = {.count = 0};
    struct kymo_capture *library = kymo__capture_lock(capture);
    PyThreadState *state = PyEval_SaveThread();
    int code = read_samples(library, &window, &rows);
    PyEval_RestoreThread(state);
    kymo__capture_unlock(capture);
    if (code < 0)
        kymo__raise(core, code, kymo__capture_path(capture));
    else
        result = PyDict_New();
    for (int i = 0; i < COLUMNS && result; i++) {
        PyObject *bytes = PyBytes_FromStringAndSize(
            (const char *)rows.columns[i], (Py_ssize_t)(rows.count * sizeof *rows.columns[i]));
        if (!bytes || PyDict_SetItemString(result, column_names[i], bytes) < 0)
            Py_CLEAR(result);
        Py_XDECREF(bytes);
    }
    for (int i = 0; i < COLUMNS; i++)
        PyMem_RawFree(rows.columns[i]);
    kymo__capture_unpin(capture);
    return result;
}

/* ---- stacks */

/* Room for the functions of a stack. */
struct room {
    struct kymo_named_frame *frames;
    size_t count;
};

static PyObject *stack_tuple(struct core *core, const struct kymo_stack_names *names,
                             uint32_t stack, struct room *room)
{
    size_t count = kymo_stack_named(names, stack, room->frames, room->count);
    if (count > room->count) {
        struct kymo_named_frame *grown = PyMem_Realloc(room->frames, count * sizeof *grown);
        if (!grown)
            return PyErr_NoMemory();
        *room = (struct room){grown, count};
        kymo_stack_named(names, stack, room->frames, room->count);
    }
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple && i < count; i++) {
        PyObject *frame = kymo__row_frame(core, &room->frames[i]);
        if (frame)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, frame);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static int add_stack(struct core *core, PyObject *dict, const struct kymo_stack_names *names,
                     uint32_t stack, struct room *room)
{
    PyObject *key = PyLong_FromUnsignedLong(stack);
    PyObject *tuple = key ? stack_tuple(core, names, stack, room) : NULL;
    int result = tuple ? PyDict_SetItem(dict, key, tuple) : -1;
    Py_XDECREF(key);
    Py_XDECREF(tuple);
    return result;
}

PyObject *kymo__capture_stacks(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *words[] = {"symbols", NULL};
    struct core *core = kymo__core_of(object);
    int symbols = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$p:stacks", words, &symbols))
        return NULL;
    if (kymo__capture_pin(object) < 0)
        return NULL;
    struct kymo_stack_names *names = NULL;
    struct kymo_capture *library = kymo__capture_lock(object);
    PyThreadState *state = PyEval_SaveThread();
    int code = kymo_stack_names_new(library, symbols ? KYMO_SYMBOL_FULL : KYMO_SYMBOL_NONE, &names);
    PyEval_RestoreThread(state);
    kymo__capture_unlock(object);
    PyObject *dict = NULL;
    struct room room = {NULL, 0};
    uint32_t stack;
    if (code < 0)
        kymo__raise(core, code, kymo__capture_path(object));
    else
        dict = PyDict_New();
    /* What is read now does not change any more, whoever uses the capture. */
    for (uint64_t i = 0; dict && kymo_capture_stack_at(library, i, &stack) == 0; i++)
        if (add_stack(core, dict, names, stack, &room) < 0)
            Py_CLEAR(dict);
    kymo_stack_names_free(names);
    PyMem_Free(room.frames);
    kymo__capture_unpin(object);
    return dict;
}
