/* domains.h — the registered domains (kymo/memory.h) and the objects that are left alone.
   Registering takes a lock of its own; everything else is called under the session lock. */
#ifndef KYMO_DOMAINS_H
#define KYMO_DOMAINS_H

#include <kymo/memory.h>

/* Switch all domains on. Returns the set of enum kymo_memory_what bits that they report. */
unsigned kymo__domains_install(const struct kymo_memory_options *options);
void kymo__domains_remove(void);

/* Tell the installed domains of snapshot NUMBER, and of a fork in the child. */
void kymo__domains_snapshot(uint32_t number);
void kymo__domains_forked(void);

/* The addresses given to kymo_memory_exclude. Returns how many. */
unsigned kymo__excluded(const void *addresses[8]);

#endif
