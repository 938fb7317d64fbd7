/* opvalues.h — an operator's arguments as the fields of a note: one list per kind of fact, so that
   every reader has them as columns. */
#ifndef KYMO_OPVALUES_H
#define KYMO_OPVALUES_H

#include <kymo/op.h>
#include <kymo/payload.h>
#include <string.h>

/* Keys of the names that one value has. */
struct kymo_opkeys {
    uint32_t name, dtype, device;
};

/* Fill KEYS for COUNT values. Inside a claim of LANE. */
void kymo__opvalues_keys(struct kymo_lane *lane, const struct kymo_op_value *values, size_t count,
                         struct kymo_opkeys *keys);

/* Add the value fields of COUNT values, at most KYMO_OP_VALUES_MOST. Returns false if the last
   argument is not complete. */
bool kymo__opvalues_put(struct kymo_payload *payload, const struct kymo_op_value *values,
                        size_t count, const struct kymo_opkeys *keys);

enum { KYMO__OPVALUES_LISTS = 15 }; /* value fields, which are all lists */

/* Add the value fields of no values. */
static inline void kymo__opvalues_put_none(struct kymo_payload *payload)
{
    static const unsigned char empty[KYMO__OPVALUES_LISTS];
    if (payload->size - payload->used < KYMO__OPVALUES_LISTS) {
        payload->over = 1;
        return;
    }
    memcpy(payload->bytes + payload->used, empty, KYMO__OPVALUES_LISTS);
    payload->used += KYMO__OPVALUES_LISTS;
}

#endif
