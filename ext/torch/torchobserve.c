/* torchobserve.c — see torchprobe.h: observations. */
#include <kymo/op.h>
#include <stdlib.h>
#include <string.h>

#include "torchhead.h"
#include "torchops.h"
#include "torchprobe.h"

enum { OBSERVATIONS = 512, VALUES = 64, DIMS = 16, TEXT_BYTES = 64 };

/* A value with copies of what it points to. */
struct observed_value {
    struct kymo_op_value value;
    int64_t shape[DIMS], strides[DIMS];
    char text[TEXT_BYTES];
};

struct observation {
    bool end;
    char name[TEXT_BYTES], schema[TEXT_BYTES];
    struct kymo_operator head;
    size_t count;
    struct observed_value values[VALUES];
};

static struct observation *seen; /* as for snapshots */
static size_t seen_count;

static void copy_dims(int64_t *to, const int64_t *from, uint32_t count)
{
    memset(to, 0, DIMS * sizeof *to);
    if (from)
        memcpy(to, from, (count < DIMS ? count : DIMS) * sizeof *to);
}

static void copy_value(struct observed_value *to, const struct kymo_op_value *from)
{
    to->value = *from;
    if (from->kind == KYMO_OP_TENSOR) {
        copy_dims(to->shape, from->tensor.shape, from->tensor.dims);
        copy_dims(to->strides, from->tensor.strides, from->tensor.dims);
    } else if (from->kind == KYMO_OP_TEXT || from->kind == KYMO_OP_DEVICE ||
               from->kind == KYMO_OP_OTHER) {
        size_t length = from->text.length < TEXT_BYTES ? from->text.length : TEXT_BYTES;
        to->value.text.length = length;
        memcpy(to->text, from->text.bytes, length);
    }
}

static void add_observation(const void *record, unsigned scope, bool end)
{
    const struct kymo__torch_layout *l = kymo__torch_layout();
    const struct kymo__torch_lib *lib = kymo__torch_known();
    struct kymo_op_value room[VALUES];
    struct kymo__torch_values values = {.at = room, .end = room + VALUES};
    if (!l || !seen || seen_count == OBSERVATIONS)
        return;
    struct observation *o = &seen[seen_count];
    memset(o, 0, offsetof(struct observation, values));
    o->end = end;
    o->head.scope = scope;
    const char *name = lib->name(record);
    strncpy(o->name, name, TEXT_BYTES - 1);
    if (end) {
        kymo__torch_read_outputs(l, lib, record, &values);
    } else {
        kymo__torch_read_head(l, record, name, NULL, &o->head);
        kymo__torch_read_inputs(l, lib, record, &values);
    }
    if (o->head.schema)
        strncpy(o->schema, o->head.schema, TEXT_BYTES - 1);
    o->count = (size_t)(values.at - room);
    for (size_t i = 0; i < o->count; i++)
        copy_value(&o->values[i], &room[i]);
    seen_count++;
}

static void observe_start(const void *record, unsigned scope)
{
    add_observation(record, scope, false);
}

static void observe_end(const void *record, unsigned scope)
{
    add_observation(record, scope, true);
}

static const struct kymo__torch_probe observing = {observe_start, observe_end};

/* ---- for Python ---- */

PyObject *kymo__torch_observe(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (!seen)
        seen = calloc(OBSERVATIONS, sizeof *seen);
    if (!seen)
        return PyErr_NoMemory();
    seen_count = 0;
    return PyBool_FromLong(kymo__torch_probe_this_thread(&observing));
}

static PyObject *dims_object(const int64_t *dims, uint32_t count)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < count && i < DIMS; i++) {
        PyObject *number = PyLong_FromLongLong(dims[i]);
        if (!number || PyList_Append(list, number) < 0)
            Py_CLEAR(list);
        Py_XDECREF(number);
    }
    return list;
}

/* (kind, value) for one, where the value of a tensor is a tuple */
static PyObject *value_object(const struct observed_value *o)
{
    const struct kymo_op_value *v = &o->value;
    switch (v->kind) {
    case KYMO_OP_TENSOR:
        return Py_BuildValue("I(KKLKNNssII)", v->kind, (unsigned long long)v->tensor.tensor,
                             (unsigned long long)v->tensor.storage, (long long)v->tensor.offset,
                             (unsigned long long)v->tensor.numel,
                             dims_object(o->shape, v->tensor.dims),
                             dims_object(o->strides, v->tensor.dims), v->tensor.dtype,
                             v->tensor.device, v->tensor.itemsize, v->tensor.marks);
    case KYMO_OP_INT:
    case KYMO_OP_BOOL:
        return Py_BuildValue("IL", v->kind, (long long)v->integer);
    case KYMO_OP_FLOAT:
        return Py_BuildValue("Id", v->kind, v->real);
    case KYMO_OP_COMPLEX:
        return Py_BuildValue("I(dd)", v->kind, v->complex_parts[0], v->complex_parts[1]);
    case KYMO_OP_LIST:
    case KYMO_OP_TUPLE:
        return Py_BuildValue("IK", v->kind, (unsigned long long)v->count);
    case KYMO_OP_TEXT:
    case KYMO_OP_DEVICE:
    case KYMO_OP_OTHER:
        return Py_BuildValue("Iy#", v->kind, o->text, (Py_ssize_t)v->text.length);
    default:
        return Py_BuildValue("IO", v->kind, Py_None);
    }
}

/* (end, name, scope, schema, id, sequence, thread, forward thread, [values]) */
static PyObject *observation_object(const struct observation *o)
{
    PyObject *values = PyList_New(0);
    for (size_t i = 0; values && i < o->count; i++) {
        PyObject *one = value_object(&o->values[i]);
        if (!one || PyList_Append(values, one) < 0)
            Py_CLEAR(values);
        Py_XDECREF(one);
    }
    if (!values)
        return NULL;
    return Py_BuildValue("NsIsKLKKN", PyBool_FromLong(o->end), o->name, o->head.scope, o->schema,
                         (unsigned long long)o->head.id, (long long)o->head.sequence,
                         (unsigned long long)o->head.thread,
                         (unsigned long long)o->head.forward_thread, values);
}

PyObject *kymo__torch_observations(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    kymo__torch_probe_this_thread(NULL);
    PyObject *all = PyList_New(0);
    for (size_t i = 0; all && seen && i < seen_count; i++) {
        PyObject *one = observation_object(&seen[i]);
        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}
