/* opjoin.h — the values of an operator that was recorded in parts, joined.

   The parts are notes "operator.part" before the note of the operator, on the same thread. Each says
   how many values the parts before it have, and the operator's flags say how many there are in all,
   so that a lost part is noticed: the values before it are kept. */
#ifndef KYMO_OPJOIN_H
#define KYMO_OPJOIN_H

#include <kymo/op.h>

#include "reader.h"

/* The lists that describe values, in the order that they have in every note. */
enum kymo_opcolumn_place {
    KYMO__COLUMN_KINDS,
    KYMO__COLUMN_INTS,
    KYMO__COLUMN_NAMES = 4,
    KYMO__COLUMNS = 15,
};

struct kymo_opcolumn {
    uint64_t count;
    const uint8_t *bytes; /* `length` bytes; lent */
    size_t length;
};

/* All zero at first. */
struct kymo_opjoin {
    struct kymo_opjoined {
        struct kymo_buffer bytes;
        uint64_t count;
    } columns[KYMO__COLUMNS];
    bool lost; /* a part is missing; what follows it is left out */
};

void kymo__opjoin_fini(struct kymo_opjoin *join);

/* Find the columns of EVENT, the payload of a note, and in *HEAD the bytes before them. False if it has
   no such columns. */
bool kymo__opjoin_columns(const struct kymo_reader *reader, const struct kymo_event *event,
                          struct kymo_opcolumn columns[KYMO__COLUMNS], size_t *head);

/* Add a part that comes after FIRST values. Returns 0 or -ENOMEM. */
int kymo__opjoin_add(struct kymo_opjoin *join, uint64_t first,
                     const struct kymo_opcolumn columns[KYMO__COLUMNS]);

/* The parts are those of an operator with FLAGS, which have KYMO_OP_PARTS: store its columns, lent
   until the next part. Returns its flags, with KYMO_OP_CUT if a part is missing. */
uint64_t kymo__opjoin_take(struct kymo_opjoin *join, uint64_t flags,
                           struct kymo_opcolumn columns[KYMO__COLUMNS]);

#endif
