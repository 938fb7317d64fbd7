/* memcounters.h — memory over time as counters: live bytes by category, and resident memory.

   However many memory events a capture has, there are at most KYMO__COUNTER_POINTS points, and each
   is the peak of its part of the time. */
#ifndef KYMO_MEMCOUNTERS_H
#define KYMO_MEMCOUNTERS_H

#include "export.h"
#include "heapview.h"

enum {
    KYMO__COUNTER_POINTS = 4096,
    KYMO__COUNTER_RESIDENT = KYMO_HEAP_CATEGORIES, /* the last counter */
    KYMO__COUNTERS,
};

struct kymo_memcounters {
    struct kymo_heap *heap;
    bool used[KYMO__COUNTERS]; /* it is not always 0 */
};

/* Add up CAPTURE's memory events for the part that OPTIONS select; nothing is `used` if it has none.
   Returns 0 or a negative code; call fini in either case. */
int kymo__memcounters_init(struct kymo_memcounters *counters, struct kymo_capture *capture,
                           const struct kymo_export_options *options);
void kymo__memcounters_fini(struct kymo_memcounters *counters);

/* Call EACH for every point, in order of time. The value of COUNTER is values[counter]; resident
   memory is 0 where it was not measured. */
void kymo__memcounters_each(const struct kymo_memcounters *counters,
                            const struct kymo_export_options *options,
                            void (*each)(void *arg, kymo_ns time, const uint64_t *values),
                            void *arg);

/* Is COUNTER a part of the live memory, rather than another view of it? */
static inline bool kymo__memcounter_adds(const struct kymo_memcounters *counters, unsigned counter)
{
    return counter < KYMO_HEAP_CATEGORIES &&
           (counter != KYMO_HEAP_ARENAS || counters->heap->arenas_count);
}

/* "objects", …, "resident". */
const char *kymo__memcounter_word(unsigned counter);

#endif
