/* tick.h — the signal of the sampler's timers, and its handler. */
#ifndef KYMO_TICK_H
#define KYMO_TICK_H

#include <stdbool.h>

/* Choose a signal that nobody uses and handle it. Returns its number or KYMO_ESIGNALS. */
int kymo__tick_install(void);

/* False if the program has changed the signal's action meanwhile. */
bool kymo__tick_ours(int number);

/* Discard pending signals and restore the previous action. No timer may be left. */
void kymo__tick_remove(int number);

/* The same in a forked child, where nothing is pending. */
void kymo__tick_forked(int number);

#endif
