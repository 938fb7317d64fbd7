/* drain.h — the writer thread of a session: writes full chunks to the file. Threads that find no
   free chunk help it. */
#ifndef KYMO_DRAIN_H
#define KYMO_DRAIN_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "clock.h"
#include "wallnote.h"

struct kymo_flight;
struct kymo_follow;
struct kymo_names;
struct kymo_capfile;
struct kymo_packer;
struct kymo_pens;
struct kymo_pinger;
struct kymo_plans;
struct kymo_pool;
struct kymo_stackdesk;

#define KYMO__HELPERS 4 /* threads that may help with writing at once */

struct kymo_drain {
    struct kymo_pool *pool;
    struct kymo_capfile *file;
    struct kymo_names *names;
    struct kymo_flight *flight;
    struct kymo_follow *follow;
    struct kymo_pens *pens;
    struct kymo_stackdesk *desk;
    struct kymo_snapshot started; /* of the session */

    struct kymo_packer *packer;                 /* used by the writer thread only */
    struct kymo_packer *helpers[KYMO__HELPERS]; /* NULL while in use; taken by atomic exchange */
    uint32_t helpers_later;                     /* so many more are made when needed */
    int level;                                  /* for those */
    const struct kymo_plans *plans;
    struct kymo_wall_worst wall; /* used by the writer thread only */
    struct kymo_pinger *pinger;  /* NULL, or set once, while the thread may run */
    uint32_t pings;              /* exchanges noted; used by the writer thread only */
    uint64_t helped_chunks;

    /* A signal is about to end the process: stop recording, so that the rest can be written. False
       while that is not possible. Set by the session. */
    bool (*conclude)(void);

    pthread_t thread;
    pid_t id;           /* the thread's system id, or 0; set by that thread */
    bool there;         /* the thread exists; under the life lock */
    uint32_t turn;      /* 1: a thread is at work, and may use what is for the writer thread only */
    uint32_t published; /* 1: the files have their names, and the thread may use them */
    uint32_t finishing; /* 1: write everything, then end */
    uint32_t resting;   /* 1: end, and leave all work to the next thread */
};

/* Create the packers, which know PLANS; with HELP also those of the helpers, or only when one is
   needed if LATER. 0 or -ENOMEM; call fini either way. */
int kymo__drain_init(struct kymo_drain *drain, int level, bool help, bool later,
                     const struct kymo_plans *plans);
void kymo__drain_fini(struct kymo_drain *drain);

/* Start the thread. 0 or negative errno. Under the life lock, as the next three. */
int kymo__drain_start(struct kymo_drain *drain);

/* End the thread, leaving the work for another one; does nothing when there is none. */
void kymo__drain_rest(struct kymo_drain *drain);

/* Write everything, here or in the thread, and end the thread. 0, or the negative errno that
   explains why the file is incomplete. */
int kymo__drain_finish(struct kymo_drain *drain);

/* Have the flight recorder written, and wait until it is. 0 or negative errno. */
int kymo__drain_flight(struct kymo_drain *drain);

/* Write one full chunk: a kymo_help_fn; ARG is the drain. */
int kymo__drain_help(void *arg);

#endif
