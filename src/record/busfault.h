/* busfault.h — keep the program alive when somebody truncates the live file.

   A store into a mapped page beyond the end of the file raises SIGBUS, which would kill a
   program that has done nothing wrong. While a session has a live file, a handler maps an
   ordinary page there instead and the program continues; the writer thread then ends the
   recording. Any other SIGBUS goes to the handler that was installed before. */
#ifndef KYMO_BUSFAULT_H
#define KYMO_BUSFAULT_H

#include <signal.h>
#include <stdbool.h>

#include "live.h"

/* Start and stop guarding LIVE. Under the life lock. Begin returns 0. */
int kymo__busfault_begin(const struct kymo_live *live);
void kymo__busfault_end(void);

/* True if a page had to be replaced. */
bool kymo__busfault_seen(void);

/* For other handlers of SIGBUS: replace the page if INFO is about one of ours. False if it is
   not. */
bool kymo__busfault_mend(const siginfo_t *info);

/* The action to which a handler that must run first, this one or that of crash reports, passes
   signal NUMBER on; the caller may change it. NULL without such a handler. */
struct sigaction *kymo__handler_beneath(int number);

#endif
