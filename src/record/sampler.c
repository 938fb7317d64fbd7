/* sampler.c — see sampler.h: starts, pauses and stops a session's samples.

   The desk's thread finds the threads of the process and gives them timers. It does this fifty
   times a second, or sooner when a handler or a thread that begins to record asks for it. */
#include "sampler.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "laneset.h"
#include "local.h"
#include "modules.h"
#include "names.h"
#include "pool.h"
#include "sampler_parts.h"
#include "stackdesk.h"
#include "tick.h"

enum {
    LOOK_NS = 20 * 1000000, /* between two scans of the threads */
    SHARE = 50,             /* or this many times as long as a scan takes, if that is more */
    AHEAD = 16,             /* chunks to keep free: handlers cannot make new ones */
};

static struct kymo_sampler *running; /* under the desk's lock; NULL when no samples are taken */

void kymo__sampler_forked(void)
{
    if (running && running->signal)
        kymo__tick_forked(running->signal); /* timers are not inherited */
    if (running)
        kymo__timers_forked(&running->timers);
    running = NULL;
}

/* ---- scanning threads, under the desk's lock ---- */

/* Stop if the program has started to use the signal itself. */
static void check_signal(struct kymo_sampler *sampler)
{
    if (!sampler->signal || kymo__tick_ours(sampler->signal))
        return;
    kymo__timers_remove(&sampler->timers);
    char text[64];
    snprintf(text, sizeof(text), "the program handles signal %d itself", sampler->signal);
    kymo__names_meta(sampler->lanes->names, "sample.ended", text);
    sampler->signal = 0;
}

static void look_at_threads(struct kymo_sampler *sampler)
{
    struct kymo_pool *pool = sampler->lanes->pool;
    uint32_t fresh = 0;
    check_signal(sampler);
    if (sampler->signal) {
        sampler->timers.own[0] = kymo__load_relaxed(&sampler->desk->tid);
        sampler->timers.own[1] = (uint32_t)kymo__load_relaxed(sampler->writer);
        fresh = kymo__timers_look(&sampler->timers);
    }
    /* Each thread needs a chunk for its first sample; not all of them run at once. */
    uint32_t wanted =
        AHEAD + (sampler->clock == KYMO_SAMPLED_WALL || fresh < AHEAD ? fresh : AHEAD);
    uint32_t there = kymo__load_relaxed(&pool->free.count);
    if (there < wanted)
        kymo__pool_grow(pool, wanted - there);
    if (fresh)
        kymo__timers_run(&sampler->timers);
}

/* Find threads that have begun or ended: a kymo_desk_duty_fn. */
static int64_t look_if_due(void *arg, int64_t now)
{
    struct kymo_sampler *sampler = arg;
    int64_t soon = now + LOOK_NS; /* define stacks this often, however long a scan takes */
    if (!kymo__load_acquire(&sampler->going))
        return soon;
    if (now >= sampler->next) {
        int64_t ran = kymo__clock_ns(CLOCK_THREAD_CPUTIME_ID);
        look_at_threads(sampler);
        int64_t took = kymo__clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
        sampler->next = now + (took * SHARE > LOOK_NS ? took * SHARE : LOOK_NS);
    }
    if (kymo__lanes_introduce(sampler->lanes))
        sampler->desk->strangers = 2;
    kymo__modules_refresh();
    return soon < sampler->next ? soon : sampler->next;
}

/* The interpreter calls this when it gets to it: the session may have ended. */
static void name_thread(uint32_t tid, const char *name)
{
    kymo__desk_lock();
    if (running)
        kymo__lanes_name(running->lanes, tid, name);
    kymo__desk_unlock();
}

/* ---- starting and stopping ---- */

static void note_number(struct kymo_sampler *sampler, const char *key, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    kymo__names_meta(sampler->lanes->names, key, text);
}

static void describe_sampling(struct kymo_sampler *sampler)
{
    note_number(sampler, "sample.period_ns", (uint64_t)sampler->timers.period);
    kymo__names_meta(sampler->lanes->names, "sample.clock",
                     sampler->clock == KYMO_SAMPLED_WALL ? "wall" : "cpu");
    if (access("/proc/self/task", R_OK) < 0)
        kymo__names_meta(sampler->lanes->names, "sample.unlisted",
                         "/proc/self/task cannot be read");
    kymo__names_meta(sampler->lanes->names, "sample.timer",
                     sampler->timers.exact ? "perf_event_open" : "timer_create");
    note_number(sampler, "sample.signal", (uint64_t)sampler->signal);
}

int kymo__sampler_new(struct kymo_sampler **made, const struct kymo_options *o,
                      struct kymo_laneset *lanes, struct kymo_stackdesk *desk, const pid_t *writer)
{
    if (!o->sample_hz)
        return 0;
    struct kymo_sampler *sampler = *made = kymo__alloc_zeroed(sizeof(*sampler));
    if (!sampler || kymo__timers_reserve() < 0)
        return -ENOMEM;
    sampler->lanes = lanes;
    sampler->desk = desk;
    sampler->writer = writer;
    sampler->clock = sampler->timers.clock = o->sample_clock;
    sampler->timers.period = 1000000000 / (int64_t)o->sample_hz;
    /* Do the one-time set-up of captures now, not in a handler. */
    kymo__modules_refresh();
    kymo_stack_release(kymo_stack_capture(KYMO_STACK_NATIVE, 0));
    int signal = kymo__tick_install();
    if (signal < 0)
        return signal;
    sampler->signal = sampler->timers.signal = signal;
    if (kymo__timers_try(&sampler->timers) < 0)
        return KYMO_ENOTIMER;
    describe_sampling(sampler);
    lanes->sampler = sampler;
    lanes->joined = kymo__sampler_meet;
    desk->duty_arg = sampler;
    desk->duty = look_if_due;
    desk->name_thread = name_thread;
    return kymo__desk_begin(desk);
}

void kymo__sampler_go(struct kymo_sampler *sampler)
{
    if (!sampler)
        return;
    kymo__lanes_sweep(); /* of threads that have ended since an earlier session */
    kymo__desk_lock();
    sampler->timers.session = sampler->lanes->number;
    kymo__store_relaxed(&running, sampler);
    kymo__desk_unlock();
    kymo__store_release(&sampler->going, 1u);
    sem_post(&kymo__desk_wake);
}

void kymo__sampler_pause(struct kymo_sampler *sampler, bool paused)
{
    if (!sampler)
        return;
    kymo__desk_lock();
    kymo__timers_pause(&sampler->timers, paused);
    kymo__desk_unlock();
}

void kymo__sampler_meet(void)
{
    if (!kymo__load_relaxed(&running) || kymo__desk_forking())
        return; /* the next scan finds it */
    kymo__desk_lock();
    if (running && running->signal)
        kymo__timers_meet(&running->timers, kymo__tid_now());
    kymo__desk_unlock();
}

void kymo__sampler_halt(struct kymo_sampler *sampler)
{
    if (!sampler)
        return;
    kymo__desk_lock();
    kymo__store_relaxed(&running, (struct kymo_sampler *)NULL);
    kymo__timers_remove(&sampler->timers);
    if (sampler->signal)
        kymo__tick_remove(sampler->signal);
    sampler->signal = 0;
    kymo__desk_unlock();
}

void kymo__sampler_finish(struct kymo_sampler *sampler)
{
    if (!sampler)
        return;
    note_number(sampler, "sample.count", sampler->samples);
    if (sampler->timers.refused)
        note_number(sampler, "sample.threads_without", sampler->timers.refused);
}

void kymo__sampler_free(struct kymo_sampler *sampler)
{
    if (!sampler)
        return;
    kymo__sampler_halt(sampler);
    kymo__free(sampler);
}
