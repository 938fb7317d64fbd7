/* late.h — modules that were loaded after the table of modules.h was made, for signal handlers,
   which cannot make it anew. */
#ifndef KYMO_LATE_H
#define KYMO_LATE_H

#include <kymo/stack.h>

/* Get ready: not in a signal handler. */
void kymo__late_prepare(void);

/* The module with code at PC. Its path is lent as long as it stays loaded. False when there is
   none, or the loader cannot be asked without its lock. */
bool kymo__late_module(uint64_t pc, struct kymo_module *module);

#endif
