/* heapmerge.h — the memory events of all threads in order of time.

   Other threads decode batches ahead, while the caller uses those that are ready; if none is, the
   caller decodes one itself. Memory is two batches and one block for each thread of the capture
   that has events at that time. */
#ifndef KYMO_HEAPMERGE_H
#define KYMO_HEAPMERGE_H

#include <pthread.h>

#include "heaplane.h"

enum { KYMO__MERGE_HELPERS = 4 };

struct kymo_merge_lane {
    struct kymo_heap_lane lane;
    struct kymo_heap_batch front, back; /* front: the caller's; back: see `state` */
    size_t at;                          /* next event of `front` */
    uint64_t next;                      /* its ticks; before the lane is open, a lower bound */
    bool opened;
    int state; /* of `back`; under the lock */
    int result;
    struct kymo_merge_lane *after; /* in the queue of lanes to fill */
};

struct kymo_merge {
    struct kymo_capture *capture;
    struct kymo_heap_schemas schemas;
    struct kymo_merge_lane *lanes, **heap; /* by `next` of the lanes that are not at their end */
    /* Is a block of LANE's process alive at ADDRESS now? Set by the caller after init, and asked when
       events of several threads have the same time; NULL: none is. */
    bool (*alive)(void *arg, const struct kymo_merge_lane *lane, uint64_t address);
    void *alive_arg;
    size_t lane_count, count;
    uint64_t limit; /* the first lane's events before this tick come before all others */
    struct kymo_capture *own;
    struct kymo_merge_helper {
        struct kymo_merge *merge;
        struct kymo_capture *capture;
        pthread_t thread;
        bool started;
    } helpers[KYMO__MERGE_HELPERS];
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct kymo_merge_lane *first, **last; /* the queue */
    bool stop;
    bool begun;
};

/* Prepare MERGE, all zero, to read CAPTURE. Returns 0 or a negative code; call fini in either
   case. */
int kymo__merge_init(struct kymo_merge *merge, struct kymo_capture *capture);
void kymo__merge_fini(struct kymo_merge *merge);

/* How many events were not in order within their thread. */
uint64_t kymo__merge_reordered(const struct kymo_merge *merge);

/* Find the lane with the next event, heap[0], and `limit`. The caller takes one event from it, and
   those after it whose ticks are below the limit, by moving `at`. They are lent until the next turn.
   Returns 1, 0 at the end, or a negative code. */
int kymo__merge_turn(struct kymo_merge *merge);

#endif
