/* view.h — what `kymograph view` serves: captures, opened for many requests at once. */
#ifndef KYMO_CLI_VIEW_H
#define KYMO_CLI_VIEW_H

#include <pthread.h>

#include <kymo/kymo.h>

#include "callables.h"
#include "shown.h"

enum { VIEW_CAPTURES = 2 };

/* A capture as it was when it was opened. One that is still being recorded is opened again as it
   grows; requests under way keep the old one. */
struct view_state {
    struct kymo_capture *capture;
    struct kymo_info info;
    struct kymo_callables callables;
    struct kymo_capture **spare; /* shares of the capture that nobody uses */
    size_t spare_count, spare_capacity;
    struct kymo_samplebook *samples; /* made when it is first needed; under `booking` */
    unsigned users;                  /* requests, and the view itself */
    uint64_t generation;             /* how often it was opened before */
};

struct view_tile_cache;
struct kymo_heaplog;

/* Live memory over time, and what it is of. */
struct view_memory {
    struct kymo_heaplog *log;
    uint64_t generation;
    unsigned users;     /* requests, and the view itself; under the view's lock */
    kymo_ns made, cost; /* when it was made, and how long that took */
};

struct view {
    unsigned count; /* of captures */
    const char *path[VIEW_CAPTURES];
    char *full_path[VIEW_CAPTURES];
    struct view_state *state[VIEW_CAPTURES];
    kymo_ns origin[VIEW_CAPTURES]; /* the start of each, which all times are counted from */
    struct view_tile_cache *tiles;
    struct view_memory *memory[VIEW_CAPTURES]; /* made when it is first needed; under `booking` */
    pthread_mutex_t lock;                      /* for `state` and what is in it */
    pthread_mutex_t surveying;                 /* one survey at a time: each uses all cores */
    pthread_mutex_t booking;                   /* for making what requests share */
    int stopping;                              /* atomic: answers that take long give up */
    unsigned tiles_made;                       /* atomic: how many tiles are being made */
};

/* A state and a share of its capture, for one request. */
struct view_lease {
    struct view_state *state;
    struct kymo_capture *capture;
};

/* Open COUNT captures. Prints a message and returns CLI_BAD if one cannot be opened; close VIEW in
   any case. */
int kymo__view_open(struct view *view, const char *const *paths, unsigned count);
void kymo__view_close(struct view *view);

/* Open captures again that were still being recorded and have grown. Returns whether any was. */
bool kymo__view_refresh(struct view *view);

/* Use capture WHICH. Returns 0 or a negative code; on success give the lease back. */
int kymo__view_lease(struct view *view, unsigned which, struct view_lease *lease);
void kymo__view_give_back(struct view *view, struct view_lease *lease);

/* The samples of the capture of LEASE, lent as long as that. STOP as for kymo__samplebook_init, with VIEW.
   Returns 0 or a negative code. */
int kymo__view_samples(struct view *view, const struct view_lease *lease, int (*stop)(void *view),
                       const struct kymo_samplebook **book);

/* The memory of the capture of LEASE, number WHICH. Of a capture that is being recorded, it may be older:
   making it takes long. Returns 0 or a negative code; on success give it back. */
int kymo__view_memory(struct view *view, const struct view_lease *lease, unsigned which,
                      int (*stop)(void *view), struct view_memory **memory);
void kymo__view_memory_back(struct view *view, struct view_memory *memory);

/* Fill SHOWN with capture WHICH in STATE, read through CAPTURE: all of it, without a way to
   stop. */
void kymo__view_shown(const struct view *view, unsigned which, const struct view_state *state,
                      struct kymo_capture *capture, struct kymo_shown_capture *shown);

#endif
