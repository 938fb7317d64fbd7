/* heapfigures.c — see heapfigures.h. */
#include "heapfigures.h"

/* 1 - e^-x for x > 0. Not from libm, which nothing else here needs. For small x the series is exact
   to the last bit or two; and 1 - e^-2x = (1 - e^-x)(2 - (1 - e^-x)). */
static double share_within(double x)
{
    int halved = 0;
    if (x > 64)
        return 1;
    while (x > 1.0 / 16) {
        x /= 2;
        halved++;
    }
    double share = 0;
    for (int i = 10; i >= 1; i--)
        share = x / i * (1 - share);
    while (halved--)
        share *= 2 - share;
    return share;
}

/* A block is recorded with probability p = 1 - e^(-bytes / rate). One that was stands for 1 / p
   blocks, which makes every sum right on average; its variance is bytes² (1 - p) / p². */
struct kymo_heap_amount kymo__heap_weigh(uint64_t bytes, uint64_t rate)
{
    double size = bytes ? (double)bytes : 1;
    double p = rate ? share_within(size / (double)rate) : 1;
    if (p <= 0 || p >= 1)
        return (struct kymo_heap_amount){bytes, KYMO__HEAP_UNIT, 0};
    return (struct kymo_heap_amount){
        .bytes = (uint64_t)((double)bytes / p + 0.5),
        .units = (uint64_t)(KYMO__HEAP_UNIT / p + 0.5),
        .variance = size * size * (1 - p) / (p * p),
    };
}

/* Newton's method from above. */
double kymo__heap_error(const struct kymo_heap_amount *amount)
{
    double root = amount->variance > 1 ? amount->variance : 1, next = 0;
    if (!(amount->variance > 0))
        return 0;
    for (int i = 0; i < 1100; i++) {
        next = (root + amount->variance / root) / 2;
        if (next >= root)
            break;
        root = next;
    }
    return root;
}
