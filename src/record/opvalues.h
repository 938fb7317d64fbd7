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

/* Which values have a name in the list of names: of a part nobody knows yet what are arguments. */
enum kymo__op_named { KYMO__NAMES_OF_ARGUMENTS, KYMO__NAMES_OF_VALUES };

/* Add the value fields of COUNT values, at most KYMO_OP_PART_VALUES. Returns false if the last
   argument is not complete. */
bool kymo__opvalues_put(struct kymo_payload *payload, const struct kymo_op_value *values,
                        size_t count, const struct kymo_opkeys *keys, enum kymo__op_named named);

/* How many values must still follow, after V, when MISSING had to before it. */
static inline uint64_t kymo__opvalues_missing(const struct kymo_op_value *v, uint64_t missing)
{
    missing -= missing > 0;
    if (v->kind != KYMO_OP_LIST && v->kind != KYMO_OP_TUPLE)
        return missing;
    return v->count < UINT64_MAX - missing ? missing + v->count : UINT64_MAX;
}

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
