/* tilepack.h — tiles in one compressed stream, level after level, up to a size. */
#ifndef KYMO_TILEPACK_H
#define KYMO_TILEPACK_H

#include "buffer.h"
#include "shown.h"

struct kymo_tile_pack {
    struct kymo_buffer stream; /* raw deflate */
    unsigned finest;           /* the finest level that is in it */
    bool all;                  /* every call of the parts is in it */
};

/* The numbers of other tracks than those of calls, which have the thread's: the samples of a thread
   have its number and this one, and live memory has that. */
#define KYMO__PACKED_SAMPLES (UINT64_C(1) << 32)
#define KYMO__PACKED_MEMORY (UINT64_C(1) << 33)

/* Pack tiles of COUNT CAPTURES into PACKED, in at most MOST bytes, and list them in JSON as
   [capture, track, level, index, length, whether it has every call]: the coarse levels of
   everything and, as far as there is room, finer ones of the parts. Returns 0 or a negative code;
   call fini in either case. */
int kymo__tile_pack_fill(struct kymo_tile_pack *packed, const struct kymo_shown_capture *captures,
                         unsigned count, size_t most, struct kymo_jsonout *json);
void kymo__tile_pack_fini(struct kymo_tile_pack *packed);

#endif
