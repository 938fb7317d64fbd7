/* histogram.h — count durations finely enough that any percentile is accurate to 1 %.

   Each value up to 63 ns has its own bucket; above, every power of two is divided into 64. Buckets
   exist only for powers that occurred, about 600 bytes each, and only once there are more than a
   few values, because most functions of a large program are called only a few times, and many only
   once. */
#ifndef KYMO_HISTOGRAM_H
#define KYMO_HISTOGRAM_H

#include <stdint.h>

enum { KYMO__HISTOGRAM_BITS = 6, KYMO__HISTOGRAM_PAGES = 64 - KYMO__HISTOGRAM_BITS };

enum { KYMO__HISTOGRAM_FEW = 6, KYMO__HISTOGRAM_PAGED = 7 };

/* All zero is an empty histogram. */
struct kymo_histogram {
    union {
        int64_t one;      /* the only value */
        int64_t *few;     /* if there are two or more */
        uint64_t **pages; /* if there are more than a few: each of 64 counts, or NULL */
    };
    uint32_t count; /* of single values, or KYMO__HISTOGRAM_PAGED */
};

/* Count VALUE once; negative values count as 0. Returns 0 or -ENOMEM. */
int kymo__histogram_add(struct kymo_histogram *histogram, int64_t value);

/* Add the contents of OTHER. Returns 0 or -ENOMEM. */
int kymo__histogram_merge(struct kymo_histogram *histogram, const struct kymo_histogram *other);

/* The value that FRACTION (0 to 1) of the counted values do not exceed; 0 if there are none. */
int64_t kymo__histogram_at(const struct kymo_histogram *histogram, double fraction);
void kymo__histogram_fini(struct kymo_histogram *histogram);

#endif
