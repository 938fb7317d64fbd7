/* rankset.c — see rankset.h. */
#include "rankset.h"

#include <errno.h>

#include "alloc.h"

int kymo__rankset_init(struct kymo_rankset *s, size_t most)
{
    size_t sizes[KYMO__RANK_LEVELS] = {0}, all = 0;
    *s = (struct kymo_rankset){0};
    for (size_t n = most + 1; s->count < KYMO__RANK_LEVELS;) {
        n = n / 64 + 1;
        sizes[s->count++] = n;
        all += n;
        if (n == 1)
            break;
    }
    s->words = kymo__alloc_zeroed(all * sizeof(*s->words));
    if (!s->words)
        return -ENOMEM;
    s->levels[0] = s->words;
    for (unsigned i = 1; i < s->count; i++)
        s->levels[i] = s->levels[i - 1] + sizes[i - 1];
    return 0;
}

void kymo__rankset_fini(struct kymo_rankset *s)
{
    kymo__free(s->words);
    *s = (struct kymo_rankset){0};
}

void kymo__rankset_add(struct kymo_rankset *s, size_t number)
{
    for (unsigned i = 0; i < s->count; i++, number /= 64)
        s->levels[i][number / 64] |= UINT64_C(1) << number % 64;
}

void kymo__rankset_remove(struct kymo_rankset *s, size_t number)
{
    for (unsigned i = 0; i < s->count; i++, number /= 64)
        if (s->levels[i][number / 64] &= ~(UINT64_C(1) << number % 64))
            return;
}

/* The first member of the part that bit NUMBER of LEVEL stands for, or the last. */
static size_t descend(const struct kymo_rankset *s, unsigned level, size_t number, bool last)
{
    while (level > 0) {
        uint64_t word = s->levels[--level][number];
        unsigned bit =
            last ? 63 - (unsigned)__builtin_clzll(word) : (unsigned)__builtin_ctzll(word);
        number = number * 64 + bit;
    }
    return number;
}

size_t kymo__rankset_below(const struct kymo_rankset *s, size_t number)
{
    for (unsigned i = 0; i < s->count; i++) {
        uint64_t word = s->levels[i][number / 64] & (UINT64_MAX >> (63 - number % 64));
        if (word)
            return descend(s, i, number / 64 * 64 + 63 - (unsigned)__builtin_clzll(word), true);
        if (number < 64)
            return SIZE_MAX;
        number = number / 64 - 1;
    }
    return SIZE_MAX;
}

size_t kymo__rankset_above(const struct kymo_rankset *s, size_t number)
{
    for (unsigned i = 0; i < s->count; i++) {
        uint64_t word = s->levels[i][number / 64] & (UINT64_MAX << number % 64);
        if (word)
            return descend(s, i, number / 64 * 64 + (unsigned)__builtin_ctzll(word), false);
        number = number / 64 + 1; /* every level has room for one more than the one below */
    }
    return SIZE_MAX;
}
