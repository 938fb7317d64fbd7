/* entries.h — what writing (valueput.c) and reading (values.c) the column of values share. */
#ifndef KYMO_ENTRIES_H
#define KYMO_ENTRIES_H

#include <string.h>

#include "values.h"
#include "varint.h"

enum { KYMO__FIELD_BASE = 0x0f }; /* bits of a type: that of a list's values */

/* Flags in the head of an entry, below the schema's number: its values are not differences; its
   plan follows. */
enum { KYMO__ENTRY_RAW = 1, KYMO__ENTRY_PLAN = 2 };

/* Is TYPE stored as differences? */
static inline bool kymo__field_near(unsigned type)
{
    return type >= KYMO_FIELD_ADDRESS && type <= KYMO_FIELD_ID;
}

/* Is TYPE a number that is stored as a varint? */
static inline bool kymo__field_number(unsigned type)
{
    return type == KYMO_FIELD_UINT || type == KYMO_FIELD_INT ||
           (type >= KYMO_FIELD_ADDRESS && type <= KYMO__FIELD_BASE);
}

/* kymo__field_end without a call for most: a number in one byte, and a short list of numbers. */
static inline const uint8_t *kymo__field_end_soon(unsigned type, const uint8_t *at,
                                                  const uint8_t *end)
{
    if (at < end && *at < 0x80) {
        if (kymo__field_number(type) || (type > KYMO__FIELD_BASE && !*at))
            return at + 1;
        if (type > KYMO__FIELD_BASE && kymo__field_number(type & KYMO__FIELD_BASE))
            return type & KYMO_FIELD_LIST ? kymo__varints_skip(at + 1, end, *at)
                                          : kymo__varint_lists_skip(at + 1, end, *at);
    }
    return kymo__field_end(type, at, end);
}

/* Encode a difference as an unsigned number. Addresses are usually multiples of 16; then the low
   bits are omitted. */
static inline uint64_t kymo__value_fold(unsigned type, uint64_t difference)
{
    int64_t d = (int64_t)difference;
    if (type != KYMO_FIELD_ADDRESS)
        return kymo__zigzag(d);
    return d & 15 ? kymo__zigzag(d) << 1 | 1 : kymo__zigzag(d >> 4) << 1;
}

static inline uint64_t kymo__value_unfold(unsigned type, uint64_t v)
{
    if (type != KYMO_FIELD_ADDRESS)
        return (uint64_t)kymo__unzigzag(v);
    uint64_t d = (uint64_t)kymo__unzigzag(v >> 1);
    return v & 1 ? d : d << 4;
}

/* Plans that most payloads of a capture of memory have. */
enum { KYMO__SHAPE_OTHER, KYMO__SHAPE_FREE, KYMO__SHAPE_ALLOC };

static inline uint8_t kymo__plan_shape(const struct kymo_plan *plan)
{
    static const uint8_t alloc[] = {KYMO_FIELD_UINT, KYMO_FIELD_ADDRESS, KYMO_FIELD_STACK,
                                    KYMO_FIELD_NAME};
    if (plan->count == 1 && plan->type[0] == KYMO_FIELD_ADDRESS)
        return KYMO__SHAPE_FREE;
    bool same = plan->count == sizeof(alloc) && memcmp(plan->type, alloc, sizeof(alloc)) == 0;
    return same ? KYMO__SHAPE_ALLOC : KYMO__SHAPE_OTHER;
}

#endif
