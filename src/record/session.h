/* session.h — a session and all of its parts: for the few files that put it together. Every other
   file takes the parts that it needs (running.h). */
#ifndef KYMO_SESSION_H
#define KYMO_SESSION_H

#include "capfile.h"
#include "drain.h"
#include "flight.h"
#include "follow.h"
#include "laneset.h"
#include "names.h"
#include "opnames.h"
#include "pool.h"
#include "running.h"
#include "sampler.h"
#include "schemas.h"
#include "stackdesk.h"
#include "trackset.h"

struct kymo_session {
    struct kymo_running parts; /* what others see */
    struct kymo_pool pool;
    struct kymo_capfile file;
    struct kymo_names names;
    struct kymo_schemas schemas;
    struct kymo_opnames ops;
    struct kymo_laneset lanes;
    struct kymo_trackset tracks;
    struct kymo_flight flight;
    struct kymo_follow follow;        /* computes the summaries */
    struct kymo_drain drain;          /* the writer thread */
    char *slow_calls;                 /* kymo_options.slow_calls, or NULL */
    struct kymo_session *left_before; /* another that a stuck thread kept from being freed */
};

static_assert(offsetof(struct kymo_session, parts) == 0, "the running parts are a session");

/* The running session, or NULL; under the life lock. */
static inline struct kymo_session *kymo__session(void)
{
    return (struct kymo_session *)(uintptr_t)kymo__running;
}

/* Create a session, disabled; the caller frees *OUT on failure too. 0 or a negative code. */
int kymo__session_new(const struct kymo_options *options, struct kymo_session **out);

/* KEEP_LIVE leaves the live file in place. */
void kymo__session_free(struct kymo_session *s, bool keep_live);

/* What the writer thread calls when a signal is about to end the process (kymo_drain.conclude). The
   life lock stays held. Sources are not called: they may wait for an interpreter that is busy. */
bool kymo__session_conclude(void);

/* kymo__life_lock, or with pthread_mutex_trylock as TAKE an attempt at it. Returns what TAKE
   does. For code that must not change whether the thread can be cancelled. */
int kymo__life_take(int (*take)(pthread_mutex_t *));
void kymo__life_return(void);

#endif
