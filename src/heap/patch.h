/* patch.h — the relocation slots of one loaded object: find those that lead to a function of
   hooked.h, make them lead to its hook, and put them back.

   Only between two calls of the loader on the object, and while it cannot be unloaded: patchset.c
   sees to that. Makes no call of the loader. */
#ifndef KYMO_PATCH_H
#define KYMO_PATCH_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooked.h"
#include "preload.h"

struct kymo_patched_slot {
    void **at;
    void *before; /* what it held: the function, or the loader's stub if it was not bound yet */
    int function;
};

struct kymo_patched {
    uintptr_t base;
    const ElfW(Phdr) * phdr;
    struct kymo_patched_slot *slots;
    size_t count, capacity;
    uintptr_t sealed, sealed_end; /* pages that the loader made read-only after relocation */
    int protection;               /* of those, again after a slot was written */
    bool seen;                    /* by patchset.c: still loaded */
};

/* What patching needs to know beyond the object. */
struct kymo_patching {
    unsigned what; /* enum kymo_memory_what bits */
    /* Where slots that are not bound yet would lead; NULL: nowhere. */
    void *bound[KYMO__FUNCTION_COUNT];
    bool sampled;                   /* the mode of that name */
    uintptr_t library, library_end; /* where the C library lies; both 0: nowhere */
    const char *maps; /* text of /proc/self/maps, or NULL: trust the object's headers */
    uint64_t missed;  /* slots that could not be patched are added */
};

/* Patch the object INFO. On success fill OBJECT, whose slots are then the caller's to free. Returns
   how many slots were patched, or -ENOMEM with the object unchanged. */
int kymo__patch(const struct dl_phdr_info *info, struct kymo_patching *patching,
                struct kymo_patched *object);

/* The same for TABLE, of the preloaded library. */
int kymo__patch_table(struct kymo_preload_entry *table, struct kymo_patching *patching,
                      struct kymo_patched *object);

/* Put back every slot of OBJECT that still leads to a hook. Returns how many do not. */
size_t kymo__unpatch(const struct kymo_patched *object);

/* Does ADDRESS lie in the object INFO? */
bool kymo__object_has(const struct dl_phdr_info *info, const void *address);

#endif
