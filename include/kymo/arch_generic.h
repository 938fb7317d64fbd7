/* arch_generic.h — for architectures whose counter we do not support: the clock falls back to
   clock_gettime. See arch.h. */
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

/* Prefetch for writing the line 512 bytes past ADDRESS. Does nothing here. */
static inline void kymo__write_ahead(const void *address)
{
    (void)address;
}

#endif
