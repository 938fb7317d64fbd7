/* crash.h — what the rest of record needs of crash.c. */
#ifndef KYMO_CRASH_H
#define KYMO_CRASH_H

#include <signal.h>

/* When crashes are told: the calling thread gets a stack for signals, if it has none, and gives
   it back. Cheap otherwise. */
void kymo__crash_thread_begins(void);
void kymo__crash_thread_ends(void);

/* What is done on signal NUMBER after the crash was told; it may be changed. NULL when the
   handler of NUMBER is not that of crash.c. */
struct sigaction *kymo__crash_beneath(int number);

#endif
