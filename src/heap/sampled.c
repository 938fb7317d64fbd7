/* sampled.c — see sampled.h. The two functions of mathematics are written out: the library does not
   need libm for anything else. */
#include "sampled.h"

#include <math.h>

#include "atomic.h"
#include "hash.h"

#define LN2 0.693147180559945309417

/* The natural logarithm of X, above 0. */
static double logarithm(double x)
{
    int exponent;
    double m = frexp(x, &exponent); /* in the C library itself; 0.5 <= m < 1 */
    double s = (m - 1) / (m + 1), square = s * s, power = s, sum = 0;
    for (int i = 1; i < 30; i += 2, power *= square)
        sum += power / i;
    return 2 * sum + exponent * LN2;
}

/* 1 - e^-x for x above 0. */
static double chance(double x)
{
    if (x > 40)
        return 1;
    int halvings = 0;
    while (x > 0.25) {
        x /= 2;
        halvings++;
    }
    double term = x, sum = 0;
    for (int i = 2; i < 16; i++) {
        sum += term;
        term *= -x / i;
    }
    /* 1 - e^-2x = (1 - e^-x) (2 - (1 - e^-x)) */
    while (halvings--)
        sum *= 2 - sum;
    return sum;
}

double kymo__sampled_weight(uint64_t size, uint64_t rate)
{
    return size ? 1 / chance((double)size / (double)rate) : 1;
}

/* xorshift; never 0. */
static uint32_t next_random(struct kymo_memory_thread *thread)
{
    uint32_t x = thread->seed;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return thread->seed = x;
}

/* How many bytes come before the next sample. */
static uint64_t draw_bytes(struct kymo_memory_thread *thread, uint64_t rate)
{
    uint64_t bits = (uint64_t)next_random(thread) << 21 ^ next_random(thread);
    double uniform = ((double)(bits & ((UINT64_C(1) << 53) - 1)) + 1) / 9007199254740992.0;
    return (uint64_t)(-logarithm(uniform) * (double)rate);
}

KYMO__COLD bool kymo__sampled_look(size_t size, uint64_t rate)
{
    struct kymo_memory_thread *thread = &kymo__memory_thread;
    uint64_t left = thread->countdown + thread->beyond;
    if (!thread->seed) {
        uint64_t mixed = kymo__hash_word(kymo_ticks() ^ (uintptr_t)thread);
        thread->seed = (uint32_t)(mixed >> 32) | 1;
        left = draw_bytes(thread, rate);
    }
    bool sampled = left < size;
    left = sampled ? draw_bytes(thread, rate) : left - size;
    thread->countdown = left < KYMO__SAMPLED_LOOK ? left : KYMO__SAMPLED_LOOK - 1;
    thread->beyond = left - thread->countdown;
    return sampled;
}
