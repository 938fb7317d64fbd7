/* calls_leap.h — private to calls.c. */
#ifndef KYMO_CALLS_LEAP_H
#define KYMO_CALLS_LEAP_H

#include "calls.h"

/* Before the window, with no decoded records at hand: pass up to MOST records with ticks below
   LIMIT. Returns how many, which may be 0, or a negative code. */
int kymo__calls_leap(struct kymo_calls *calls, uint64_t limit, unsigned most);

#endif
