/* arch_generic.h — an architecture whose counter we do not know: the clock falls
   back to clock_gettime. See arch.h. */
#ifndef KYMO_ARCH_GENERIC_H
#define KYMO_ARCH_GENERIC_H

#include <kymo/kymo.h>

#define KYMO__COUNTER_CLOCK KYMO_CLOCK_MONOTONIC
#define KYMO__COUNTER_NAME "none"

static inline uint64_t kymo__counter_read(void)
{
    return 0;
}

static inline bool kymo__counter_sound(void)
{
    return false;
}

static inline uint64_t kymo__counter_rate(void)
{
    return 0;
}

static inline void kymo__relax(void) {}

/* What lies 512 bytes behind ADDRESS, if anything, will be written to soon. */
static inline void kymo__write_ahead(const void *address)
{
    (void)address;
}

#endif
