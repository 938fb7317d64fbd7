/* switch.h — whether a session runs, as one number that every recording call reads.

   The number is the session's, so that a thread also notices when another session has replaced
   the one it knew. It is on a page of its own that the kernel wipes in a forked child, however
   the child was forked: no child records into its parent's chunks. */
#ifndef KYMO_SWITCH_H
#define KYMO_SWITCH_H

#include <stdint.h>

#include "atomic.h"
#include "kymo/kymo.h"

/* The page; the same as kymo__switch, which other libraries reach through an extra indirection. */
struct kymo_switch_page {
    uint32_t session;
    uint32_t pid; /* the process that owns this page; 0 after the kernel wiped it */
};
extern struct kymo_switch_page *kymo__page;

/* The number of the running session, or 0. Acquire: everything set up before the session was
   switched on is visible. */
static inline uint32_t kymo__switch_now(void)
{
    return kymo__load_acquire(&kymo__page->session);
}

/* Before the first session. Call it before this process has threads of ours: with several threads
   the kernel takes ten milliseconds for it. */
void kymo__switch_prepare(void);

/* Switch on as session NUMBER, or off with 0. Off waits until every recording thread would see
   it. */
void kymo__switch_set(uint32_t number);

/* True in a forked child in which fork's handlers did not run. */
int kymo__switch_forked(void);

#endif
