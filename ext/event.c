/* event.c — kymograph.Event: one event of a capture. Captures have millions of them, so
   an event is one small object that holds C values and makes Python's on demand. */
#include "core.h"

#include <stddef.h>

struct event {
    PyObject ob_base;
    PyObject *name; /* owned str */
    PyObject *file; /* owned str */
    PyObject *text; /* owned str, or NULL when there is none */
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

static const char *const kind_words[KYMO__KINDS] = {
    [0] = "unknown",
    [KYMO_ENTER] = "enter",
    [KYMO_LEAVE] = "leave",
    [KYMO_INSTANT] = "instant",
    [KYMO_COUNTER] = "counter",
    [KYMO_FLOW_OUT] = "flow_out",
    [KYMO_FLOW_IN] = "flow_in",
    [KYMO_ASYNC_BEGIN] = "async_begin",
    [KYMO_ASYNC_END] = "async_end",
    [KYMO_GAP] = "gap",
    [KYMO_COMPLETE] = "complete",
    [KYMO_ARG] = "arg",
    [KYMO_OFF] = "off",
    [KYMO_RESYNC] = "resync",
    [KYMO_SAMPLE] = "sample",
    [KYMO_ARG_TEXT] = "arg_text",
};

static const char *const enter_words[] = {"call", "resume", "throw", "open"};
static const char *const leave_words[] = {"return", "yield", "unwind"};
static const char *const gap_words[] = {
    [KYMO_GAP_BUDGET] = "budget",   [KYMO_GAP_DISK] = "disk",     [KYMO_GAP_NESTED] = "nested",
    [KYMO_GAP_DAMAGED] = "damaged", [KYMO_GAP_FLIGHT] = "flight",
};

static const char *const sample_words[] = {
    [KYMO_SAMPLED_CPU] = "cpu", [KYMO_SAMPLED_WALL] = "wall"};

/* What detail means depends on the kind; kinds not listed have none. */
static const struct {
    const char *const *words;
    size_t count;
} details[KYMO__KINDS] = {
    [KYMO_ENTER] = {enter_words, COUNT_OF(enter_words)},
    [KYMO_LEAVE] = {leave_words, COUNT_OF(leave_words)},
    [KYMO_GAP] = {gap_words, COUNT_OF(gap_words)},
    [KYMO_SAMPLE] = {sample_words, COUNT_OF(sample_words)},
};

static const char *detail_word(unsigned kind, unsigned detail)
{
    if (kind >= KYMO__KINDS || details[kind].count == 0)
        return "";
    if (detail >= details[kind].count || !details[kind].words[detail])
        return "unknown";
    return details[kind].words[detail];
}

int kymo__event_words_init(struct core *core)
{
    for (size_t i = 0; i < KYMO__KINDS; i++) {
        core->kinds[i] = PyUnicode_InternFromString(kind_words[i]);
        if (!core->kinds[i])
            return -1;
    }
    return 0;
}

PyObject *kymo__event_new(PyTypeObject *type, const struct kymo_event *event, PyObject *name,
                          PyObject *file, PyObject *text)
{
    struct event *self = (struct event *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->name = Py_NewRef(name);
    self->file = Py_NewRef(file);
    self->text = Py_XNewRef(text);
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
    return PyUnicode_InternFromString(detail_word(self->kind, self->detail));
}

static PyObject *event_text(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *text = ((struct event *)object)->text;
    return text ? Py_NewRef(text) : PyUnicode_FromStringAndSize("", 0);
}

static PyObject *event_repr(PyObject *object)
{
    const struct event *self = (struct event *)object;
    return PyUnicode_FromFormat("<kymograph.Event %s %R thread=%u time=%lld>",
                                kind_words[self->kind < KYMO__KINDS ? self->kind : 0], self->name,
                                self->thread, self->time);
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

/* Not tracked by the garbage collector: an event refers to strings only. */
PyType_Spec kymo__event_spec = {
    .name = "kymograph.Event",
    .basicsize = sizeof(struct event),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = event_slots,
};
