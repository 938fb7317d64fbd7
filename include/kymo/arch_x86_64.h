/* arch_x86_64.h — the time-stamp counter. See arch.h. */
#ifndef KYMO_ARCH_X86_64_H
#define KYMO_ARCH_X86_64_H

#include <cpuid.h>
#include <kymo/kymo.h>

#define KYMO__COUNTER_CLOCK KYMO_CLOCK_TSC
#define KYMO__COUNTER_NAME "time-stamp counter"

/* No barrier: it would cost more than the read, and without one the time is off only by the few
   instructions that can move past it. */
static inline uint64_t kymo__counter_read(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* Return true if the counter runs at a constant rate in every power state. */
static inline bool kymo__counter_sound(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

/* Return ticks per second as reported by the processor, or 0 if it does not report them. */
static inline uint64_t kymo__counter_rate(void)
{
    return 0;
}

static inline void kymo__relax(void)
{
    __asm__ volatile("pause");
}

/* Prefetch for writing the line 512 bytes past ADDRESS. */
static inline void kymo__write_ahead(const void *address)
{
    __asm__ volatile("prefetchw 512(%0)" : : "r"(address));
}

#endif
