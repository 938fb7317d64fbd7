/* oplaunch.h — which operator launched what a device did later.

   A source writes what a device did to a track, with a correlation id; and the same id, as the field
   "correlation" of a payload, on the thread and at the time of the call that asked for it. The
   innermost operator open there launched it. One launch may lead to many events. Ids are unique in a
   process only.

   Memory is bounded: at least the last KYMO__LAUNCHES_MOST launches are kept. */
#ifndef KYMO_OPLAUNCH_H
#define KYMO_OPLAUNCH_H

#include "map.h"
#include "oplane.h"

enum { KYMO__LAUNCHES_MOST = 1 << 19 };

struct kymo_op_launch {
    uint64_t correlation; /* not 0 */
    uint32_t process;
    bool reported; /* the operator is in the part that is read */
    struct kymo_op_launcher by;
};

/* All zero: empty. */
struct kymo_op_launches {
    struct kymo_launch_generation {
        struct kymo_op_launch *all;
        size_t count, capacity;
        struct kymo_map map; /* by correlation and process: position in `all`, plus 1 */
    } now, before;
    uint8_t *carriers; /* by key of a schema: which field is the correlation, plus 1; 0: none is */
    size_t carrier_count;
};

/* Find the payloads of the capture that have a correlation id. Returns 0 or -ENOMEM; call fini in
   either case. */
int kymo__op_launches_init(struct kymo_op_launches *launches, const struct kymo_reader *reader);
void kymo__op_launches_fini(struct kymo_op_launches *launches);

/* The correlation id in EVENT, a payload, or 0. */
uint64_t kymo__op_correlation(const struct kymo_op_launches *launches,
                              const struct kymo_reader *reader, const struct kymo_event *event);

/* The innermost operator of LANE, if there is one, launches something with this CORRELATION. THREADS:
   how many the capture has. Returns 0 or -ENOMEM. */
int kymo__op_launch_set(struct kymo_op_launches *launches, const struct kymo_op_lane *lane,
                        uint64_t correlation, uint64_t threads);

/* Find one, or NULL; lent until the next set. */
const struct kymo_op_launch *kymo__op_launch_find(const struct kymo_op_launches *launches,
                                                  uint32_t process, uint64_t correlation);

#endif
