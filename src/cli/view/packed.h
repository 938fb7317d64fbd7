/* packed.h — tiles in one compressed stream, level after level, up to a size. */
#ifndef KYMO_CLI_PACKED_H
#define KYMO_CLI_PACKED_H

#include "buffer.h"
#include "json.h"
#include "view.h"

struct view_packed {
    struct view_lease leases[VIEW_CAPTURES];
    kymo_ns from[VIEW_CAPTURES], to[VIEW_CAPTURES]; /* since the start of each */
    struct kymo_buffer stream;                      /* raw deflate */
    unsigned finest;                                /* the finest level that is in it */
    bool all;                                       /* every call of the part is in it */
};

/* Pack tiles into PACKED, whose leases and times are set, in at most MOST bytes, and list them in
   JSON as [capture, thread, level, index, length, whether it has every call]. Returns 0 or a negative code. */
int kymo__packed_fill(struct view_packed *packed, const struct view *view, size_t most,
                      struct cli_json *json);

#endif
