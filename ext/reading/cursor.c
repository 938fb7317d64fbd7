/* cursor.c — the iterator that Capture.events() returns.

   It decodes a batch of events without the GIL, then returns them one by one. In a busy program it
   takes milliseconds to get the GIL back, so batches grow: a short look stays cheap, and a long
   pass needs few of them. The texts of a batch are lent by the capture, so the iterator keeps it
   pinned until it is exhausted, released, or finds the capture closed. */
#include "reading.h"

enum {
    FIRST_BATCH = 64,
    LARGEST_BATCH = 4096,
    TEXTS = 256 /* a power of two */
};

/* A str made from a text of the capture. Texts do not move or change while the capture is pinned,
   so the address identifies them. */
struct text {
    const char *address;
    PyObject *string; /* owned */
};

struct cursor {
    PyObject ob_base;
    PyObject *capture;          /* owned */
    struct kymo_cursor *cursor; /* owned; NULL once released */
    struct kymo_event *batch;   /* owned, room for LARGEST_BATCH */
    char *payloads;             /* owned: payloads of the batch; an event's `payload` is a position
                                   in it */
    size_t payload_bytes, payload_room;
    int size;        /* batch size */
    int count, next; /* decoded, and the first not returned yet */
    int code;        /* negative: the error found after the batch */
    bool finished;
    bool busy; /* a thread is inside next; atomic */
    struct text texts[TEXTS];
};

/* Release everything held of the capture. Safe to repeat. */
static void free_cursor(struct cursor *self)
{
    if (self->cursor) {
        kymo__capture_lock(self->capture);
        kymo_cursor_free(self->cursor);
        kymo__capture_unlock(self->capture);
        self->cursor = NULL;
        kymo__capture_unpin(self->capture);
    }
    PyMem_Free(self->batch);
    PyMem_RawFree(self->payloads);
    self->batch = NULL;
    self->payloads = NULL;
    self->payload_room = 0;
    self->count = self->next = 0;
    for (size_t i = 0; i < TEXTS; i++)
        Py_CLEAR(self->texts[i].string);
}

static void cursor_dealloc(PyObject *object)
{
    struct cursor *self = (struct cursor *)object;
    PyTypeObject *type = Py_TYPE(object);
    free_cursor(self);
    Py_XDECREF(self->capture);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject *kymo__cursor_new(PyObject *capture, const struct kymo_window *window)
{
    struct core *core = kymo__core_of(capture);
    PyTypeObject *type = core->cursor_type;
    struct cursor *self = (struct cursor *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->capture = Py_NewRef(capture);
    self->size = FIRST_BATCH;
    self->batch = PyMem_Calloc(LARGEST_BATCH, sizeof *self->batch);
    if (!self->batch) {
        PyErr_NoMemory();
        goto fail;
    }
    if (kymo__capture_pin(capture) < 0)
        goto fail;

    struct kymo_capture *library = kymo__capture_lock(capture);
    PyThreadState *thread = PyEval_SaveThread();
    int code = kymo_cursor_new(library, window, &self->cursor);
    PyEval_RestoreThread(thread);
    kymo__capture_unlock(capture);
    if (code < 0) {
        self->cursor = NULL;
        kymo__capture_unpin(capture);
        kymo__raise(core, code, kymo__capture_path(capture));
        goto fail;
    }
    return (PyObject *)self;

fail:
    Py_DECREF(self);
    return NULL;
}

/* Keep the payload of EVENT, which is lent until the next one. If memory is short it has none. */
static void keep_payload(struct cursor *self, struct kymo_event *event)
{
    size_t need = self->payload_bytes + event->payload_bytes;
    if (need > self->payload_room) {
        char *grown = PyMem_RawRealloc(self->payloads, 2 * need);
        if (!grown) {
            event->kind = 0;
            return;
        }
        self->payloads = grown;
        self->payload_room = 2 * need;
    }
    memcpy(self->payloads + self->payload_bytes, event->payload, event->payload_bytes);
    event->payload = (const void *)(uintptr_t)self->payload_bytes;
    self->payload_bytes = need;
}

static void decode_batch(struct cursor *self)
{
    self->count = self->next = 0;
    self->payload_bytes = 0;
    kymo__capture_lock(self->capture);
    PyThreadState *thread = PyEval_SaveThread();
    int more = 1;
    while (more > 0 && self->count < self->size) {
        struct kymo_event *event = &self->batch[self->count];
        event->size = sizeof *event;
        more = kymo_cursor_next(self->cursor, event);
        if (more > 0 && event->kind == KYMO_PAYLOAD)
            keep_payload(self, event);
        if (more > 0)
            self->count++;
    }
    self->code = more < 0 ? more : 0;
    self->finished = more == 0;
    PyEval_RestoreThread(thread);
    kymo__capture_unlock(self->capture);
    if (self->size < LARGEST_BATCH)
        self->size *= 2;
}

/* The str for ADDRESS, borrowed from the cache; NULL with an exception. */
static PyObject *string_of(struct cursor *self, const char *address)
{
    uintptr_t number = (uintptr_t)address;
    struct text *text = &self->texts[(number ^ (number >> 8)) & (TEXTS - 1)];
    if (text->string && text->address == address)
        return text->string;
    PyObject *string = kymo__text_from(address);
    if (!string)
        return NULL;
    text->address = address;
    Py_XSETREF(text->string, string);
    return string;
}

/* Make an object of EVENT. Holds a reference to the name, because the file may replace it in the
   cache. Texts are not cached: they would displace names. */
static PyObject *wrap_event(struct cursor *self, struct kymo_event *event)
{
    PyObject *fields = NULL;
    if (event->kind == KYMO_PAYLOAD) {
        event->payload = self->payloads + (uintptr_t)event->payload;
        fields = kymo__fields_dict(kymo__capture_lock(self->capture), event);
        kymo__capture_unlock(self->capture);
        if (!fields)
            return NULL;
    }
    PyObject *name = Py_XNewRef(string_of(self, event->name));
    PyObject *text = name && *event->text ? kymo__text_from(event->text) : NULL;
    PyObject *result = NULL;
    PyObject *file = name && (text || !*event->text) ? string_of(self, event->file) : NULL;
    if (file)
        result = kymo__event_new(kymo__core_of((PyObject *)self)->event_type, event, name, file,
                                 text, fields);
    Py_XDECREF(fields);
    Py_XDECREF(name);
    Py_XDECREF(text);
    return result;
}

/* The next event; NULL without an exception at the end. */
static PyObject *next_event(struct cursor *self)
{
    if (self->finished && self->next == self->count) {
        free_cursor(self);
        return NULL;
    }
    if (kymo__capture_closed(self->capture)) {
        free_cursor(self);
        return kymo__capture_raise_closed(self->capture);
    }
    if (self->next == self->count && self->code == 0)
        decode_batch(self);
    if (self->next < self->count)
        return wrap_event(self, &self->batch[self->next++]);
    if (self->code < 0)
        return kymo__raise(kymo__core_of((PyObject *)self), self->code,
                           kymo__capture_path(self->capture));
    free_cursor(self);
    return NULL;
}

/* Two threads sharing an iterator would each get half a batch: refuse, as generators do. */
static PyObject *cursor_next(PyObject *object)
{
    struct cursor *self = (struct cursor *)object;
    if (__atomic_exchange_n(&self->busy, true, __ATOMIC_ACQUIRE)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "another thread is using this iterator; give each thread its own");
        return NULL;
    }
    PyObject *event = next_event(self);
    __atomic_store_n(&self->busy, false, __ATOMIC_RELEASE);
    return event;
}

static PyType_Slot cursor_slots[] = {
    {Py_tp_doc, "An iterator over events of a capture; made by Capture.events()."},
    {Py_tp_dealloc, cursor_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, cursor_next},
    {0, NULL},
};

PyType_Spec kymo__cursor_spec = {
    .name = "kymograph.Events",
    .basicsize = sizeof(struct cursor),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = cursor_slots,
};
