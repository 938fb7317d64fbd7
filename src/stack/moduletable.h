/* moduletable.h — what is loaded now, sorted by address.

   Everyone reads the table without a lock (kymo__module_at, kymo__modules_known). One thread at a
   time publishes a new one. */
#ifndef KYMO_MODULETABLE_H
#define KYMO_MODULETABLE_H

#include <stddef.h>
#include <stdint.h>

struct kymo_loaded;

/* Make LOADED, COUNT entries sorted by address, the table that belongs to VERSION. Returns 0 or
   -ENOMEM. Not in a signal handler. */
int kymo__moduletable_publish(const struct kymo_loaded *loaded, size_t count, uint64_t version);

#endif
