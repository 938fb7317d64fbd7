/* oplane.h — the operators open on one thread. */
#ifndef KYMO_OPLANE_H
#define KYMO_OPLANE_H

#include "nest.h"
#include "operators.h"
#include "opheld.h"
#include "opjoin.h"

/* An operator that has not been reported yet. Its buffers are reused by the next one at the same
   depth. */
struct kymo_op_open {
    struct kymo_opcall op;
    bool reported;  /* it is in the part that is read */
    bool described; /* its "operator.in" was there */
    uint32_t depth; /* for the exports of timelines: of its call */
    bool has_inner; /* for them: an operator directly in it had a sequence number, */
    int64_t inner_seq;
    uint64_t inner_fw_tid; /* and a forward thread */
    kymo_ns inside;        /* time in operators that it contains */
};

struct kymo_op_lane {
    struct kymo_nest nest;
    struct kymo_op_open *open; /* outermost first */
    size_t count, capacity;
    struct kymo_op_held held; /* inside the outermost of these that is not a span */
    struct kymo_opjoin parts; /* of an operator that begins or ends soon */
    uint32_t index, process;
    uint64_t id;     /* of the thread; 0: it had no operator yet */
    uint64_t tid;    /* the framework's number if known, else the system's */
    uint64_t before; /* id of what began last */
    kymo_ns quiet;   /* when that ended; INT64_MAX if it has not */
    uint64_t across; /* what operators after the last pause depend on */
    bool told;       /* the thread was reported */
    struct carried {
        uint32_t key;
        struct kymo_op_open open;
    } * carried; /* those whose first part has ended; they go on */
    size_t carried_count, carried_capacity;
    /* Of the track of a device; see oplaunch.h. */
    int64_t device; /* -1: it is no such track */
    uint64_t stream;
    struct kymo_op_device ran; /* its last event; name NULL: none */

    void *pass; /* operators.c */
};

void kymo__op_lane_fini(struct kymo_op_lane *lane);

/* A new innermost operator, all zero except for its buffers, or NULL. */
struct kymo_op_open *kymo__op_lane_push(struct kymo_op_lane *lane);

/* OPEN, which was the innermost, has outlived the call that it began in: keep it with its buffers.
   Returns 0 or -ENOMEM. */
int kymo__op_lane_carry(struct kymo_op_lane *lane, uint32_t key, struct kymo_op_open *open);

/* OPEN, the innermost, goes on with the one of KEY that was kept last. Its parent and the number of its
   call are those of OPEN. Returns false if there is none. */
bool kymo__op_lane_go_on(struct kymo_op_lane *lane, uint32_t key, struct kymo_op_open *open);

/* The operator that a payload with RF_ID belongs to: the innermost with that id or, for 0, the
   innermost. NULL if there is none. */
struct kymo_opcall *kymo__op_lane_find(struct kymo_op_lane *lane, uint64_t rf_id);

/* Is an operator open that may return tensors? Spans do not. */
bool kymo__op_lane_may_return(const struct kymo_op_lane *lane);

/* Does an operator take the tensor at this address that is open, other than the innermost one? */
bool kymo__op_lane_takes(const struct kymo_op_lane *lane, uint64_t tensor);

/* Correct what has ended, or is about to, inside an operator. */
void kymo__op_lane_correct(struct kymo_op_lane *lane, const struct kymo_op_mistaken *mistaken);

/* FIELDS are those of a note on LANE. If its values are in parts, put them there. */
void kymo__op_lane_join(struct kymo_op_lane *lane, struct kymo_op_fields *fields);

/* Fill in OP from FIELDS of its payload. Returns 0 or -ENOMEM. */
int kymo__op_take_in(struct kymo_opcall *op, const struct kymo_op_fields *fields,
                     const struct kymo_reader *reader);
int kymo__op_take_attributes(struct kymo_opcall *op, const struct kymo_op_fields *fields,
                             const struct kymo_reader *reader);

#endif
