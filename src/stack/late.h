/* late.h — modules loaded after the table of modules.h was built, for signal handlers, which cannot
   rebuild it. */
#ifndef KYMO_LATE_H
#define KYMO_LATE_H

#include <kymo/stack.h>

/* Prepare; not in a signal handler. */
void kymo__late_prepare(void);

/* Find the module with code at PC. Its path is lent as long as it stays loaded. False if there is
   none, or the loader cannot be asked without its lock. */
bool kymo__late_module(uint64_t pc, struct kymo_module *module);

#endif
