/* switch.h — whether a session runs, as one number that every recording call looks at.

   The number is the session's, so that a thread also notices that the session it
   knew has been followed by another. It stands on a page of its own that the kernel
   wipes in a forked child, however the child was forked: no child records into its
   parent's chunks. */
#ifndef KYMO_SWITCH_H
#define KYMO_SWITCH_H

#include <stdint.h>

#include "atomic.h"
#include "kymo/kymo.h"

/* The page; the same as kymo__switch, which other libraries reach by a longer way. */
struct kymo_switch_page {
    uint32_t session;
    uint32_t pid; /* whose page this is; 0 after the kernel wiped it */
};
extern struct kymo_switch_page *kymo__page;

/* The number of the running session, or 0. Acquire: what the session set up before
   it was switched on is seen. */
static inline uint32_t kymo__switch_now(void)
{
    return kymo__load_acquire(&kymo__page->session);
}

/* Turn on as session NUMBER, or off with 0. Off waits until every thread that goes on
   recording would see it. */
void kymo__switch_set(uint32_t number);

/* True in a forked child whose handlers did not run. */
int kymo__switch_forked(void);

#endif
