/* inlines.h — which functions an address lies in: a function, and those inlined in it. */
#ifndef KYMO_INLINES_H
#define KYMO_INLINES_H

#include "lines.h"

struct kymo_scope {
    struct kymo_die die; /* that has its name, or leads to it */
    uint32_t parent;     /* what it was inlined into, or KYMO__NONE */
    uint32_t call_file, call_line;
};

/* Those of one unit in which there is an address. */
struct kymo_scopes {
    struct kymo_scope *list;
    size_t count, capacity;
};

/* Set scope of the COUNT at ASKS, in order of address, all of UNIT, to what is added to SCOPES.
   Returns 0 or -ENOMEM. */
int kymo__scopes_find(struct kymo_scopes *scopes, struct kymo_dwarf *dwarf,
                      const struct kymo_unit *unit, struct kymo_ask *asks, size_t count);

#endif
