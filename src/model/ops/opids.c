/* opids.c — see opids.h. */
#include "opids.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

static void fini(struct kymo_op_objects *objects)
{
    kymo__map_fini(&objects->at);
    kymo__free(objects->all);
}

void kymo__op_ids_fini(struct kymo_op_ids *ids)
{
    fini(&ids->tensors);
    fini(&ids->storages);
    *ids = (struct kymo_op_ids){0};
}

/* Captures of several processes may be merged; the same address is then another object in each. */
static uint64_t place_of(uint64_t address, uint32_t process)
{
    return address ^ (uint64_t)process << 48;
}

/* An object as an operator takes or returns it. */
struct met {
    struct kymo_op_objects *objects;
    uint64_t key;
    const char *device, *dtype;
    uint64_t numel;
};

static struct met meet_tensor(struct kymo_op_ids *ids, uint32_t process,
                              const struct kymo_opdatum *value)
{
    return (struct met){&ids->tensors, place_of(value->tensor, process), value->device,
                        value->dtype, value->numel};
}

static struct met meet_storage(struct kymo_op_ids *ids, uint32_t process,
                               const struct kymo_opdatum *value)
{
    return (struct met){&ids->storages, place_of(value->storage, process), value->device, "", 0};
}

/* Names of a reader are mostly at the same address if they are the same. */
static bool is_same(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

/* The position of MET plus 1, or 0 if nothing like it is known at its address; then *OLD is the
   position plus 1 of what was there, or 0. */
static uint32_t find_object(const struct met *met, uint32_t *old)
{
    *old = kymo__map_find(&met->objects->at, met->key);
    if (!*old)
        return 0;
    const struct kymo_op_object *known = &met->objects->all[*old - 1];
    bool same = is_same(known->device, met->device) && is_same(known->dtype, met->dtype);
    return same ? *old : 0;
}

/* Give MET a new id, in place of OLD. Returns the id, or 0 without memory. */
static uint64_t add_object(struct kymo_op_ids *ids, const struct met *met, uint32_t old)
{
    struct kymo_op_objects *objects = met->objects;
    if (!old) {
        if (objects->count >= UINT32_MAX - 1 ||
            kymo__array_grow(&objects->all, &objects->capacity, objects->count,
                             sizeof(*objects->all)) < 0 ||
            kymo__map_set(&objects->at, met->key, (uint32_t)objects->count + 1) < 0)
            return 0;
        old = (uint32_t)++objects->count;
    }
    objects->all[old - 1] = (struct kymo_op_object){ids->next, met->device, met->dtype, met->numel};
    return ids->next++;
}

/* The id of MET, which an operator takes. RESIZED: it may have another number of elements than
   before. */
static uint64_t id_taken(struct kymo_op_ids *ids, struct met met, bool resized)
{
    uint32_t old, at = find_object(&met, &old);
    struct kymo_op_object *known = at ? &met.objects->all[at - 1] : NULL;
    if (!known || (known->numel != met.numel && !resized))
        return add_object(ids, &met, old);
    known->numel = met.numel;
    return known->id;
}

/* The id of MET, which operator OP returns. *BEFORE is what operators inside it took it for, if that
   was another object; else 0. */
static uint64_t id_returned(struct kymo_op_ids *ids, struct met met, uint64_t op, bool was_input,
                            uint64_t *before)
{
    uint32_t old, at = find_object(&met, &old);
    struct kymo_op_object *known = at ? &met.objects->all[at - 1] : NULL;
    *before = 0;
    if (known && (was_input || known->id > op)) {
        known->numel = met.numel;
        return known->id;
    }
    if (known)
        *before = known->id;
    return add_object(ids, &met, old);
}

/* An operator around it may resize a tensor that it was given, without an operator for that. */
static uint64_t tensor_taken(struct kymo_op_ids *ids, const struct kymo_op_lane *lane,
                             const struct kymo_opdatum *value)
{
    struct met met = meet_tensor(ids, lane->process, value);
    uint32_t old, at = find_object(&met, &old);
    bool resized = at && met.objects->all[at - 1].numel != met.numel &&
                   kymo__op_lane_takes(lane, value->tensor);
    return id_taken(ids, met, resized);
}

int kymo__op_ids_inputs(struct kymo_op_ids *ids, const struct kymo_op_lane *lane,
                        struct kymo_opcall *op)
{
    for (size_t i = 0; i < op->inputs.count; i++) {
        struct kymo_opdatum *value = &op->inputs.all[i];
        if (value->kind != KYMO_OP_TENSOR)
            continue;
        value->tensor_id = tensor_taken(ids, lane, value);
        if (value->storage)
            value->storage_id = id_taken(ids, meet_storage(ids, lane->process, value), false);
        if (!value->tensor_id || (value->storage && !value->storage_id))
            return -ENOMEM;
    }
    return 0;
}

/* Which tensors and storages are among the inputs of an operator. If there are many, they are put into
   maps, because they are looked for once for each output. */
struct taken {
    const struct kymo_opdata *inputs;
    struct kymo_map tensors, storages;
    bool mapped;
};

static int map_inputs(struct taken *taken, size_t outputs)
{
    enum { MANY = 1 << 12 };
    const struct kymo_opdata *inputs = taken->inputs;
    int rc = 0;
    taken->mapped = inputs->count * outputs > MANY;
    for (size_t i = 0; taken->mapped && rc == 0 && i < inputs->count; i++) {
        const struct kymo_opdatum *value = &inputs->all[i];
        if (value->kind != KYMO_OP_TENSOR)
            continue;
        rc = kymo__map_set(&taken->tensors, value->tensor, 1);
        if (rc == 0)
            rc = kymo__map_set(&taken->storages, value->storage, 1);
    }
    return rc;
}

static bool takes_storage(const struct kymo_opdata *values, uint64_t address)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->all[i].kind == KYMO_OP_TENSOR && values->all[i].storage == address)
            return true;
    return false;
}

static bool has_taken_tensor(const struct taken *taken, uint64_t address)
{
    return taken->mapped ? kymo__map_find(&taken->tensors, address) != 0
                         : kymo__op_takes_tensor(taken->inputs, address);
}

static bool has_taken_storage(const struct taken *taken, uint64_t address)
{
    return taken->mapped ? kymo__map_find(&taken->storages, address) != 0
                         : takes_storage(taken->inputs, address);
}

/* Set the ids of VALUE, a tensor that OP returns. */
static int return_tensor(struct kymo_op_ids *ids, struct kymo_op_lane *lane,
                         const struct kymo_opcall *op, const struct taken *taken,
                         struct kymo_opdatum *value)
{
    uint64_t before;
    value->tensor_id = id_returned(ids, meet_tensor(ids, lane->process, value), op->id,
                                   has_taken_tensor(taken, value->tensor), &before);
    if (before)
        kymo__op_lane_correct(
            lane, &(struct kymo_op_mistaken){op->id, value->tensor, 0, before, value->tensor_id});
    if (!value->tensor_id)
        return -ENOMEM;
    if (!value->storage)
        return 0;
    value->storage_id = id_returned(ids, meet_storage(ids, lane->process, value), op->id,
                                    has_taken_storage(taken, value->storage), &before);
    if (before)
        kymo__op_lane_correct(
            lane, &(struct kymo_op_mistaken){op->id, 0, value->storage, before, value->storage_id});
    return value->storage_id ? 0 : -ENOMEM;
}

int kymo__op_ids_outputs(struct kymo_op_ids *ids, struct kymo_op_lane *lane, struct kymo_opcall *op)
{
    struct taken taken = {.inputs = &op->inputs};
    int rc = map_inputs(&taken, op->outputs.count);
    for (size_t i = 0; rc == 0 && i < op->outputs.count; i++)
        if (op->outputs.all[i].kind == KYMO_OP_TENSOR)
            rc = return_tensor(ids, lane, op, &taken, &op->outputs.all[i]);
    kymo__map_fini(&taken.tensors);
    kymo__map_fini(&taken.storages);
    return rc;
}
