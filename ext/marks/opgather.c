/* opgather.c — see opgather.h. */
#include "opgather.h"

enum { DEEPEST = 6, DIMS_MOST = 64 };

bool (*kymo__gather_tensor)(PyObject *object, struct kymo_op_value *value);

static void add_object(struct kymo__gather *g, PyObject *object, int depth);

/* ---- room ---- */

/* Twice the room of ARRAY, whose COUNT items have SIZE bytes each. FEW is where the first were. */
static void *grow_array(void *array, const void *few, size_t count, size_t size)
{
    void *larger = PyMem_Realloc(array == few ? NULL : array, 2 * count * size);
    if (larger && array == few)
        memcpy(larger, few, count * size);
    return larger;
}

static bool grow_values(struct kymo__gather *g)
{
    struct kymo_op_value *larger = grow_array(g->values, g->few, g->capacity, sizeof(*g->values));
    if (!larger)
        return false;
    g->values = larger;
    g->capacity *= 2;
    return true;
}

/* Where AT is after COUNT dims moved from FROM to TO: it may be none of them. */
static const int64_t *moved(const int64_t *at, uintptr_t from, size_t count, const int64_t *to)
{
    uintptr_t place = ((uintptr_t)at - from) / sizeof(*at);
    return (uintptr_t)at >= from && place < count ? to + place : at;
}

static bool grow_dims(struct kymo__gather *g)
{
    const uintptr_t from = (uintptr_t)g->dims;
    int64_t *larger = grow_array(g->dims, g->few_dims, g->dim_capacity, sizeof(*g->dims));
    if (!larger)
        return false;
    for (size_t i = 0; i < g->count; i++) {
        struct kymo_op_tensor *t = &g->values[i].tensor;
        if (g->values[i].kind != KYMO_OP_TENSOR)
            continue;
        t->shape = moved(t->shape, from, g->dim_count, larger);
        t->strides = moved(t->strides, from, g->dim_count, larger);
    }
    g->dims = larger;
    g->dim_capacity *= 2;
    return true;
}

/* One more value, of KIND; NULL if there is no room. */
static struct kymo_op_value *add_value(struct kymo__gather *g, enum kymo_op_kind kind)
{
    if (g->count == g->capacity && !grow_values(g))
        return NULL;
    struct kymo_op_value *v = &g->values[g->count++];
    *v = (struct kymo_op_value){.kind = kind};
    return v;
}

static void add_other(struct kymo__gather *g, PyObject *object)
{
    struct kymo_op_value *v = add_value(g, KYMO_OP_OTHER);
    const char *name = Py_TYPE(object)->tp_name;
    if (v)
        v->text = (struct kymo_op_text){name, strlen(name)};
}

/* Keep OBJECT, whose reference this takes, until the values were used. */
static bool keep_object(struct kymo__gather *g, PyObject *object)
{
    if (!object) {
        PyErr_Clear();
        return false;
    }
    if (g->owner_count == g->owner_capacity) {
        PyObject **larger =
            grow_array(g->owners, g->few_owners, g->owner_capacity, sizeof(*g->owners));
        if (!larger) {
            Py_DECREF(object);
            return false;
        }
        g->owners = larger;
        g->owner_capacity *= 2;
    }
    g->owners[g->owner_count++] = object;
    return true;
}

/* ---- buffers ---- */

/* The names that torch has for the types of elements. */
static const char *dtype_name(const char *format)
{
    static const struct {
        const char *format, *name;
    } names[] = {
        {"f", "float"},
        {"d", "double"},
        {"l", "long int"},
        {"q", "long int"},
        {"i", "int"},
        {"h", "short int"},
        {"b", "signed char"},
        {"B", "unsigned char"},
        {"?", "bool"},
        {"e", "c10::Half"},
        {"Zf", "c10::complex<float>"},
        {"Zd", "c10::complex<double>"},
        {"H", "short unsigned int"},
        {"I", "unsigned int"},
        {"L", "long unsigned int"},
        {"Q", "long unsigned int"},
    };
    if (!format)
        return "unsigned char";
    if (*format == '@' || *format == '=' || *format == '<')
        format++;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(format, names[i].format) == 0)
            return names[i].name;
    return "other";
}

/* Does asking OBJECT for a buffer run only C code? A class may define __buffer__. */
static bool has_buffer_from_c(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (!type->tp_as_buffer || !type->tp_as_buffer->bf_getbuffer)
        return false;
#if KYMO_BUFFERS_IN_PYTHON
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
        PyObject *method = PyDict_GetItemString(KYMO_TYPE_DICT(base), "__buffer__");
        if (method)
            return Py_IS_TYPE(method, &PyWrapperDescr_Type);
    }
#endif
    return true;
}

/* Copy COUNT numbers, divided by UNIT, or the default if FROM is NULL. Returns where they are, or
   NULL. */
static const int64_t *add_dims(struct kymo__gather *g, const Py_ssize_t *from, int count,
                               Py_ssize_t unit)
{
    if (!from || g->dim_capacity - g->dim_count < (size_t)count)
        return NULL;
    int64_t *to = g->dims + g->dim_count;
    for (int i = 0; i < count; i++)
        to[i] = from[i] / unit;
    g->dim_count += (size_t)count;
    return to;
}

static bool add_buffer(struct kymo__gather *g, PyObject *object)
{
    Py_buffer view;
    if (PyBytes_Check(object) || !has_buffer_from_c(object))
        return false;
    if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS_RO) < 0) {
        PyErr_Clear();
        return false;
    }
    Py_ssize_t unit = view.itemsize > 0 ? view.itemsize : 1;
    while (g->dim_capacity - g->dim_count < 2 * (size_t)view.ndim && grow_dims(g))
        continue;
    struct kymo_op_value *v = view.ndim <= DIMS_MOST ? add_value(g, KYMO_OP_TENSOR) : NULL;
    if (v) {
        v->tensor = (struct kymo_op_tensor){
            .tensor = (uintptr_t)object,
            .storage = (uintptr_t)view.buf,
            .numel = (uint64_t)(view.len / unit),
            .shape = add_dims(g, view.shape, view.ndim, 1),
            .strides = add_dims(g, view.strides, view.ndim, unit),
            .dtype = dtype_name(view.format),
            .device = "cpu",
            .dims = (uint32_t)view.ndim,
            .itemsize = (uint16_t)unit,
        };
        if (!v->tensor.shape && view.ndim)
            v->tensor.marks = KYMO_OP_OPAQUE;
    }
    PyBuffer_Release(&view);
    return v != NULL;
}

/* ---- values ---- */

static void add_integer(struct kymo__gather *g, PyObject *object)
{
    int over;
    long long value = PyLong_AsLongLongAndOverflow(object, &over);
    struct kymo_op_value *v = over ? NULL : add_value(g, KYMO_OP_INT);
    if (over)
        add_other(g, object);
    if (v)
        v->integer = value;
}

static void add_text(struct kymo__gather *g, PyObject *object)
{
    PyObject *owner = NULL;
    const char *utf8 = kymo__text_utf8(object, &owner);
    struct kymo_op_value *v = NULL;
    if (!utf8)
        PyErr_Clear();
    if (!utf8 || (owner && !keep_object(g, owner)))
        add_other(g, object);
    else
        v = add_value(g, KYMO_OP_TEXT);
    if (v)
        v->text = (struct kymo_op_text){utf8, strlen(utf8)};
}

/* One more than are recorded, so that it shows that they are cut. */
static void add_items(struct kymo__gather *g, PyObject *tuple, int depth)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple) && g->count <= KYMO_OP_VALUES_MOST; i++)
        add_object(g, PyTuple_GET_ITEM(tuple, i), depth);
}

static void add_sequence(struct kymo__gather *g, PyObject *object, int depth)
{
    bool list = PyList_Check(object);
    /* Another thread may change a list. */
    PyObject *tuple = list ? PyList_AsTuple(object) : Py_NewRef(object);
    if (depth == DEEPEST || !keep_object(g, tuple)) {
        if (depth == DEEPEST)
            Py_XDECREF(tuple);
        add_other(g, object);
        return;
    }
    struct kymo_op_value *v = add_value(g, list ? KYMO_OP_LIST : KYMO_OP_TUPLE);
    if (v)
        v->count = (uint64_t)PyTuple_GET_SIZE(tuple);
    add_items(g, tuple, depth + 1);
}

static void add_number(struct kymo__gather *g, PyObject *object)
{
    struct kymo_op_value *v = add_value(g, PyFloat_Check(object) ? KYMO_OP_FLOAT : KYMO_OP_COMPLEX);
    if (!v)
        return;
    if (PyFloat_Check(object)) {
        v->real = PyFloat_AS_DOUBLE(object);
    } else {
        v->complex_parts[0] = PyComplex_RealAsDouble(object);
        v->complex_parts[1] = PyComplex_ImagAsDouble(object);
    }
}

static void add_object(struct kymo__gather *g, PyObject *object, int depth)
{
    struct kymo_op_value tensor = {.kind = KYMO_OP_NONE}, *v;
    if (object == Py_None) {
        add_value(g, KYMO_OP_NONE);
    } else if (PyBool_Check(object)) {
        v = add_value(g, KYMO_OP_BOOL);
        if (v)
            v->integer = object == Py_True;
    } else if (PyLong_Check(object)) {
        add_integer(g, object);
    } else if (PyFloat_Check(object) || PyComplex_Check(object)) {
        add_number(g, object);
    } else if (PyUnicode_Check(object)) {
        add_text(g, object);
    } else if (PyList_Check(object) || PyTuple_Check(object)) {
        add_sequence(g, object, depth);
    } else if (kymo__gather_tensor && kymo__gather_tensor(object, &tensor)) {
        v = add_value(g, KYMO_OP_TENSOR);
        if (v)
            *v = tensor;
    } else if (!add_buffer(g, object)) {
        add_other(g, object);
    }
}

/* ---- all of them ---- */

void kymo__gather_init(struct kymo__gather *g, PyObject *sequence)
{
    *g = (struct kymo__gather){.capacity = KYMO__GATHER_FEW,
                               .dim_capacity = KYMO__GATHER_DIMS,
                               .owner_capacity = KYMO__GATHER_OWNERS};
    g->values = g->few;
    g->dims = g->few_dims;
    g->owners = g->few_owners;
    if (!sequence)
        return;
    PyObject *tuple = PyList_Check(sequence)    ? PyList_AsTuple(sequence)
                      : PyTuple_Check(sequence) ? Py_NewRef(sequence)
                                                : PyTuple_Pack(1, sequence);
    if (keep_object(g, tuple))
        add_items(g, tuple, 0);
}

void kymo__gather_keywords(struct kymo__gather *g, PyObject *keywords)
{
    PyObject *values = keywords ? PyDict_Values(keywords) : NULL;
    PyObject *tuple = values ? PyList_AsTuple(values) : NULL;
    Py_XDECREF(values);
    if (keywords && keep_object(g, tuple))
        add_items(g, tuple, 0);
}

void kymo__gather_name(struct kymo__gather *g, size_t first, const char *const *names,
                       Py_ssize_t count)
{
    uint64_t elements = 0; /* of lists, to pass over */
    for (size_t i = first; i < g->count && count > 0; i++) {
        struct kymo_op_value *v = &g->values[i];
        if (!elements) {
            v->name = *names++;
            count--;
        }
        elements -= elements > 0;
        if (v->kind == KYMO_OP_LIST || v->kind == KYMO_OP_TUPLE)
            elements += v->count;
    }
}

void kymo__gather_fini(struct kymo__gather *g)
{
    while (g->owner_count)
        Py_DECREF(g->owners[--g->owner_count]);
    if (g->values != g->few)
        PyMem_Free(g->values);
    if (g->dims != g->few_dims)
        PyMem_Free(g->dims);
    if (g->owners != g->few_owners)
        PyMem_Free(g->owners);
}
