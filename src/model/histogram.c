/* histogram.c — see histogram.h. */
#include "histogram.h"

#include <errno.h>

#include "alloc.h"
#include "atomic.h"

enum { BITS = KYMO__HISTOGRAM_BITS, SLOTS = 1 << BITS };

static int page_of(struct kymo_histogram *h, unsigned page)
{
    h->pages[page] = kymo__alloc_zeroed(SLOTS * sizeof(**h->pages));
    return h->pages[page] ? 0 : -ENOMEM;
}

int kymo__histogram_add(struct kymo_histogram *h, int64_t value)
{
    /* Page 0 counts 0 to 63 one by one; page n > 0 those from 64 << (n - 1) on, in steps
       of 1 << (n - 1). */
    uint64_t v = value > 0 ? (uint64_t)value : 0;
    unsigned width = 64 - (unsigned)__builtin_clzll(v | 1);
    unsigned page = width > BITS ? width - BITS : 0;
    unsigned slot = (unsigned)(page ? v >> (page - 1) : v) & (SLOTS - 1);
    if (kymo__unlikely(!h->pages[page])) {
        int rc = page_of(h, page);
        if (rc < 0)
            return rc;
    }
    h->pages[page][slot]++;
    return 0;
}

int kymo__histogram_merge(struct kymo_histogram *h, const struct kymo_histogram *other)
{
    for (unsigned page = 0; page < KYMO__HISTOGRAM_PAGES; page++) {
        if (!other->pages[page])
            continue;
        if (!h->pages[page] && page_of(h, page) < 0)
            return -ENOMEM;
        for (unsigned slot = 0; slot < SLOTS; slot++)
            h->pages[page][slot] += other->pages[page][slot];
    }
    return 0;
}

/* The middle of a bucket. */
static int64_t middle(unsigned page, unsigned slot)
{
    if (!page)
        return slot;
    uint64_t step = UINT64_C(1) << (page - 1);
    return (int64_t)((SLOTS + slot) * step + (step - 1) / 2);
}

int64_t kymo__histogram_at(const struct kymo_histogram *h, double fraction)
{
    uint64_t count = 0, seen = 0;
    for (unsigned page = 0; page < KYMO__HISTOGRAM_PAGES; page++)
        for (unsigned slot = 0; h->pages[page] && slot < SLOTS; slot++)
            count += h->pages[page][slot];
    double wanted = fraction * (double)count * (1 - 1e-12); /* 0.07 * 100 is a little more than 7 */
    uint64_t rank = (uint64_t)wanted;
    rank += (double)rank < wanted || !rank;
    for (unsigned page = 0; page < KYMO__HISTOGRAM_PAGES; page++) {
        for (unsigned slot = 0; h->pages[page] && slot < SLOTS; slot++) {
            seen += h->pages[page][slot];
            if (seen >= rank)
                return middle(page, slot);
        }
    }
    return 0;
}

void kymo__histogram_fini(struct kymo_histogram *h)
{
    for (unsigned page = 0; page < KYMO__HISTOGRAM_PAGES; page++) {
        kymo__free(h->pages[page]);
        h->pages[page] = NULL;
    }
}
