/* opattributes.c — recording the attributes of operators: kymo/op.h. */
#include <kymo/op.h>

#include "local.h"
#include "opnote.h"

/* Record COUNT attributes of OP. False if the note does not fit. */
static bool attribute(struct kymo_op op, const struct kymo_op_attribute *attributes, size_t count)
{
    uint32_t keys[KYMO_OP_ATTRIBUTES_MOST];
    unsigned char room[KYMO_PAYLOAD_MOST];
    struct kymo_schema note = {0};
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (!at)
        return true;
    bool here = lane->session == op.session && kymo__op_note(&note, KYMO__NOTE_ATTRIBUTES);
    for (size_t i = 0; here && i < count; i++)
        keys[i] = kymo__key(lane, attributes[i].name);
    kymo_lane_release(lane, at);
    if (!here)
        return true;
    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, sizeof(room));
    kymo_payload_uint(&payload, op.id);
    kymo_payload_count(&payload, count);
    for (size_t i = 0; i < count; i++)
        kymo_payload_uint(&payload, keys[i]);
    kymo_payload_count(&payload, count);
    for (size_t i = 0; i < count; i++)
        kymo_payload_bytes(&payload, attributes[i].text, attributes[i].length);
    kymo_payload_count(&payload, count);
    for (size_t i = 0; i < count; i++)
        kymo_payload_uint(&payload, attributes[i].kind);
    if (payload.over)
        return false;
    kymo_note(&note, &payload);
    return true;
}

void kymo_op_attributes(struct kymo_op op, const struct kymo_op_attribute *attributes, size_t count)
{
    if (!op.key || !count)
        return;
    count = count < KYMO_OP_ATTRIBUTES_MOST ? count : KYMO_OP_ATTRIBUTES_MOST;
    while (count && !attribute(op, attributes, count))
        count /= 2;
}
