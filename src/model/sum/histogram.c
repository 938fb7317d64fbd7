/* histogram.c — see histogram.h. */
#include "histogram.h"

#include <errno.h>
#include <stdbool.h>

#include "alloc.h"
#include "atomic.h"

enum { BITS = KYMO__HISTOGRAM_BITS, SLOTS = 1 << BITS };

static int page_of(struct kymo_histogram *h, unsigned page)
{
    h->pages[page] = kymo__alloc_zeroed(SLOTS * sizeof(**h->pages));
    return h->pages[page] ? 0 : -ENOMEM;
}

/* Find where VALUE is counted. Page 0 counts 0 to 63 one by one; page n > 0 counts from 64 << (n -
   1) on, in steps of 1 << (n - 1). */
static unsigned place_of(int64_t value, unsigned *slot)
{
    uint64_t v = value > 0 ? (uint64_t)value : 0;
    unsigned width = 64 - (unsigned)__builtin_clzll(v | 1);
    unsigned page = width > BITS ? width - BITS : 0;
    *slot = (unsigned)(page ? v >> (page - 1) : v) & (SLOTS - 1);
    return page;
}

static int count_in_page(struct kymo_histogram *h, int64_t value)
{
    unsigned slot, page = place_of(value, &slot);
    if (kymo__unlikely(!h->pages[page])) {
        int rc = page_of(h, page);
        if (rc < 0)
            return rc;
    }
    h->pages[page][slot]++;
    return 0;
}

static int64_t nth(const struct kymo_histogram *h, uint32_t i)
{
    return h->count == 1 ? h->one : h->few[i];
}

static int add_to_few(struct kymo_histogram *h, int64_t value)
{
    if (h->count == 0)
        h->one = value;
    if (h->count == 1) {
        int64_t *few = kymo__alloc(KYMO__HISTOGRAM_FEW * sizeof(*few));
        if (!few)
            return -ENOMEM;
        few[0] = h->one;
        h->few = few;
    }
    if (h->count)
        h->few[h->count] = value;
    h->count++;
    return 0;
}

static bool is_paged(const struct kymo_histogram *h)
{
    return h->count == KYMO__HISTOGRAM_PAGED;
}

/* There are more than a few values: count them in pages from now on. */
static int make_pages(struct kymo_histogram *h)
{
    if (is_paged(h))
        return 0;
    struct kymo_histogram paged = {.count = KYMO__HISTOGRAM_PAGED};
    paged.pages = kymo__alloc_zeroed(KYMO__HISTOGRAM_PAGES * sizeof(*paged.pages));
    if (!paged.pages)
        return -ENOMEM;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < h->count; i++)
        rc = count_in_page(&paged, nth(h, i));
    kymo__histogram_fini(h);
    *h = paged;
    return rc;
}

int kymo__histogram_add(struct kymo_histogram *h, int64_t value)
{
    if (kymo__unlikely(!is_paged(h))) {
        if (h->count < KYMO__HISTOGRAM_FEW)
            return add_to_few(h, value);
        int rc = make_pages(h);
        if (rc < 0)
            return rc;
    }
    return count_in_page(h, value);
}

int kymo__histogram_merge(struct kymo_histogram *h, const struct kymo_histogram *other)
{
    int rc = is_paged(other) ? make_pages(h) : 0;
    for (uint32_t i = 0; rc == 0 && !is_paged(other) && i < other->count; i++)
        rc = kymo__histogram_add(h, nth(other, i));
    for (unsigned page = 0; rc == 0 && is_paged(other) && page < KYMO__HISTOGRAM_PAGES; page++) {
        if (!other->pages[page])
            continue;
        if (!h->pages[page] && page_of(h, page) < 0)
            return -ENOMEM;
        for (unsigned slot = 0; slot < SLOTS; slot++)
            h->pages[page][slot] += other->pages[page][slot];
    }
    return rc;
}

/* The middle of a bucket. */
static int64_t middle(unsigned page, unsigned slot)
{
    if (!page)
        return slot;
    uint64_t step = UINT64_C(1) << (page - 1);
    return (int64_t)((SLOTS + slot) * step + (step - 1) / 2);
}

/* Return the rank, from 1, of the value that FRACTION of COUNT values do not exceed. */
static uint64_t rank_of(double fraction, uint64_t count)
{
    double wanted = fraction * (double)count * (1 - 1e-12); /* 0.07 * 100 is a little more than 7 */
    uint64_t rank = (uint64_t)wanted;
    return rank + ((double)rank < wanted || !rank);
}

/* Look up among the few values, with the same precision as pages. */
static int64_t at_few(const struct kymo_histogram *h, double fraction)
{
    int64_t sorted[KYMO__HISTOGRAM_FEW] = {0};
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t at = i;
        for (; at && sorted[at - 1] > nth(h, i); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = nth(h, i);
    }
    uint64_t rank = rank_of(fraction, h->count);
    unsigned slot, page = place_of(sorted[(rank < h->count ? rank : h->count) - 1], &slot);
    return middle(page, slot);
}

int64_t kymo__histogram_at(const struct kymo_histogram *h, double fraction)
{
    uint64_t count = 0, seen = 0;
    if (!is_paged(h))
        return h->count ? at_few(h, fraction) : 0;
    for (unsigned page = 0; page < KYMO__HISTOGRAM_PAGES; page++)
        for (unsigned slot = 0; h->pages[page] && slot < SLOTS; slot++)
            count += h->pages[page][slot];
    uint64_t rank = rank_of(fraction, count);
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
    for (unsigned page = 0; is_paged(h) && page < KYMO__HISTOGRAM_PAGES; page++)
        kymo__free(h->pages[page]);
    if (is_paged(h))
        kymo__free(h->pages);
    else if (h->count > 1)
        kymo__free(h->few);
    *h = (struct kymo_histogram){0};
}
