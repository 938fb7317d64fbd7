/* heaplane.h — the memory events of one thread, decoded in batches.

   Blocks without payloads are skipped without being decompressed. */
#ifndef KYMO_HEAPLANE_H
#define KYMO_HEAPLANE_H

#include "decode.h"
#include "heapschemas.h"

enum { KYMO__HEAP_BATCH = 2048 };

struct kymo_heap_batch {
    struct kymo_heap_event *events; /* KYMO__HEAP_BATCH + 1 of them */
    size_t count;
    struct kymo_heap_other *others; /* events that are not about a block or mapping */
    size_t other_count, other_capacity;
    struct kymo_buffer texts;
    uint64_t reordered; /* events moved to their place in time */
};

struct kymo_heap_lane {
    const struct kymo_heap_schemas *schemas;
    uint32_t thread;
    uint64_t space; /* differs between processes; see kymo__heap_lane_init */
    size_t run, run_end;
    bool open;                      /* a run is open: the decoder's, or `live` */
    const struct kymo_record *live; /* rest of a run that is not in a block */
    size_t live_left;
    uint64_t last_ticks;
    struct kymo_buffer encoded, payload;
    struct kymo_decoder *decoder;
};

/* Set up for THREAD. Addresses of process N are changed in their top 16 bits, so that those of
   different processes of a merged capture differ. */
void kymo__heap_lane_init(struct kymo_heap_lane *lane, const struct kymo_reader *reader,
                          const struct kymo_heap_schemas *schemas, uint32_t thread);
void kymo__heap_lane_fini(struct kymo_heap_lane *lane);

/* A tick before which it has no event; UINT64_MAX if it has none at all. */
uint64_t kymo__heap_lane_start(const struct kymo_heap_lane *lane, const struct kymo_reader *reader);

/* Fill BATCH with the next events, read through READER, a shared one; 0 events at the end. Returns
   0 or a negative code. A batch never ends between the free and the new block of a move. */
int kymo__heap_lane_fill(struct kymo_heap_lane *lane, struct kymo_reader *reader,
                         struct kymo_heap_batch *batch);

int kymo__heap_batch_init(struct kymo_heap_batch *batch);
void kymo__heap_batch_fini(struct kymo_heap_batch *batch);

#endif
