/* opheld.c — see opheld.h. */
#include "opheld.h"

#include <string.h>

#include "alloc.h"

int kymo__op_hold(struct kymo_op_held *held, struct kymo_opcall *op)
{
    size_t had = held->capacity;
    int rc = kymo__array_grow(&held->all, &held->capacity, held->count, sizeof(*held->all));
    if (rc < 0)
        return rc;
    memset(held->all + had, 0, (held->capacity - had) * sizeof(*held->all));
    struct kymo_opcall spare = held->all[held->count];
    held->all[held->count++] = *op;
    held->values += held->all[held->count - 1].inputs.count;
    held->values += held->all[held->count - 1].outputs.count;
    *op = spare;
    return 0;
}

int kymo__op_held_report(struct kymo_op_held *held, const struct kymo_ops_visitor *visitor)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && visitor->end && i < held->count; i++)
        rc = visitor->end(visitor->arg, &held->all[i]);
    held->count = held->values = 0;
    return rc;
}

static void correct_values(struct kymo_opdata *values, const struct kymo_op_mistaken *mistaken)
{
    for (size_t i = 0; i < values->count; i++) {
        struct kymo_opdatum *value = &values->all[i];
        if (value->kind != KYMO_OP_TENSOR)
            continue;
        if (mistaken->tensor && value->tensor == mistaken->tensor &&
            value->tensor_id == mistaken->id)
            value->tensor_id = mistaken->true_id;
        if (mistaken->storage && value->storage == mistaken->storage &&
            value->storage_id == mistaken->id)
            value->storage_id = mistaken->true_id;
    }
}

bool kymo__opcall_correct(struct kymo_opcall *call, const struct kymo_op_mistaken *mistaken)
{
    if (call->id <= mistaken->op)
        return false;
    correct_values(&call->inputs, mistaken);
    correct_values(&call->outputs, mistaken);
    return true;
}

void kymo__op_held_correct(struct kymo_op_held *held, const struct kymo_op_mistaken *mistaken)
{
    /* Those inside an operator are the last that have ended when it ends. */
    for (size_t i = held->count; i-- > 0;)
        if (!kymo__opcall_correct(&held->all[i], mistaken))
            break;
}

void kymo__op_held_fini(struct kymo_op_held *held)
{
    for (size_t i = 0; i < held->capacity; i++)
        kymo__opcall_fini(&held->all[i]);
    kymo__free(held->all);
    *held = (struct kymo_op_held){0};
}
