/* arch_aarch64.h — the virtual counter of the generic timer. See arch.h. */
#ifndef KYMO_ARCH_AARCH64_H
#define KYMO_ARCH_AARCH64_H

#include <kymo/kymo.h>

#define KYMO__COUNTER_CLOCK KYMO_CLOCK_CNTVCT
#define KYMO__COUNTER_NAME "virtual counter"

/* No ISB: it drains the pipeline and costs twenty times the read. */
static inline uint64_t kymo__counter_read(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* The architecture requires a constant rate. */
static inline bool kymo__counter_sound(void)
{
    return true;
}

static inline uint64_t kymo__counter_rate(void)
{
    uint64_t rate;
    __asm__("mrs %0, cntfrq_el0" : "=r"(rate));
    return rate;
}

static inline void kymo__relax(void)
{
    __asm__ volatile("yield");
}

/* Prefetch for writing the line 512 bytes past ADDRESS. */
static inline void kymo__write_ahead(const void *address)
{
    __asm__ volatile("prfm pstl1keep, [%0, #512]" : : "r"(address));
}

#endif
