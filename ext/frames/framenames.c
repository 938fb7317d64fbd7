/* framenames.c — name the frames of captured stacks, many at once. */
#include "stackobjects.h"

#include <kymo/stack.h>
#include <kymo/symbol.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codes.h"

static pthread_mutex_t symbolizer_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kymo_symbolizer *symbolizers[KYMO_SYMBOL_NONE + 1]; /* by mode */

/* Places and their symbols; the texts live as long as the process. */
struct lookup {
    struct kymo_place *places;
    struct kymo_module *modules; /* of the places: their paths and build ids */
    struct kymo_symbol *symbols;
    size_t *first;
    size_t count;
};

static void lookup_free(struct lookup *lookup)
{
    free(lookup->places);
    free(lookup->modules);
    free(lookup->symbols);
    free(lookup->first);
}

static int lookup_new(struct lookup *lookup, size_t count)
{
    *lookup = (struct lookup){.count = count};
    lookup->places = calloc(count + 1, sizeof *lookup->places);
    lookup->modules = calloc(count + 1, sizeof *lookup->modules);
    lookup->first = calloc(count + 1, sizeof *lookup->first);
    return lookup->places && lookup->modules && lookup->first ? 0 : -1;
}

/* Place I is ADDRESS in module number MODULE. */
static void lookup_place(struct lookup *lookup, size_t i, uint32_t module, uint64_t address)
{
    struct kymo_module *m = &lookup->modules[i];
    m->size = sizeof *m;
    if (!module || kymo_module_get(module, m) < 0)
        *m = (struct kymo_module){.size = sizeof *m, .path = ""};
    lookup->places[i] = (struct kymo_place){
        .path = m->path,
        .build_id = m->build_id_bytes ? m->build_id : NULL,
        .build_id_bytes = m->build_id_bytes,
        .offset = address - m->base,
    };
}

static int lookup_locked(struct lookup *lookup, int mode)
{
    const struct kymo_symbol *symbols;
    if (!symbolizers[mode] && kymo_symbolizer_new(mode, &symbolizers[mode]) < 0)
        return -1;
    if (kymo_symbolize(symbolizers[mode], lookup->places, lookup->count, &symbols, lookup->first) <
        0)
        return -1;
    size_t total = lookup->first[lookup->count];
    lookup->symbols = malloc((total ? total : 1) * sizeof *symbols);
    if (!lookup->symbols)
        return -1;
    memcpy(lookup->symbols, symbols, total * sizeof *symbols);
    for (size_t i = 0; i < lookup->count; i++)
        if (!*lookup->places[i].path)
            kymo_symbolize_generated(symbolizers[mode], getpid(), lookup->places[i].offset,
                                     &lookup->symbols[lookup->first[i]]);
    return 0;
}

/* Reading debug information takes a while: let other threads run. */
static int lookup_run(struct lookup *lookup, int mode)
{
    int rc;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&symbolizer_lock);
    rc = lookup_locked(lookup, mode);
    pthread_mutex_unlock(&symbolizer_lock);
    Py_END_ALLOW_THREADS if (rc < 0) PyErr_NoMemory();
    return rc;
}

static PyObject *frame_tuple(const char *name, const char *file, uint32_t line)
{
    PyObject *n = kymo__text_from(name), *f = kymo__text_from(file), *tuple = NULL;
    if (n && f)
        tuple = Py_BuildValue("(OOI)", n, f, line);
    Py_XDECREF(n);
    Py_XDECREF(f);
    return tuple;
}

/* A native function without a source file is shown with its code file; one without a name, by its
   address there. */
static PyObject *symbol_tuple(const struct lookup *lookup, size_t i, const struct kymo_symbol *s)
{
    const struct kymo_place *place = &lookup->places[i];
    char offset[64];
    const char *base = strrchr(place->path, '/');
    base = base ? base + 1 : place->path;
    snprintf(offset, sizeof offset, "%.40s+0x%llx", *base ? base : "??",
             (unsigned long long)place->offset);
    return frame_tuple(*s->name ? s->name : offset, *s->file ? s->file : place->path, s->line);
}

/* The functions at place I, innermost first: a new list of tuples. */
static PyObject *symbol_list(const struct lookup *lookup, size_t i)
{
    PyObject *list = PyList_New(0);
    for (size_t at = lookup->first[i]; list && at < lookup->first[i + 1]; at++) {
        PyObject *tuple = symbol_tuple(lookup, i, &lookup->symbols[at]);
        if (!tuple || PyList_Append(list, tuple) < 0)
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}

static PyObject *managed_list(uint64_t number)
{
    struct kymo_named named = {.size = sizeof named};
    uint32_t code = (uint32_t)(number >> 32);
    PyObject *tuple = kymo__code_name(code, (uint32_t)number, &named) == 0
                          ? frame_tuple(named.plain, named.file, named.line)
                          : frame_tuple("(unknown)", "", 0);
    PyObject *list = tuple ? PyList_New(1) : NULL;
    if (list)
        PyList_SET_ITEM(list, 0, tuple);
    else
        Py_XDECREF(tuple);
    return list;
}

/* The distinct frames of many stacks. */
struct frames {
    struct kymo_frame *all;
    size_t count, capacity;
    uint32_t *slots; /* index + 1 */
    size_t slot_count;
};

static int frames_widen(struct frames *frames)
{
    size_t slot_count = frames->slot_count ? frames->slot_count * 2 : 1024;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    struct kymo_frame *all = slots ? realloc(frames->all, slot_count / 2 * sizeof *all) : NULL;
    if (!all) {
        free(slots);
        return -1;
    }
    free(frames->slots);
    *frames = (struct frames){.all = all,
                              .count = frames->count,
                              .capacity = slot_count / 2,
                              .slots = slots,
                              .slot_count = slot_count};
    for (size_t i = 0; i < frames->count; i++) {
        size_t at = (size_t)kymo_stack_hash(1, all[i].address);
        while (slots[at % slot_count])
            at++;
        slots[at % slot_count] = (uint32_t)i + 1;
    }
    return 0;
}

/* The index of FRAME, added if new; -1 if memory is short. */
static Py_ssize_t frames_index(struct frames *frames, const struct kymo_frame *frame)
{
    if (frames->count == frames->capacity && frames_widen(frames) < 0)
        return -1;
    for (size_t at = (size_t)kymo_stack_hash(1, frame->address);; at++) {
        uint32_t *slot = &frames->slots[at % frames->slot_count];
        if (!*slot) {
            frames->all[frames->count++] = *frame;
            *slot = (uint32_t)frames->count;
        }
        const struct kymo_frame *here = &frames->all[*slot - 1];
        if (here->address == frame->address && here->module == frame->module &&
            here->managed == frame->managed)
            return *slot - 1;
    }
}

/* The frames of STACK as a list of indices into FRAMES. */
static PyObject *stack_indices(struct frames *frames, kymo_stack stack)
{
    size_t count = kymo_stack_frames(stack, NULL, 0);
    struct kymo_frame *own = malloc((count ? count : 1) * sizeof *own);
    if (!own)
        return PyErr_NoMemory();
    PyObject *list = PyList_New((Py_ssize_t)count);
    if (list)
        kymo_stack_frames(stack, own, count);
    for (size_t i = 0; list && i < count; i++) {
        Py_ssize_t index = frames_index(frames, &own[i]);
        PyObject *number = index < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(index);
        if (number)
            PyList_SET_ITEM(list, (Py_ssize_t)i, number);
        else
            Py_CLEAR(list);
    }
    free(own);
    return list;
}

/* The names of all FRAMES: a list of lists of tuples. */
static PyObject *frames_names(const struct frames *frames, int mode)
{
    struct lookup lookup;
    PyObject *result = NULL;
    size_t natives = 0;
    kymo__codes_settle();
    if (lookup_new(&lookup, frames->count) < 0) {
        PyErr_NoMemory();
        goto done;
    }
    for (size_t i = 0; i < frames->count; i++)
        if (!frames->all[i].managed)
            lookup_place(&lookup, natives++, frames->all[i].module, frames->all[i].address - 1);
    lookup.count = natives;
    if (natives && lookup_run(&lookup, mode) < 0)
        goto done;
    result = PyList_New((Py_ssize_t)frames->count);
    for (size_t i = 0, native = 0; result && i < frames->count; i++) {
        const struct kymo_frame *frame = &frames->all[i];
        PyObject *names =
            frame->managed ? managed_list(frame->address) : symbol_list(&lookup, native++);
        if (names)
            PyList_SET_ITEM(result, (Py_ssize_t)i, names);
        else
            Py_CLEAR(result);
    }
done:
    lookup_free(&lookup);
    return result;
}

static int mode_of(int mode)
{
    if (mode >= KYMO_SYMBOL_FULL && mode <= KYMO_SYMBOL_NONE)
        return 0;
    PyErr_SetString(PyExc_ValueError, "unknown mode");
    return -1;
}

/* For each of FRAMES, a byte that is not 0 if it is Python's. */
static PyObject *frames_managed(const struct frames *frames)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)frames->count);
    for (size_t i = 0; bytes && i < frames->count; i++)
        PyBytes_AS_STRING(bytes)[i] = frames->all[i].managed != 0;
    return bytes;
}

PyObject *kymo__stack_names(PyObject *module, PyObject *args)
{
    PyObject *list, *indices = NULL, *names = NULL, *managed = NULL, *result = NULL;
    struct core *core = kymo__core_of_module(module);
    int mode;
    if (!PyArg_ParseTuple(args, "O!i", &PyList_Type, &list, &mode) || mode_of(mode) < 0)
        return NULL;
    struct frames frames = {0};
    indices = PyList_New(0);
    for (Py_ssize_t i = 0; indices && i < PyList_GET_SIZE(list); i++) {
        int64_t stack = kymo__stack_of(core->stack_type, PyList_GET_ITEM(list, i));
        PyObject *own = stack < 0 ? NULL : stack_indices(&frames, (kymo_stack)stack);
        if (!own || PyList_Append(indices, own) < 0)
            Py_CLEAR(indices);
        Py_XDECREF(own);
    }
    if (indices)
        names = frames_names(&frames, mode);
    if (names)
        managed = frames_managed(&frames);
    if (managed)
        result = PyTuple_Pack(3, names, indices, managed);
    Py_XDECREF(managed);
    Py_XDECREF(names);
    Py_XDECREF(indices);
    free(frames.all);
    free(frames.slots);
    return result;
}

/* The module whose code is at ADDRESS now, 0 if none. */
static uint32_t module_at(uint64_t address)
{
    struct kymo_module module = {.size = sizeof module};
    uint32_t found = 0;
    for (uint32_t i = 1; kymo_module_get(i, &module) == 0; i++)
        if (address >= module.low && address < module.high)
            found = i; /* the last one: earlier ones may be unloaded */
    return found;
}

PyObject *kymo__address_names(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *list, *result = NULL;
    int mode;
    if (!PyArg_ParseTuple(args, "O!i", &PyList_Type, &list, &mode) || mode_of(mode) < 0)
        return NULL;
    size_t count = (size_t)PyList_GET_SIZE(list);
    struct lookup lookup;
    if (lookup_new(&lookup, count) < 0) {
        PyErr_NoMemory();
        goto done;
    }
    kymo_stack_release(kymo_stack_capture(KYMO_STACK_NATIVE, 0)); /* updates the list of loaded
                                                                     modules */
    for (size_t i = 0; i < count; i++) {
        uint64_t address = PyLong_AsUnsignedLongLong(PyList_GET_ITEM(list, (Py_ssize_t)i));
        if (PyErr_Occurred())
            goto done;
        lookup_place(&lookup, i, module_at(address), address);
    }
    if (count && lookup_run(&lookup, mode) < 0)
        goto done;
    result = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; result && i < count; i++) {
        PyObject *names = symbol_list(&lookup, i);
        if (names)
            PyList_SET_ITEM(result, (Py_ssize_t)i, names);
        else
            Py_CLEAR(result);
    }
done:
    lookup_free(&lookup);
    return result;
}
