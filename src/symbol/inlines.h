/* inlines.h — the functions that contain an address: a function, and those inlined into it. */
#ifndef KYMO_INLINES_H
#define KYMO_INLINES_H

#include "lines.h"

struct kymo_scope {
    struct kymo_die die; /* has its name, or refers to it */
    uint32_t parent;     /* what it was inlined into, or KYMO__NONE */
    uint32_t call_file, call_line;
};

/* The scopes of one unit that contain an address. */
struct kymo_scopes {
    struct kymo_scope *list;
    size_t count, capacity;
};

/* For the COUNT entries at ASKS, sorted by address and all in UNIT, set `scope` to a scope added to
   SCOPES. Returns 0 or -ENOMEM. */
int kymo__scopes_find(struct kymo_scopes *scopes, struct kymo_dwarf *dwarf,
                      const struct kymo_unit *unit, struct kymo_ask *asks, size_t count);

#endif
