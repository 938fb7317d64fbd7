/* belongings.h — memory that belongs to a Python object without being part of it: the items of a list, the
   keys of a dict, the data of an array, what a library keeps behind its objects.

   Nobody says whose a block is. But who uses a block has its address: an object owns the recorded
   blocks whose addresses it has in its memory, and those whose addresses these have, unless they are
   objects or an object that was looked at before has them, too. */
#ifndef KYMO_EXT_BELONGINGS_H
#define KYMO_EXT_BELONGINGS_H

#include "births.h"
#include "refs.h"

struct kymo_belongings {
    const struct kymo_refs *refs; /* all objects that references lead to */
    uint64_t *slots;              /* addresses of blocks that have an owner; 0: free */
    size_t slot_count, used;      /* a power of two; at most half are used */
    bool short_of_memory;
    kymo_stack stack; /* after the last call: where one of the blocks was allocated, or 0 */
};

/* How many bytes OBJECT owns, whose own memory is BIRTH, or NULL if that was not recorded. To be asked
   once for each object, while no other thread runs Python code; others may free what they have. */
uint64_t kymo__belongings_bytes(struct kymo_belongings *owned, PyObject *object,
                                const struct kymo_birth *birth);

void kymo__belongings_free(struct kymo_belongings *owned);

#endif
