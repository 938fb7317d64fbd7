/* random.h — numbers that look random and are the same on every run, so that a
   failure can be seen again. */
#ifndef KYMO_RANDOM_H
#define KYMO_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* One of any size: small ones are as likely as great ones. */
static inline uint64_t random_size(uint64_t *state)
{
    return random_next(state) >> (random_next(state) & 63);
}

#endif
