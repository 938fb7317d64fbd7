/* opheld.h — operators that have ended and wait until the ones around them have ended too.

   A tensor that an operator makes for itself, without calling another operator for that, is first
   seen in operators inside it. If it is at the address of an older one, only what the operator
   returns tells that it is another tensor, and then it is so in the operators inside as well. */
#ifndef KYMO_OPHELD_H
#define KYMO_OPHELD_H

#include "operators.h"

/* More operators, or more values of them, are not held, so that memory is bounded. */
enum { KYMO__OP_HELD_MOST = 1024, KYMO__OP_HELD_VALUES = 1 << 17 };

struct kymo_op_held {
    struct kymo_opcall *all; /* in the order in which they ended; those after `count` are spare */
    size_t count, capacity;
    size_t values; /* inputs and outputs of all */
};

/* Add OP, which gets the buffers of a spare one. Returns 0 or -ENOMEM. */
int kymo__op_hold(struct kymo_op_held *held, struct kymo_opcall *op);

/* Report all of them to VISITOR. Returns 0 or what it returned. */
int kymo__op_held_report(struct kymo_op_held *held, const struct kymo_ops_visitor *visitor);

/* An object that operators after operator OP took for another one at its address. */
struct kymo_op_mistaken {
    uint64_t op;
    uint64_t tensor, storage; /* its address; the other is 0 */
    uint64_t id, true_id;
};

/* Correct CALL, if it began after that operator. Returns whether it did. */
bool kymo__opcall_correct(struct kymo_opcall *call, const struct kymo_op_mistaken *mistaken);

/* Correct all that are held. */
void kymo__op_held_correct(struct kymo_op_held *held, const struct kymo_op_mistaken *mistaken);

void kymo__op_held_fini(struct kymo_op_held *held);

#endif
