/* torchprobe.c — see torchprobe.h: snapshots. */
#include "torchprobe.h"

#include <kymo/memory.h>
#include <stdlib.h>
#include <string.h>

#include "readable.h"
#include "torchlib.h"
#include "torchops.h"

enum {
    RECORD_BYTES = 512, /* of a record that are looked at */
    TARGET_BYTES = 128, /* of what it points to */
    OBJECT_BYTES = 192, /* of what its inputs point to, */
    INNER_BYTES = 96,   /* and of what that points to */
    INPUTS_MOST = 8,    /* inputs of a record that is looked at deeply */
    SNAPSHOTS = 256,
    PIECES = 1 << 15,
    BYTES = 1 << 22,
    NAME_BYTES = 64,
};

/* A piece of memory as it was. */
struct piece {
    uint64_t address;
    uint32_t at, length; /* in `bytes` */
};

struct snapshot {
    bool end;
    unsigned scope;
    uint64_t record, name_at, inputs, outputs, thread, sequence;
    char name[NAME_BYTES];
    size_t first, count; /* of its pieces */
};

/* One probe at a time: under the GIL, or, where there is none, under a lock of layout.py. */
static struct {
    char name[NAME_BYTES]; /* "": all */
    bool deep;
    size_t snapshot_count, piece_count, used;
    struct snapshot snapshots[SNAPSHOTS];
    struct piece pieces[PIECES];
    unsigned char bytes[BYTES];
} * book;

/* ---- copies ---- */

/* Copy LENGTH bytes at ADDRESS, if they can be read. Returns them, or NULL. */
static const unsigned char *copy_piece(struct kymo_pages *pages, uint64_t address, uint32_t length)
{
    if (address < KYMO_PAGE_BYTES || book->piece_count == PIECES || BYTES - book->used < length ||
        !kymo__readable(pages, (const void *)(uintptr_t)address, length))
        return NULL;
    unsigned char *to = book->bytes + book->used;
    memcpy(to, (const void *)(uintptr_t)address, length);
    book->pieces[book->piece_count++] = (struct piece){address, (uint32_t)book->used, length};
    book->used += length;
    return to;
}

static uint64_t word_of(const unsigned char *bytes, size_t index)
{
    uint64_t word;
    memcpy(&word, bytes + 8 * index, sizeof word);
    return word;
}

/* Copy the objects that the COUNT values in ARRAY point to, and what those point to. */
static void copy_values(struct kymo_pages *pages, const unsigned char *array, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char *object = copy_piece(pages, word_of(array, 2 * i), OBJECT_BYTES);
        for (size_t k = 0; object && k < OBJECT_BYTES / 8; k++)
            copy_piece(pages, word_of(object, k), INNER_BYTES);
    }
}

/* The record may end before RECORD_BYTES, and at the end of the stack. */
static size_t copy_record(struct kymo_pages *pages, const void *record, unsigned char *to)
{
    enum { STEP = 64 };
    size_t done = 0;
    while (done < RECORD_BYTES && kymo__readable(pages, (const char *)record + done, STEP)) {
        memcpy(to + done, (const char *)record + done, STEP);
        done += STEP;
    }
    return done;
}

/* Is NAME the one that is looked for? */
static bool is_wanted(const char *name)
{
    return !book->name[0] || strncmp(name, book->name, NAME_BYTES) == 0;
}

static void take_snapshot(const void *record, unsigned scope, bool end)
{
    const struct kymo__torch_lib *lib = kymo__torch_known();
    const char *name = lib->name(record);
    struct kymo_pages pages = {{0}};
    unsigned char words[RECORD_BYTES];
    if (!book || book->snapshot_count == SNAPSHOTS || !is_wanted(name) ||
        BYTES - book->used < RECORD_BYTES || book->piece_count == PIECES)
        return;
    size_t length = copy_record(&pages, record, words);
    struct snapshot *s = &book->snapshots[book->snapshot_count++];
    *s = (struct snapshot){
        .end = end,
        .scope = scope,
        .record = (uintptr_t)record,
        .name_at = (uintptr_t)name,
        .inputs = lib->inputs(record),
        .outputs = lib->outputs(record),
        .thread = lib->thread(),
        .sequence = lib->sequence(),
        .first = book->piece_count,
    };
    strncpy(s->name, name, NAME_BYTES - 1);
    memcpy(book->bytes + book->used, words, length);
    book->pieces[book->piece_count++] =
        (struct piece){(uintptr_t)record, (uint32_t)book->used, (uint32_t)length};
    book->used += length;
    for (size_t i = 0; i < length / 8; i++) {
        const unsigned char *target = copy_piece(&pages, word_of(words, i), TARGET_BYTES);
        if (book->deep && target && i + 1 < length / 8 && s->inputs <= INPUTS_MOST &&
            word_of(words, i + 1) == s->inputs)
            copy_values(&pages, target, s->inputs);
    }
    s->count = book->piece_count - s->first;
}

static void watch_start(const void *record, unsigned scope)
{
    take_snapshot(record, scope, false);
}

static void watch_end(const void *record, unsigned scope)
{
    take_snapshot(record, scope, true);
}

/* ---- for Python ---- */

static const struct kymo__torch_probe watching = {watch_start, watch_end};

PyObject *kymo__torch_watch(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *name;
    int deep;
    if (!PyArg_ParseTuple(args, "zp:torch_watch", &name, &deep))
        return NULL;
    if (!book)
        book = calloc(1, sizeof *book);
    if (!book)
        return PyErr_NoMemory();
    book->snapshot_count = book->piece_count = book->used = 0;
    book->deep = deep;
    memset(book->name, 0, sizeof book->name);
    strncpy(book->name, name ? name : "", NAME_BYTES - 1);
    return PyBool_FromLong(kymo__torch_probe_this_thread(&watching));
}

/* (end, scope, name, record, name_at, inputs, outputs, thread, sequence, {address: bytes}) */
static PyObject *snapshot_object(const struct snapshot *s)
{
    PyObject *memory = PyDict_New();
    for (size_t i = s->first; memory && i < s->first + s->count; i++) {
        const struct piece *piece = &book->pieces[i];
        PyObject *key = PyLong_FromUnsignedLongLong(piece->address);
        PyObject *bytes =
            PyBytes_FromStringAndSize((char *)book->bytes + piece->at, (Py_ssize_t)piece->length);
        PyObject *before = key ? PyDict_GetItem(memory, key) : NULL; /* keep the longer one */
        if (!key || !bytes ||
            ((!before || PyBytes_GET_SIZE(before) < PyBytes_GET_SIZE(bytes)) &&
             PyDict_SetItem(memory, key, bytes) < 0))
            Py_CLEAR(memory);
        Py_XDECREF(key);
        Py_XDECREF(bytes);
    }
    if (!memory)
        return NULL;
    return Py_BuildValue("NIsKKKKKKN", PyBool_FromLong(s->end), s->scope, s->name,
                         (unsigned long long)s->record, (unsigned long long)s->name_at,
                         (unsigned long long)s->inputs, (unsigned long long)s->outputs,
                         (unsigned long long)s->thread, (unsigned long long)s->sequence, memory);
}

PyObject *kymo__torch_snapshots(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    kymo__torch_probe_this_thread(NULL);
    PyObject *all = PyList_New(0);
    for (size_t i = 0; all && book && i < book->snapshot_count; i++) {
        PyObject *one = snapshot_object(&book->snapshots[i]);
        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

PyObject *kymo__torch_read(PyObject *Py_UNUSED(module), PyObject *args)
{
    unsigned long long address;
    Py_ssize_t size;
    struct kymo_pages pages = {{0}};
    if (!PyArg_ParseTuple(args, "Kn:torch_read", &address, &size))
        return NULL;
    if (size < 1 || size > (Py_ssize_t)KYMO_PAGE_BYTES || address < KYMO_PAGE_BYTES ||
        !kymo__readable(&pages, (const void *)(uintptr_t)address, (size_t)size))
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)(uintptr_t)address, size);
}
