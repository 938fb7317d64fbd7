/* op.c — kymograph.op: an operator as a context manager and as a decorator. A decorated function
   calls through kymograph/_decorate.py. */
#include <kymo/lane.h>
#include <kymo/op.h>
#include <stddef.h>

#include "marks.h"
#include "opgather.h"

struct op {
    PyObject ob_base;
    PyObject *name;       /* owned str */
    PyObject *schema;     /* owned str, or NULL */
    PyObject *inputs;     /* owned, or NULL */
    PyObject *keywords;   /* owned dict with str as keys, or NULL */
    PyObject *outputs;    /* owned, or NULL: not known */
    PyObject *attributes; /* owned dict, or NULL */
    unsigned scope;       /* struct kymo_operator's */
    struct kymo_op op;
    bool open;
};

/* ---- texts that must stay: the schema and the names of keywords ---- */

/* A tuple of the schema, or "", and the keywords of SELF; NULL if there are none, or with an
   exception. */
static PyObject *stable_texts(const struct op *self)
{
    Py_ssize_t count = self->keywords ? PyDict_GET_SIZE(self->keywords) : 0;
    if (!self->schema && !count)
        return NULL;
    PyObject *keys = count ? PyDict_Keys(self->keywords) : PyList_New(0);
    PyObject *schema = self->schema ? Py_NewRef(self->schema) : PyUnicode_FromString("");
    int rc = keys && schema ? PyList_Insert(keys, 0, schema) : -1;
    PyObject *texts = rc == 0 ? PyList_AsTuple(keys) : NULL;
    Py_XDECREF(schema);
    Py_XDECREF(keys);
    return texts;
}

/* ---- begin and end ---- */

/* Record the begin with what G has gathered. TEXTS are its stable texts, or NULL; names are those of
   the values from FIRST on. */
static struct kymo_op begin_with(struct op *self, struct kymo__gather *g, const char *name,
                                 PyObject *texts, size_t first)
{
    struct kymo_operator what = {
        .size = sizeof what, .name = name, .scope = self->scope, .sequence = -1};
    const char *names[KYMO__TEXTS_MOST] = {NULL};
    struct kymo_op op = {0, 0, 0};
    Py_ssize_t count = texts ? PyTuple_GET_SIZE(texts) : 0;
    bool held = count && kymo__names_hold(kymo__core_of((PyObject *)self), texts, names);
    if (!count || held) {
        what.schema = self->schema ? names[0] : NULL;
        kymo__gather_name(g, first, names + 1, count - 1);
        what.inputs = g->values;
        what.input_count = g->count;
        op = kymo_op_begin(&what);
    }
    if (count)
        kymo__name_release();
    return op;
}

static void begin_op(struct op *self)
{
    PyObject *owner = NULL, *texts = stable_texts(self);
    const char *name = PyErr_Occurred() ? NULL : kymo__text_utf8(self->name, &owner);
    if (name) {
        struct kymo__gather g;
        kymo__gather_init(&g, self->inputs);
        size_t first = g.count;
        kymo__gather_keywords(&g, self->keywords);
        self->op = begin_with(self, &g, name, texts, first);
        kymo__gather_fini(&g);
    }
    PyErr_Clear(); /* memory was short: then it is not recorded */
    Py_XDECREF(owner);
    Py_XDECREF(texts);
}

static PyObject *op_enter(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct op *self = (struct op *)object;
    if (self->open)
        return PyErr_Format(PyExc_RuntimeError, "this operator is open already; make one with "
                                                "kymograph.op() for each block");
    self->open = true;
    self->op = (struct kymo_op){0, 0, 0};
    if (kymo_running())
        begin_op(self);
    return Py_NewRef(object);
}

/* Text and kind of attribute VALUE; a new reference to a str, or NULL with an exception. */
static PyObject *attribute_text(PyObject *value, uint32_t *kind)
{
    *kind = KYMO_OP_ATTRIBUTE_TEXT;
    if (PyUnicode_Check(value))
        return Py_NewRef(value);
    if (PyLong_CheckExact(value)) {
        *kind = KYMO_OP_ATTRIBUTE_INTEGER;
        return PyObject_Str(value);
    }
    *kind = KYMO_OP_ATTRIBUTE_JSON;
    if (value == Py_None || PyBool_Check(value))
        return PyUnicode_FromString(value == Py_None   ? "null"
                                    : value == Py_True ? "true"
                                                       : "false");
    if (PyFloat_CheckExact(value)) {
        if (!Py_IS_FINITE(PyFloat_AS_DOUBLE(value))) /* JSON has no such number */
            *kind = KYMO_OP_ATTRIBUTE_TEXT;
        return PyObject_Repr(value);
    }
    return PyErr_Format(PyExc_TypeError,
                        "an attribute must be a str, int, bool, None or float, not %R", value);
}

/* Record the attributes of an operator that is about to end. -1 with an exception. */
static int put_attributes(struct op *self)
{
    struct kymo_op_attribute attributes[KYMO_OP_ATTRIBUTES_MOST];
    const char *names[KYMO_OP_ATTRIBUTES_MOST];
    PyObject *texts[KYMO_OP_ATTRIBUTES_MOST], *owners[KYMO_OP_ATTRIBUTES_MOST];
    PyObject *items = PyDict_Items(self->attributes), *keys = NULL;
    size_t count = 0, most = items ? (size_t)PyList_GET_SIZE(items) : 0;
    most = most < KYMO_OP_ATTRIBUTES_MOST ? most : KYMO_OP_ATTRIBUTES_MOST;
    bool good = items && (keys = PyTuple_New((Py_ssize_t)most));
    for (; good && count < most; count++) {
        PyObject *item = PyList_GET_ITEM(items, (Py_ssize_t)count);
        PyObject *key = PyTuple_GET_ITEM(item, 0);
        PyTuple_SET_ITEM(keys, (Py_ssize_t)count, Py_NewRef(key));
        owners[count] = NULL;
        texts[count] = attribute_text(PyTuple_GET_ITEM(item, 1), &attributes[count].kind);
        const char *utf8 = texts[count] ? kymo__text_utf8(texts[count], &owners[count]) : NULL;
        good = utf8 && PyUnicode_Check(key);
        if (utf8 && !good)
            PyErr_Format(PyExc_TypeError, "the name of an attribute must be a str, not %.100s",
                         Py_TYPE(key)->tp_name);
        attributes[count].text = utf8;
        attributes[count].length = utf8 ? strlen(utf8) : 0;
    }
    if (good && count) {
        if (kymo__names_hold(kymo__core_of((PyObject *)self), keys, names)) {
            for (size_t i = 0; i < count; i++)
                attributes[i].name = names[i];
            kymo_op_attributes(self->op, attributes, count);
        }
        kymo__name_release();
    }
    while (count--) {
        Py_XDECREF(texts[count]);
        Py_XDECREF(owners[count]);
    }
    Py_XDECREF(keys);
    Py_XDECREF(items);
    return good ? 0 : -1;
}

static PyObject *op_exit(PyObject *object, PyObject *args)
{
    struct op *self = (struct op *)object;
    struct kymo_op op = self->op;
    bool raised = PyTuple_GET_SIZE(args) > 0 && PyTuple_GET_ITEM(args, 0) != Py_None;
    int rc = 0;
    if (op.key) {
        if (self->attributes && PyDict_GET_SIZE(self->attributes))
            rc = put_attributes(self);
        if (rc < 0 && raised) { /* the program's exception must not be replaced */
            PyErr_Clear();
            rc = 0;
        }
        uint64_t ticks = kymo__stamp_begin(); /* gathering is our work */
        struct kymo__gather g;
        kymo__gather_init(&g, self->outputs);
        kymo_op_end_at(op, self->outputs ? g.values : NULL, g.count, ticks);
        kymo__gather_fini(&g);
    }
    self->op = (struct kymo_op){0, 0, 0};
    self->open = false;
    if (rc < 0)
        return NULL;
    Py_RETURN_FALSE;
}

/* ---- a function ---- */

static PyObject *decorate(PyObject *object, PyObject *function)
{
    PyObject *module = PyImport_ImportModule("kymograph._decorate");
    PyObject *result =
        module ? PyObject_CallMethod(module, "operator", "OO", object, function) : NULL;
    Py_XDECREF(module);
    return result;
}

static PyObject *op_call(PyObject *object, PyObject *args, PyObject *names)
{
    PyObject *function;
    static char *keywords[] = {"function", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, names, "O:op", keywords, &function))
        return NULL;
    return decorate(object, function);
}

/* ---- making one ---- */

/* Is VALUE absent, or of TYPE? Stores it in *TO, NULL for absent. */
static bool take_argument(PyObject *value, PyTypeObject *type, const char *what, PyObject **to)
{
    if (!value || value == Py_None)
        return true;
    if (!PyObject_TypeCheck(value, type)) {
        PyErr_Format(PyExc_TypeError, "%s must be a %s, not %.100s", what, type->tp_name,
                     Py_TYPE(value)->tp_name);
        return false;
    }
    *to = Py_NewRef(value);
    return true;
}

/* Are all keys of the dict KEYWORDS, or NULL, str, and not too many? */
static bool are_names(PyObject *keywords)
{
    PyObject *key;
    Py_ssize_t at = 0;
    if (keywords && PyDict_GET_SIZE(keywords) >= KYMO__TEXTS_MOST) {
        PyErr_Format(PyExc_TypeError, "an operator takes at most %d inputs by keyword",
                     KYMO__TEXTS_MOST - 1);
        return false;
    }
    while (keywords && PyDict_Next(keywords, &at, &key, NULL))
        if (!PyUnicode_Check(key)) {
            PyErr_Format(PyExc_TypeError, "the name of an input must be a str, not %.100s",
                         Py_TYPE(key)->tp_name);
            return false;
        }
    return true;
}

static PyObject *op_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    static char *words[] = {"name", "inputs", "outputs", "keywords", "schema", "attributes", NULL};
    PyObject *name, *inputs = NULL, *outputs = NULL, *keywords = NULL, *schema = NULL,
                    *attributes = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, names, "O|OO$OOO:op", words, &name, &inputs, &outputs,
                                     &keywords, &schema, &attributes))
        return NULL;
    PyObject *function = NULL;
    if (!PyUnicode_Check(name) && PyCallable_Check(name)) {
        /* @op without parentheses: named after the function. */
        function = name;
        name = PyObject_GetAttrString(function, "__qualname__");
        if (!name)
            return NULL;
    } else {
        Py_INCREF(name);
    }
    struct op *self = (struct op *)type->tp_alloc(type, 0);
    bool good = self && take_argument(name, &PyUnicode_Type, "a name", &self->name) &&
                take_argument(schema, &PyUnicode_Type, "schema", &self->schema) &&
                take_argument(keywords, &PyDict_Type, "keywords", &self->keywords) &&
                take_argument(attributes, &PyDict_Type, "attributes", &self->attributes) &&
                are_names(self->keywords);
    Py_DECREF(name);
    if (good && !self->name) {
        PyErr_SetString(PyExc_TypeError, "an operator needs a name");
        good = false;
    }
    if (!good) {
        Py_XDECREF(self);
        return NULL;
    }
    self->inputs = Py_XNewRef(inputs);
    self->outputs = Py_XNewRef(outputs);
    if (!function)
        return (PyObject *)self;
    PyObject *result = decorate((PyObject *)self, function);
    Py_DECREF(self);
    return result;
}

static int op_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct op *self = (struct op *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->inputs);
    Py_VISIT(self->keywords);
    Py_VISIT(self->outputs);
    Py_VISIT(self->attributes);
    return 0;
}

static int op_clear(PyObject *object)
{
    struct op *self = (struct op *)object;
    Py_CLEAR(self->name);
    Py_CLEAR(self->schema);
    Py_CLEAR(self->inputs);
    Py_CLEAR(self->keywords);
    Py_CLEAR(self->outputs);
    Py_CLEAR(self->attributes);
    return 0;
}

static void op_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    op_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *op_repr(PyObject *object)
{
    return PyUnicode_FromFormat("<kymograph.op %R>", ((struct op *)object)->name);
}

/* The dict of attributes, made when it is first asked for. */
static PyObject *op_attributes(PyObject *object, void *Py_UNUSED(closure))
{
    struct op *self = (struct op *)object;
    if (!self->attributes)
        self->attributes = PyDict_New();
    return Py_XNewRef(self->attributes);
}

static PyMemberDef op_members[] = {
    {"name", Py_T_OBJECT_EX, offsetof(struct op, name), Py_READONLY, "The name, a str."},
    {"schema", Py_T_OBJECT_EX, offsetof(struct op, schema), Py_READONLY, NULL},
    {"outputs", Py_T_OBJECT_EX, offsetof(struct op, outputs), 0,
     "What the operator returns; set it before the block ends."},
    /* For annotations of torch: programs have spans. */
    {"_scope", Py_T_UINT, offsetof(struct op, scope), 0, NULL},
    {0},
};

static PyGetSetDef op_getset[] = {
    {"attributes", op_attributes, NULL, "A dict of attributes to record with the operator.", NULL},
    {0},
};

static PyMethodDef op_methods[] = {
    {"__enter__", op_enter, METH_NOARGS, NULL},
    {"__exit__", op_exit, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot op_slots[] = {
    {Py_tp_doc, "op(name, inputs=(), outputs=None, *, keywords=None, schema=None, attributes=None)"
                "\n--\n\n"
                "An operator: a call with its arguments, for execution traces. A context manager,\n"
                "and a decorator that records the arguments and results of a function."},
    {Py_tp_new, op_new},
    {Py_tp_dealloc, op_dealloc},
    {Py_tp_traverse, op_traverse},
    {Py_tp_clear, op_clear},
    {Py_tp_repr, op_repr},
    {Py_tp_call, op_call},
    {Py_tp_members, op_members},
    {Py_tp_getset, op_getset},
    {Py_tp_methods, op_methods},
    {0, NULL},
};

PyType_Spec kymo__op_spec = {
    .name = "kymograph.op",
    .basicsize = sizeof(struct op),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = op_slots,
};
