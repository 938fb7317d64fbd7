/* torchsource.c — see torchsource.h. */
#include "torchsource.h"

#include <kymo/memory.h>
#include <kymo/op.h>
#include <kymo/payload.h>
#include <kymo/record.h>
#include <kymo/source.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "opgather.h"
#include "torchblocks.h"
#include "torchintegers.h"
#include "torchmemory.h"
#include "torchops.h"
#include "torchprobe.h"
#include "torchread.h"
#include "torchschema.h"

/* The import of torch and the end of the session may come at the same time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int wanted; /* mode of the running session; 0: the source takes no part */
static int raised; /* mode that profilers inside the session want; 0: none */
static bool paused;
static uint32_t session;

/* ---- the whole schemas of the operators met, for the execution trace ---- */

/* Fill in the schemas of operators that have none yet. With the GIL. */
static void ask_torch(void)
{
    PyObject *module = PyImport_ImportModule("kymograph._torch.schemas");
    for (struct kymo__torch_schema *s = kymo__torch_schemas(); module && s; s = s->next) {
        if (s->whole || s->session != session)
            continue;
        PyObject *text = PyObject_CallMethod(module, "whole", "s", s->text);
        const char *utf8 = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
        s->whole = utf8 ? strdup(utf8) : NULL;
        Py_XDECREF(text);
        PyErr_Clear();
    }
    PyErr_Clear();
    Py_XDECREF(module);
}

static void note_schemas(void)
{
    static const struct kymo_field fields[] = {{"operator", KYMO_FIELD_NAME},
                                               {"schema", KYMO_FIELD_TEXT}};
    enum { ROOM = 8192 };
    unsigned char room[ROOM];
    struct kymo_schema schema;
    if (kymo_schema_define(&schema, "operator.schema", fields, 2) < 0)
        return;
    for (const struct kymo__torch_schema *s = kymo__torch_schemas(); s; s = s->next) {
        if (!s->whole || s->session != session)
            continue;
        struct kymo_payload payload;
        kymo_payload_begin(&payload, room, sizeof room);
        kymo_payload_uint(&payload, kymo_name_key(s->text));
        kymo_payload_text(&payload, s->whole);
        kymo_note(&schema, &payload);
    }
}

static void tell_schemas(void)
{
    if (!kymo__torch_schemas() || !kymo__python_usable())
        return;
    bool memory = kymo_memory_enter();
    struct kymo__gil gil = kymo__gil_take();
    ask_torch();
    kymo__gil_give(gil);
    note_schemas();
    if (memory)
        kymo_memory_leave();
}

/* ---- the source ---- */

/* The mode to listen in. Under the lock. */
static int mode_to_use(void)
{
    return paused ? KYMO__TORCH_OFF : wanted > raised ? wanted : raised;
}

/* Listen as WANTED, RAISED and PAUSED say. Returns the mode. */
static int change_mode(int new_wanted, bool new_paused)
{
    pthread_mutex_lock(&lock);
    wanted = new_wanted;
    paused = new_paused;
    int mode = kymo__torch_listen(mode_to_use());
    pthread_mutex_unlock(&lock);
    return mode;
}

static void say_mode(int mode)
{
    static const char *const words[] = {"waiting for torch", "names", "shapes", "full"};
    kymo_metadata("torch.ops", words[mode]);
}

static int start_source(void *user, const struct kymo_source_session *s, void **state)
{
    (void)user;
    (void)state;
    const struct kymo__torch_options *options = s->options;
    session = s->number;
    (void)kymo__torch_find();
    say_mode(change_mode(options && options->mode ? options->mode : KYMO__TORCH_FULL, false));
    return 0;
}

static void pause_source(void *state)
{
    (void)state;
    change_mode(wanted, true);
}

static void resume_source(void *state)
{
    (void)state;
    change_mode(wanted, false);
}

static void stop_source(void *state)
{
    (void)state;
    pthread_mutex_lock(&lock);
    raised = 0;
    pthread_mutex_unlock(&lock);
    change_mode(KYMO__TORCH_OFF, false);
    tell_schemas();
    if (kymo__torch_too_deep())
        kymo_metadata("torch.too_deep", "operators nested more than 512 deep were not recorded");
}

static void forked(void *state)
{
    (void)state;
    pthread_mutex_init(&lock, NULL);
    wanted = raised = 0;
    kymo__torch_forked();
    kymo__torch_memory_forked();
}

static const struct kymo_source source = {
    .size = sizeof source,
    .name = "torch",
    .flags = KYMO_SOURCE_OFF,
    .start = start_source,
    .pause = pause_source,
    .resume = resume_source,
    .stop = stop_source,
    .fork_child = forked,
};

void kymo__torch_register(void)
{
    PyThreadState *thread = PyEval_SaveThread();
    (void)kymo_source_register(&source, NULL);
    PyEval_RestoreThread(thread);
}

/* ---- for Python ---- */

static PyObject *torch_found(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const struct kymo__torch_lib *lib = kymo__torch_find();
    return lib ? PyUnicode_DecodeFSDefault(lib->path) : Py_NewRef(Py_None);
}

static PyObject *torch_thread(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const struct kymo__torch_lib *lib = kymo__torch_known();
    return PyLong_FromUnsignedLongLong(lib ? lib->thread() : 0);
}

static PyObject *torch_sequence(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const struct kymo__torch_lib *lib = kymo__torch_known();
    return PyLong_FromUnsignedLongLong(lib ? lib->sequence() : 0);
}

static PyObject *torch_probes_end(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyThreadState *thread = PyEval_SaveThread();
    kymo__torch_probes_end();
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

/* torch was imported while a session that wants its operators runs: listen from now on. Returns
   whether it does. */
static PyObject *torch_listen(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&lock);
    int mode = mode_to_use();
    mode = mode ? kymo__torch_listen(mode) : KYMO__TORCH_OFF;
    pthread_mutex_unlock(&lock);
    if (mode)
        say_mode(mode);
    PyEval_RestoreThread(thread);
    return PyBool_FromLong(mode);
}

/* torch_raise(mode): until this is called with another mode or 0, listen at least in MODE,
   whatever the running session wants. */
static PyObject *torch_raise(PyObject *Py_UNUSED(module), PyObject *number)
{
    long mode = PyLong_AsLong(number);
    if (mode < KYMO__TORCH_OFF || mode > KYMO__TORCH_FULL) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "there is no mode %ld", mode);
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    (void)kymo__torch_find();
    pthread_mutex_lock(&lock);
    bool leaves = raised && !mode && !wanted;
    int before = mode_to_use();
    raised = (int)mode;
    if (kymo_running())
        session = __atomic_load_n(kymo__switch, __ATOMIC_RELAXED);
    if (mode_to_use() != before)
        (void)kymo__torch_listen(mode_to_use());
    pthread_mutex_unlock(&lock);
    if (leaves && kymo_running())
        tell_schemas(); /* the source takes no part in the session, so its end does not */
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

/* An int of DICT, or -1 with an exception. */
static int offset_from(PyObject *dict, const char *name)
{
    PyObject *value = PyDict_GetItemString(dict, name);
    long number = value ? PyLong_AsLong(value) : -1;
    if (!value)
        PyErr_Format(PyExc_KeyError, "the layout has no '%s'", name);
    return (int)number;
}

/* The dict {number: (name, bytes)} as dtypes. Their names are kept for ever. */
static bool dtypes_from(PyObject *dict, struct kymo__torch_layout *l)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name;
        int bytes;
        long number = PyLong_AsLong(key);
        if (PyErr_Occurred() || !PyArg_ParseTuple(value, "si", &name, &bytes))
            return false;
        if (number < 0 || number >= KYMO__TORCH_DTYPES)
            continue;
        l->dtypes[number].name = strdup(name);
        l->dtypes[number].bytes = (uint16_t)bytes;
    }
    return true;
}

/* The dict {number: name} as names of tags, which are kept for ever. */
static bool tags_from(PyObject *dict, struct kymo__torch_layout *l)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        long number = PyLong_AsLong(key);
        const char *name = PyErr_Occurred() ? NULL : PyUnicode_AsUTF8(value);
        if (!name)
            return false;
        if (number >= 0 && number < KYMO__TORCH_TAGS)
            l->tags[number] = strdup(name);
    }
    return true;
}

static bool layout_from(PyObject *dict, struct kymo__torch_layout *l)
{
    const struct {
        const char *name;
        int *to;
    } offsets[] = {
        {"inputs", &l->inputs},     {"outputs", &l->outputs},
        {"sequence", &l->sequence}, {"id", &l->id},
        {"thread", &l->thread},     {"forward_thread", &l->forward_thread},
        {"scope", &l->scope},       {"schema", &l->schema},
        {"overload", &l->overload}, {"list", &l->list},
        {"element", &l->element},   {"tuple", &l->tuple},
        {"text", &l->text},         {"complex", &l->complex_parts},
        {"storage", &l->storage},   {"keys", &l->keys},
        {"offset", &l->offset},     {"numel", &l->numel},
        {"sizes", &l->sizes},       {"dtype", &l->dtype},
        {"device", &l->device},     {"policy", &l->policy},
        {"data", &l->data},         {"object", &l->object_tensor},
    };
    for (size_t i = 0; i < COUNT_OF(offsets); i++) {
        *offsets[i].to = offset_from(dict, offsets[i].name);
        if (PyErr_Occurred())
            return false;
    }
    PyObject *kinds = PyDict_GetItemString(dict, "kinds");
    PyObject *dtypes = PyDict_GetItemString(dict, "dtypes");
    PyObject *tags = PyDict_GetItemString(dict, "tags");
    PyObject *tensor_type = PyDict_GetItemString(dict, "tensor_type");
    PyObject *plain = PyDict_GetItemString(dict, "plain");
    PyObject *strided = PyDict_GetItemString(dict, "strided");
    PyObject *opaque = PyDict_GetItemString(dict, "opaque");
    if (!kinds || !PyBytes_Check(kinds) || PyBytes_GET_SIZE(kinds) != sizeof l->kinds || !dtypes ||
        !PyDict_Check(dtypes) || !tags || !PyDict_Check(tags) || !tensor_type || !plain ||
        !strided || !opaque) {
        PyErr_SetString(PyExc_ValueError, "the layout is not complete");
        return false;
    }
    memcpy(l->kinds, PyBytes_AS_STRING(kinds), sizeof l->kinds);
    l->tensor_type = PyLong_AsUnsignedLongLongMask(tensor_type);
    l->plain = PyLong_AsUnsignedLongLongMask(plain);
    l->strided = PyLong_AsUnsignedLongLongMask(strided);
    l->opaque = PyLong_AsUnsignedLongLongMask(opaque);
    return !PyErr_Occurred() && dtypes_from(dtypes, l) && tags_from(tags, l);
}

static PyTypeObject *tensor_type; /* torch.Tensor, for kymograph.op; kept for ever */

static bool read_object(PyObject *object, struct kymo_op_value *value)
{
    const struct kymo__torch_layout *l = kymo__torch_layout();
    const void *tensor;
    if (!l || !PyObject_TypeCheck(object, tensor_type))
        return false;
    memcpy(&tensor, (const char *)object + l->object_tensor, sizeof tensor);
    if (tensor)
        kymo__torch_read_tensor(l, tensor, value);
    return tensor != NULL;
}

/* torch_layout_set(dict or None) */
static PyObject *torch_layout_set(PyObject *Py_UNUSED(module), PyObject *dict)
{
    struct kymo__torch_layout layout = {0};
    if (dict != Py_None && !layout_from(dict, &layout))
        return NULL;
    PyObject *type = dict != Py_None ? PyDict_GetItemString(dict, "type") : NULL;
    kymo__torch_layout_set(dict == Py_None ? NULL : &layout);
    if (type && PyType_Check(type) && layout.object_tensor >= 0) {
        if (!tensor_type)
            tensor_type = (PyTypeObject *)Py_NewRef(type);
        kymo__gather_tensor = read_object;
    }
    Py_RETURN_NONE;
}

PyMethodDef kymo__torch_methods[] = {
    {"torch_found", torch_found, METH_NOARGS, "torch_found()"},
    {"torch_thread", torch_thread, METH_NOARGS, "torch_thread()"},
    {"torch_sequence", torch_sequence, METH_NOARGS, "torch_sequence()"},
    {"torch_watch", kymo__torch_watch, METH_VARARGS, "torch_watch(name, deep)"},
    {"torch_snapshots", kymo__torch_snapshots, METH_NOARGS, "torch_snapshots()"},
    {"torch_observe", kymo__torch_observe, METH_NOARGS, "torch_observe()"},
    {"torch_observations", kymo__torch_observations, METH_NOARGS, "torch_observations()"},
    {"torch_probes_end", torch_probes_end, METH_NOARGS, "torch_probes_end()"},
    {"torch_read", kymo__torch_read, METH_VARARGS, "torch_read(address, size)"},
    {"torch_layout_set", torch_layout_set, METH_O, "torch_layout_set(layout)"},
    {"torch_memory", kymo__torch_memory, METH_O, "torch_memory(flag)"},
    {"torch_blocks", kymo__torch_blocks, METH_O, "torch_blocks(flag)"},
    {"torch_hold", kymo__torch_hold, METH_O, "torch_hold(held)"},
    {"torch_integers", kymo__torch_integers, METH_VARARGS,
     "torch_integers(ranges, names, directory)"},
    {"torch_raise", torch_raise, METH_O, "torch_raise(mode)"},
    {"torch_listen", torch_listen, METH_NOARGS, "torch_listen()"},
    {"torch_annotate", kymo__torch_annotate, METH_VARARGS, "torch_annotate(enter, exit)"},
    {"torch_others", kymo__torch_others_listen, METH_O, "torch_others(flag)"},
    {0},
};
