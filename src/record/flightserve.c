/* flightserve.c — when the flight recorder (flight.h) is written: on request, by a signal, and
   after a slow call. */
#include <errno.h>

#include "capfile.h"
#include "flightring.h"
#include "live.h"
#include "local.h"
#include "lock.h"
#include "pool.h"
#include "switch.h"

#define SLOW_MOST 8 /* slow calls are not written to a capture larger than this many rings */

/* Set by signal handlers: the number of the session to write, or 0, and the tick of the first
   request. */
static uint32_t requested;
static uint64_t requested_at;
uint32_t kymo__flight_answers;

static void expire_old(struct kymo_flight *f)
{
    if (!f->span)
        return;
    struct kymo_snapshot now = kymo__clock_snapshot();
    kymo__lock(&f->lock);
    f->oldest = kymo__flight_oldest_tick(f, &now, now.ticks);
    while (f->blocks && kymo__block_has_chunks(kymo__flight_oldest(f)->type) &&
           kymo__flight_oldest(f)->last_ticks < f->oldest)
        kymo__flight_expire_front(f);
    kymo__unlock(&f->lock);
}

/* Convert NS nanoseconds to ticks, using the clock since the session began. */
static uint64_t ticks_in(const struct kymo_flight *f, const struct kymo_snapshot *now, kymo_ns ns)
{
    kymo_ns lasted = now->monotonic - f->started.monotonic;
    if (lasted <= 0)
        return UINT64_MAX;
    return (uint64_t)((double)(now->ticks - f->started.ticks) / (double)lasted * (double)ns);
}

/* The estimate of the clock's rate improves over time. */
static void measure_slow(struct kymo_flight *f)
{
    struct kymo_snapshot now = kymo__clock_snapshot();
    kymo__lock(&f->lock);
    f->watch.ticks = ticks_in(f, &now, f->watch.slow);
    kymo__unlock(&f->lock);
}

/* Mark this moment on the writer thread, which records no other events. */
static void mark_here(const char *name)
{
    uint32_t inside = kymo__inside;
    kymo__inside_add(-inside);
    kymo_instant(name);
    kymo__inside_add(inside);
}

/* Attach the name of the call KEY to the last mark on this thread. */
static void mark_call(uint32_t key)
{
    struct kymo_lane *lane;
    uint32_t inside = kymo__inside;
    kymo__inside_add(-inside);
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    uint32_t name = at ? kymo__key(lane, "call") : 0;
    if (name) {
        kymo_lane_store(at, kymo_ticks(), kymo_word(KYMO_ARG_TEXT, 0, name));
        kymo_lane_store(at + 1, key, KYMO_VALUE_WORD);
        kymo_lane_commit(lane, at + 2);
    } else if (at) {
        kymo_lane_drop(lane, at, 1, KYMO_GAP_DISK);
    }
    kymo__inside_add(inside);
}

void kymo__flight_serve(struct kymo_flight *f)
{
    if (f->watch.slow)
        measure_slow(f);
    uint64_t asked = kymo__exchange(&f->asked, (uint64_t)0);
    uint32_t number = kymo__exchange(&requested, 0u);
    bool signalled = number && number == kymo__switch_now();
    if (signalled)
        mark_here("kymograph flight: signal");
    if (!asked && !signalled) {
        expire_old(f);
        return;
    }
    int rc = kymo__flight_flush(f, asked ? asked : kymo__load_relaxed(&requested_at));
    if (signalled)
        kymo__add_release(&kymo__flight_answers, 1u);
    if (asked) {
        f->result = rc;
        sem_post(&f->done);
    }
}

void kymo__flight_watch(struct kymo_flight *f)
{
    if (!f->watch.slow)
        return;
    kymo__lock(&f->lock);
    uint32_t count = kymo__load_acquire(&f->pool->live.header->chunks);
    for (uint32_t i = 0; i < count; i++) {
        const struct kymo_chunk *chunk = &f->pool->live.chunks[i];
        if (kymo__load_acquire(&chunk->state) == KYMO__CHUNK_OPEN &&
            chunk->type == KYMO__BLOCK_RECORDS)
            kymo__watch_chunk(&f->watch, chunk);
    }
    bool found = f->watch.found != 0;
    uint32_t key = f->watch.longest_key;
    f->watch.found = f->watch.longest = 0;
    kymo__unlock(&f->lock);
    if (!found || f->slow_full)
        return;
    f->slow_full = f->file->sink.end > (uint64_t)SLOW_MOST * f->size;
    mark_here(f->slow_full ? "kymograph flight: slow calls are no longer written, the capture is "
                             "large enough"
                           : "kymograph flight: slow call");
    mark_call(key);
    kymo__flight_flush(f, kymo_ticks());
}

/* ---- asking for it ---- */

int kymo__flight_ask(struct kymo_flight *f)
{
    kymo__store_release(&f->asked, kymo_ticks());
    sem_post(&kymo__wake);
    while (sem_wait(&f->done) < 0)
        continue; /* interrupted by a signal */
    return f->result;
}

void kymo__flight_end(struct kymo_flight *f)
{
    kymo__store_release(&f->ended, kymo_ticks());
}

void kymo__flight_hold(struct kymo_flight *f, bool held)
{
    kymo__store_release(&f->held, (uint32_t)held);
}

void kymo_flight_request(void)
{
    uint32_t number = kymo__switch_now();
    int before = errno;
    if (kymo__load_relaxed(&requested) != number)
        kymo__store_relaxed(&requested_at, kymo_ticks());
    if (number && kymo__exchange(&requested, number) != number)
        sem_post(&kymo__wake);
    errno = before;
}
