/* opids.h — ids for tensors and storages, which a capture knows by their addresses.

   An address is reused when its object is gone, so it is not an identity. Operators tell when a new
   object begins: an address that comes out of an operator, was not among its inputs, and was not
   first seen while the operator ran, belongs to a new object. An object that no operator returned
   is first seen as an input; if it is at the address of an older one, it is known to be another only
   if it has another type, device or number of elements, or if an operator that is open returns it
   later.

   All ids come from the counter that also numbers operators, so an id greater than an operator's
   belongs to an object that was first seen after the operator began. Memory is proportional to the
   number of addresses, not of objects. */
#ifndef KYMO_OPIDS_H
#define KYMO_OPIDS_H

#include "map.h"
#include "oplane.h"

struct kymo_op_objects {
    struct kymo_map at; /* by address and process: position in `all`, plus 1 */
    struct kymo_op_object {
        uint64_t id;
        const char *device, *dtype; /* dtype is "" for storages, */
        uint64_t numel;             /* and this is 0 */
    } * all;
    size_t count, capacity;
};

struct kymo_op_ids {
    struct kymo_op_objects tensors, storages;
    uint64_t next; /* the next id */
};

void kymo__op_ids_fini(struct kymo_op_ids *ids);

/* Set the ids of the tensors in the inputs of OP, which begins now, the innermost on LANE. Returns 0
   or -ENOMEM. */
int kymo__op_ids_inputs(struct kymo_op_ids *ids, const struct kymo_op_lane *lane,
                        struct kymo_opcall *op);

/* The same for the outputs of OP, which ends now. Corrects operators inside it on LANE. */
int kymo__op_ids_outputs(struct kymo_op_ids *ids, struct kymo_op_lane *lane,
                         struct kymo_opcall *op);

#endif
