/* opparts.c — recording the values of an operator in parts: kymo/op.h.

   Each part is a note "operator.part" before the note of the operator. A part that is lost is
   counted as if it were there: readers notice that its values are missing. */
#include <kymo/op.h>

#include "opnote.h"
#include "opvalues.h"

/* Record COUNT values as one note. False if it is too long. */
static bool note_part(const struct kymo_op_parts *parts, const struct kymo_op_value *values,
                      size_t count)
{
    struct kymo_opkeys keys[KYMO_OP_PART_VALUES];
    unsigned char room[KYMO__PART_BYTES + KYMO__NOTE_SPARE];
    struct kymo_schema note = {0};
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (kymo__unlikely(!at))
        return true;
    if (kymo__unlikely(!kymo__op_note(&note, KYMO__NOTE_PART))) {
        kymo_lane_release(lane, at);
        return true;
    }
    kymo__opvalues_keys(lane, values, count, keys);
    kymo_lane_release(lane, at);

    struct kymo_payload payload;
    kymo_payload_begin(&payload, room, KYMO__PART_BYTES);
    kymo_payload_uint(&payload, parts->count);
    (void)kymo__opvalues_put(&payload, values, count, keys, KYMO__NAMES_OF_VALUES);
    if (kymo__unlikely(payload.over))
        return false;
    at = kymo_lane_claim(&lane, 1 + kymo__chain_records(payload.used));
    if (kymo__unlikely(!at))
        return true;
    if (kymo__unlikely(lane->session != note.session)) {
        kymo_lane_release(lane, at); /* a new session has begun */
        return true;
    }
    uint64_t ticks = parts->ticks;
    kymo_lane_commit(lane, kymo__op_note_store(at, &note, &payload, &ticks));
    return true;
}

void kymo_op_part(struct kymo_op_parts *parts, const struct kymo_op_value *values, size_t count)
{
    const size_t room = kymo_running() ? KYMO_OP_VALUES_MOST - (size_t)parts->count : 0;
    if (count > room) {
        parts->cut = 1;
        count = room;
    }
    while (count) {
        size_t part = count < KYMO_OP_PART_VALUES ? count : KYMO_OP_PART_VALUES;
        while (!note_part(parts, values, part) && part > 1)
            part /= 2;
        for (size_t i = 0; i < part; i++)
            parts->missing = kymo__opvalues_missing(&values[i], parts->missing);
        parts->count += part;
        values += part;
        count -= part;
    }
}
