/* clockrate.h — the measured rate of the counter as a text that other processes of the machine can
   use: kymo_clock_rate writes it. */
#ifndef KYMO_CLOCKRATE_H
#define KYMO_CLOCKRATE_H

#include <stdint.h>

/* Know the rate in TEXT, if TEXT is valid and was written in this BOOT of this machine. */
void kymo__clock_rate_read(const char *text, const uint8_t boot[16]);

#endif
