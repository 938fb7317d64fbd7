/* torchblocks.c — see torchblocks.h. */
#include "torchblocks.h"

#include <kymo/payload.h>
#include <pthread.h>

#include "core.h"
#include "opgather.h"
#include "torchextras.h"
#include "torchhead.h"

enum {
    NUMBER_BYTES = 10, /* the most that one takes in a payload */
    HELD_MOST = 256,   /* tensors in a note of a holder */
    HELD_FIELDS = 5,
};

/* Of the session in which blocks are noted. */
static struct kymo_schema memory_schema, holder_schema, freed_schema;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users; /* under the lock */

/* Where the memory of T begins; 0: it has none. Of a copy that is made when it is written to, the
   address of what it is a copy of. */
static uint64_t memory_of(const struct kymo__torch_layout *l, const struct kymo_op_tensor *t)
{
    return t->storage ? kymo__torch_word((const void *)(uintptr_t)t->storage, l->data) : 0;
}

void kymo__torch_note_blocks(const struct kymo__torch_layout *l, struct kymo_op op,
                             const struct kymo_op_value *inputs, size_t count)
{
    unsigned char room[NUMBER_BYTES * (KYMO_OP_PART_VALUES + 2)];
    size_t tensors = 0;
    for (size_t i = 0; i < count; i++)
        tensors += inputs[i].kind == KYMO_OP_TENSOR;
    if (!tensors)
        return;
    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, sizeof room);
    kymo_payload_uint(&payload, op.id);
    kymo_payload_count(&payload, tensors);
    for (size_t i = 0; i < count; i++)
        if (inputs[i].kind == KYMO_OP_TENSOR)
            kymo_payload_uint(&payload, memory_of(l, &inputs[i].tensor));
    kymo_note(&memory_schema, &payload);
}

static bool is_on(void)
{
    return __atomic_load_n(&kymo__torch_extras, __ATOMIC_RELAXED) & (uint32_t)KYMO__TORCH_BLOCKS;
}

void kymo__torch_note_freed(const void *address)
{
    unsigned char room[NUMBER_BYTES];
    struct kymo_payload payload;
    if (!is_on())
        return;
    kymo_payload_begin(&payload, room, sizeof room);
    kymo_payload_uint(&payload, (uintptr_t)address);
    kymo_note(&freed_schema, &payload);
}

/* ---- holders ---- */

struct held {
    unsigned role;
    struct kymo_op_tensor tensor;
};

/* How many bytes T reaches over, by its greatest dimension, as torch counts them. */
static uint64_t bytes_of(const struct kymo_op_tensor *t)
{
    uint64_t most = t->dims ? 0 : 1;
    if (t->marks || (t->dims && !t->strides))
        return 0;
    for (uint32_t i = 0; i < t->dims; i++) {
        uint64_t reach = (uint64_t)t->shape[i] * (uint64_t)t->strides[i];
        most = reach > most ? reach : most;
    }
    return most * t->itemsize;
}

static void note_held(const struct kymo__torch_layout *l, const struct held *held, size_t count)
{
    unsigned char room[NUMBER_BYTES * HELD_FIELDS * (HELD_MOST + 1)];
    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, sizeof room);
    kymo_payload_count(&payload, count);
    for (size_t i = 0; i < count; i++)
        kymo_payload_uint(&payload, held[i].role);
    kymo_payload_count(&payload, count);
    for (size_t i = 0; i < count; i++)
        kymo_payload_uint(&payload, held[i].tensor.tensor);
    kymo_payload_count(&payload, count);
    for (size_t i = 0; i < count; i++)
        kymo_payload_uint(&payload, memory_of(l, &held[i].tensor));
    kymo_payload_count(&payload, count);
    for (size_t i = 0; i < count; i++)
        kymo_payload_uint(&payload, bytes_of(&held[i].tensor));
    kymo_payload_count(&payload, count);
    for (size_t i = 0; i < count; i++)
        kymo_payload_uint(&payload, kymo_name_key(held[i].tensor.device));
    kymo_note(&holder_schema, &payload);
}

PyObject *kymo__torch_hold(PyObject *Py_UNUSED(module), PyObject *list)
{
    const struct kymo__torch_layout *l = kymo__torch_layout();
    struct held held[HELD_MOST];
    size_t count = 0;
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "torch_hold takes a list");
        return NULL;
    }
    if (!is_on() || !l || l->data < 0 || !kymo__gather_tensor)
        Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        struct kymo_op_value value;
        PyObject *tensor;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "IO", &held[count].role, &tensor))
            return NULL;
        if (!kymo__gather_tensor(tensor, &value) || value.kind != KYMO_OP_TENSOR)
            continue;
        held[count++].tensor = value.tensor;
        if (count == HELD_MOST) {
            note_held(l, held, count);
            count = 0;
        }
    }
    if (count)
        note_held(l, held, count);
    Py_RETURN_NONE;
}

/* ---- on and off ---- */

/* Under the lock. */
static void begin_blocks(void)
{
    static const struct kymo_field memory_fields[] = {
        {"rf_id", KYMO_FIELD_ID},
        {"memory", KYMO_FIELD_ADDRESS | KYMO_FIELD_LIST},
    };
    static const struct kymo_field holder_fields[HELD_FIELDS] = {
        {"roles", KYMO_FIELD_UINT | KYMO_FIELD_LIST},
        {"tensors", KYMO_FIELD_ADDRESS | KYMO_FIELD_LIST},
        {"memory", KYMO_FIELD_ADDRESS | KYMO_FIELD_LIST},
        {"bytes", KYMO_FIELD_UINT | KYMO_FIELD_LIST},
        {"devices", KYMO_FIELD_NAME | KYMO_FIELD_LIST},
    };
    static const struct kymo_field freed_fields[] = {{"memory", KYMO_FIELD_ADDRESS}};
    const struct kymo__torch_layout *l = kymo__torch_layout();
    if (l && l->data >= 0 &&
        kymo_schema_define(&memory_schema, "operator.memory", memory_fields,
                           COUNT_OF(memory_fields)) == 0 &&
        kymo_schema_define(&holder_schema, "operator.holder", holder_fields, HELD_FIELDS) == 0 &&
        kymo_schema_define(&freed_schema, "operator.freed", freed_fields, 1) == 0)
        kymo__torch_extra_set(KYMO__TORCH_BLOCKS, true);
}

PyObject *kymo__torch_blocks(PyObject *Py_UNUSED(module), PyObject *flag)
{
    int on = PyObject_IsTrue(flag);
    if (on < 0)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&lock);
    if (on && users++ == 0)
        begin_blocks();
    else if (!on && users && --users == 0)
        kymo__torch_extra_set(KYMO__TORCH_BLOCKS, false);
    bool notes = is_on();
    pthread_mutex_unlock(&lock);
    PyEval_RestoreThread(thread);
    return PyBool_FromLong(notes);
}

void kymo__torch_blocks_forked(void)
{
    pthread_mutex_init(&lock, NULL);
    users = 0;
}
