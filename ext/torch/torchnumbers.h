/* torchnumbers.h — the inputs of an operator straight as records of numbers (kymo/opquick.h), without
   struct kymo_op_value in between: for those that are tensors, numbers and lists of them, as most are. */
#ifndef KYMO_EXT_TORCHNUMBERS_H
#define KYMO_EXT_TORCHNUMBERS_H

#include <kymo/opquick.h>

#include "torchread.h"

/* The keys that a thread knows, of types by their number and of the device met last. */
struct kymo__torch_keys {
    uint32_t session; /* that they belong to */
    uint32_t device;  /* 0: not known */
    uint8_t device_type;
    int8_t device_index;
    struct {
        uint32_t key; /* 0: not known */
        uint32_t bytes;
    } dtypes[KYMO__TORCH_DTYPES];
};

/* Put the inputs of RECORD at ROOM, which has KYMO__OPRECORDS_MOST records, with keys of SESSION.
   Returns the record after them, or NULL if they cannot be put in this way. */
struct kymo_record *kymo__torch_put_inputs(const struct kymo__torch_layout *l,
                                           const struct kymo__torch_lib *lib, const void *record,
                                           uint32_t session, struct kymo__torch_keys *keys,
                                           struct kymo_record *room);

#endif
