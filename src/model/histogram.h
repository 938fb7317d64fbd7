/* histogram.h — durations counted so finely that any percentile is right to 1 %.

   Up to 63 ns each has a bucket of its own; above, every power of two is divided into 64.
   Buckets are there only for the powers that came up, some 600 bytes for each. */
#ifndef KYMO_HISTOGRAM_H
#define KYMO_HISTOGRAM_H

#include <stdint.h>

enum { KYMO__HISTOGRAM_BITS = 6, KYMO__HISTOGRAM_PAGES = 64 - KYMO__HISTOGRAM_BITS };

/* All-zero is an empty one. */
struct kymo_histogram {
    uint64_t *pages[KYMO__HISTOGRAM_PAGES]; /* each of 64 counts */
};

/* Count VALUE once; negative values count as 0. Returns 0 or -ENOMEM. */
int kymo__histogram_add(struct kymo_histogram *histogram, int64_t value);

/* Count everything in OTHER too. Returns 0 or -ENOMEM. */
int kymo__histogram_merge(struct kymo_histogram *histogram, const struct kymo_histogram *other);

/* The value that FRACTION (0 to 1) of those counted do not exceed; 0 when there are none. */
int64_t kymo__histogram_at(const struct kymo_histogram *histogram, double fraction);
void kymo__histogram_fini(struct kymo_histogram *histogram);

#endif
