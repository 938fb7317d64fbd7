/* event.c — kymograph.Event: one event of a capture. Captures have millions, so an event is one
   small object that holds C values and creates Python objects on demand. */
#include "reading.h"

#include <stddef.h>
#include <string.h>

struct event {
    PyObject ob_base;
    PyObject *name;   /* owned str */
    PyObject *file;   /* owned str */
    PyObject *text;   /* owned str, or NULL when there is none */
    PyObject *fields; /* owned dict, not shared; or NULL */
    long long time;
    unsigned long long ticks;
    unsigned long long id;
    double value;
    unsigned int thread;
    unsigned int key;
    unsigned int line;
    uint16_t kind;
    uint16_t detail;
};

int kymo__event_words_init(struct core *core)
{
    for (size_t i = 0; i < KYMO__KINDS; i++) {
        core->kinds[i] = PyUnicode_InternFromString(kymo_kind_word((unsigned)i));
        if (!core->kinds[i])
            return -1;
    }
    return 0;
}

/* Add the words that WORD_OF gives for KIND and 0, 1, ... to DICT, as a list under NAME. */
static int add_words(PyObject *dict, const char *name, unsigned kind,
                     const char *(*word_of)(unsigned kind, unsigned number))
{
    PyObject *list = PyList_New(0);
    const char *word = list ? word_of(kind, 0) : NULL;
    int rc = list ? 0 : -1;
    for (unsigned i = 1; rc == 0 && (i == 1 || strcmp(word, "unknown") != 0); i++) {
        PyObject *text = PyUnicode_FromString(word);
        rc = text ? PyList_Append(list, text) : -1;
        Py_XDECREF(text);
        word = word_of(kind, i);
    }
    if (rc == 0)
        rc = PyDict_SetItemString(dict, name, list);
    Py_XDECREF(list);
    return rc;
}

static const char *kind_word(unsigned unused, unsigned number)
{
    (void)unused;
    return kymo_kind_word(number);
}

static const char *class_word(unsigned unused, unsigned number)
{
    (void)unused;
    return kymo_class_word(number);
}

PyObject *kymo__words(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    static const struct {
        const char *name;
        unsigned kind;
    } details[] = {{"enter", KYMO_ENTER},
                   {"leave", KYMO_LEAVE},
                   {"gap", KYMO_GAP},
                   {"sample", KYMO_SAMPLE},
                   {"off", KYMO_OFF}};
    PyObject *words = PyDict_New();
    int rc = words ? add_words(words, "kind", 0, kind_word) : -1;
    if (rc == 0)
        rc = add_words(words, "class", 0, class_word);
    for (size_t i = 0; rc == 0 && i < sizeof(details) / sizeof(details[0]); i++)
        rc = add_words(words, details[i].name, details[i].kind, kymo_detail_word);
    if (rc < 0)
        Py_CLEAR(words);
    return words;
}

PyObject *kymo__event_new(PyTypeObject *type, const struct kymo_event *event, PyObject *name,
                          PyObject *file, PyObject *text, PyObject *fields)
{
    struct event *self = (struct event *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->name = Py_NewRef(name);
    self->file = Py_NewRef(file);
    self->text = Py_XNewRef(text);
    self->fields = Py_XNewRef(fields);
    self->time = event->time;
    self->ticks = event->ticks;
    self->id = event->id;
    self->value = event->value;
    self->thread = event->thread;
    self->key = event->key;
    self->line = event->line;
    self->kind = event->kind;
    self->detail = event->detail;
    return (PyObject *)self;
}

static void event_dealloc(PyObject *object)
{
    struct event *self = (struct event *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->name);
    Py_XDECREF(self->file);
    Py_XDECREF(self->text);
    Py_XDECREF(self->fields);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *event_kind(PyObject *object, void *Py_UNUSED(closure))
{
    unsigned kind = ((struct event *)object)->kind;
    return Py_NewRef(kymo__core_of(object)->kinds[kind < KYMO__KINDS ? kind : 0]);
}

static PyObject *event_detail(PyObject *object, void *Py_UNUSED(closure))
{
    const struct event *self = (struct event *)object;
    const char *word = kymo_detail_word(self->kind, self->detail);
    return PyUnicode_InternFromString(word ? word : "");
}

static PyObject *event_text(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *text = ((struct event *)object)->text;
    return text ? Py_NewRef(text) : PyUnicode_FromStringAndSize("", 0);
}

static PyObject *event_fields(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *fields = ((struct event *)object)->fields;
    return fields ? PyDict_Copy(fields) : PyDict_New();
}

static PyObject *event_repr(PyObject *object)
{
    const struct event *self = (struct event *)object;
    return PyUnicode_FromFormat("<kymograph.Event %s %R thread=%u time=%lld>",
                                kymo_kind_word(self->kind), self->name, self->thread, self->time);
}

#define MEMBER(type, field, doc)                                                                   \
    {                                                                                              \
#field, type, offsetof(struct event, field), Py_READONLY, doc                              \
    }

static PyMemberDef event_members[] = {
    MEMBER(Py_T_LONGLONG, time, "monotonic nanoseconds"),
    MEMBER(Py_T_ULONGLONG, ticks, "the time as recorded"),
    MEMBER(Py_T_UINT, thread, "index of the thread in Capture.threads"),
    MEMBER(Py_T_OBJECT_EX, name, "\"\" when there is none"),
    MEMBER(Py_T_UINT, key, "events with equal keys have equal names; 0 when there is no name"),
    MEMBER(Py_T_ULONGLONG, id,
           "flow and async: the id; gap: records missing; complete: duration in nanoseconds; "
           "arg: the number"),
    MEMBER(Py_T_DOUBLE, value, "counter: the new value"),
    MEMBER(Py_T_OBJECT_EX, file, "source file of a function, or \"\""),
    MEMBER(Py_T_UINT, line, "first line of a function, or 0"),
    {0},
};

static PyGetSetDef event_getset[] = {
    {"kind", event_kind, NULL, "what happened, as a word", NULL},
    {"detail", event_detail, NULL, "how it was entered or left, or why records are missing", NULL},
    {"fields", event_fields, NULL, "payload: its fields by name; else {}", NULL},
    {"text", event_text, NULL, "arg_text: the text; else \"\"", NULL},
    {0},
};

static PyType_Slot event_slots[] = {
    {Py_tp_doc, "One event of a capture."},
    {Py_tp_dealloc, event_dealloc},
    {Py_tp_repr, event_repr},
    {Py_tp_members, event_members},
    {Py_tp_getset, event_getset},
    {0, NULL},
};

/* Not tracked by the garbage collector: an event refers only to strings and to a dict of values
   that refer to nothing. */
PyType_Spec kymo__event_spec = {
    .name = "kymograph.Event",
    .basicsize = sizeof(struct event),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = event_slots,
};
