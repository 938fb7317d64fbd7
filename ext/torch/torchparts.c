/* torchparts.c — see torchparts.h. */
#include "torchparts.h"

#include "torchextras.h"

static bool record_part(struct kymo__torch_values *values)
{
    struct kymo__torch_parts *parts = (struct kymo__torch_parts *)values;
    kymo_op_part(&parts->recorded, parts->room, (size_t)(values->at - parts->room));
    values->at = parts->room;
    return !parts->recorded.cut && parts->recorded.count < KYMO_OP_VALUES_MOST;
}

void kymo__torch_parts_begin(struct kymo__torch_parts *parts, uint64_t ticks)
{
    parts->values = (struct kymo__torch_values){
        .at = parts->room, .end = parts->room + KYMO_OP_PART_VALUES, .full = record_part};
    parts->recorded = (struct kymo_op_parts){.ticks = ticks};
}

size_t kymo__torch_parts_end(struct kymo__torch_parts *parts)
{
    size_t count = (size_t)(parts->values.at - parts->room);
    if (!parts->recorded.count && !parts->recorded.cut)
        return count;
    if (count)
        record_part(&parts->values);
    parts->recorded.cut |= parts->values.cut;
    return 0;
}

/* ---- extras ---- */

/* The inputs read a second time, into the same room. */
struct again {
    struct kymo__torch_values values; /* first, as above */
    struct kymo_op_value *room;
    const struct kymo__torch_layout *layout;
    const char *name;
    struct kymo_op op;
    size_t tensors; /* before those in the room */
};

static bool note_part(struct kymo__torch_values *values)
{
    struct again *again = (struct again *)values;
    size_t count = (size_t)(values->at - again->room);
    kymo__torch_note_extras(again->layout, again->name, again->op, again->room, count,
                            again->tensors);
    for (size_t i = 0; i < count; i++)
        again->tensors +=
            again->room[i].kind == KYMO_OP_TENSOR || again->room[i].kind == KYMO_OP_UNDEFINED;
    values->at = again->room;
    return true;
}

void kymo__torch_note_extras_of(const struct kymo__torch_layout *l, const char *name,
                                struct kymo_op op, const void *record,
                                struct kymo__torch_parts *parts)
{
    struct again again = {
        .values = {.at = parts->room, .end = parts->room + KYMO_OP_PART_VALUES, .full = note_part},
        .room = parts->room,
        .layout = l,
        .name = name,
        .op = op,
    };
    kymo__torch_read_inputs(l, kymo__torch_known(), record, &again.values);
    if (again.values.at > again.room)
        note_part(&again.values);
}
