/* torchparts.h — operators with more values than fit the stack: the values are read and recorded in
   parts, one after the other in the same room. */
#ifndef KYMO_EXT_TORCHPARTS_H
#define KYMO_EXT_TORCHPARTS_H

#include "torchread.h"

struct kymo__torch_parts {
    struct kymo__torch_values
        values; /* to read into; first, because what reads them has only this */
    struct kymo_op_parts recorded;
    struct kymo_op_value room[KYMO_OP_PART_VALUES];
};

/* Parts at TICKS, or 0 for now. */
void kymo__torch_parts_begin(struct kymo__torch_parts *parts, uint64_t ticks);

/* Record what is left in the room. But if that is all there is, return how many they are, not 0: one
   array is enough for them, and nothing was recorded. */
size_t kymo__torch_parts_end(struct kymo__torch_parts *parts);

/* Note the extras (torchextras.h) of OP, whose inputs were recorded in PARTS. */
void kymo__torch_note_extras_of(const struct kymo__torch_layout *l, const char *name,
                                struct kymo_op op, const void *record,
                                struct kymo__torch_parts *parts);

#endif
