/* sites.h — the places that allocate: a stack and the allocating function, with a dense number. */
#ifndef KYMO_SITES_H
#define KYMO_SITES_H

#include "capture.h"
#include "map.h"

struct kymo_heap_site {
    uint32_t stack, function; /* function: a key, for kymo__key_name */
    uint16_t category;        /* enum kymo_heap_category */
    bool loading;             /* by a library, while it was loaded */
};

struct kymo_sites {
    struct kymo_heap_site *all;
    size_t count, capacity;
    struct kymo_map numbers; /* number + 1, by stack and function */
    uint8_t *category_of;    /* by key, plus 1; 0: not looked up yet */
    size_t keys;
    const struct kymo_reader *reader;
};

/* Returns 0 or -ENOMEM; call fini in either case. */
int kymo__sites_init(struct kymo_sites *sites, const struct kymo_reader *reader);
void kymo__sites_fini(struct kymo_sites *sites);

/* Add the site of STACK and FUNCTION, which is new. */
int64_t kymo__site_add(struct kymo_sites *sites, uint32_t stack, uint32_t function, bool mapping);

/* The number of the site of STACK and FUNCTION, from 0, or -ENOMEM. MAPPING: the memory is a
   mapping, whatever the function is called. */
static inline int64_t kymo__site_of(struct kymo_sites *sites, uint32_t stack, uint32_t function,
                                    bool mapping)
{
    uint32_t number = kymo__map_find(&sites->numbers, (uint64_t)stack << 32 | function);
    return number ? (int64_t)number - 1 : kymo__site_add(sites, stack, function, mapping);
}

#endif
