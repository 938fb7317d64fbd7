/* throttle.c — the budget: what tracing costs, what it may cost, and what to switch off. See
   throttle.h. Everything here is under the GIL, or without one under the lock of the sites. */
#include "throttle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kymo/lane.h>

#include "core.h"
#include "tasks.h"
#include "tracer.h"

enum {
    LOOK_EVENTS = 2048, /* between two checks of the budget */
    WORTHWHILE = 6,     /* a site with fewer events is not switched off: two or three calls */
    TIMED_EVERY = 16,   /* one event in this many is timed */
    TOOK_LEAST = 32,    /* timed events needed for an estimate */
    TOOK_USUAL = 64,    /* times the cost in a loop: above this, it did one-time work */
    TOOK_MOST = 300,    /* the same: above this, it was interrupted */
    COST_FACTOR_MOST = 12,
};

#define PAID_WITHIN 1e9  /* nanoseconds of the program's time in which a debt must be paid */
#define BROKE 0.3e9      /* the same: a debt too large for that */
#define BROKE_LEAST 15e6 /* nanoseconds of debt that are always tolerated */
#define PRUDENCE 0.8     /* the part of the budget to use: cost estimates tend to be low */
#define LEFT_ON 0.7      /* the part of that to use after switching something off */

/* Nanoseconds that the interpreter needs to add events to a function, per function and per unit
   of its code, and to remove one event. */
#define INSTRUMENT_NS 2500.0
#define UNIT_NS 5.0
#define SWITCH_NS 300.0
#define COST_FACTOR 1.5 /* how much more an event costs outside the loop; initial guess */

static struct {
    double budget;   /* 0: off */
    uint32_t window; /* number of the interval between two checks */
    size_t active_count;
    uint64_t events, c_events;   /* since the last check */
    double once;                 /* the same: nanoseconds of one-time costs per site */
    double began, looked;        /* CPU time, in nanoseconds, at the start and at the last check */
    double cost, c_cost;         /* nanoseconds of one event, in a loop */
    double cost_factor;          /* factor for this program */
    double own_ticks;            /* of a callback, in a loop; 0: not known */
    uint64_t took, took_count;   /* ticks in callbacks timed since the last check */
    uint64_t rare;               /* ticks in longer ones: one-time work such as naming */
    uint64_t looks, timed_looks; /* number of checks, and its value when the last timed event
                                    began */
    uint64_t began_ticks;        /* when the session began, by both clocks */
    double began_ns;
    double spent, spent_since; /* nanoseconds that tracing took, with and without its start */
    bool without_c_calls;
    bool broke;          /* new functions are not recorded either */
    bool break_recorded; /* this has happened and is recorded */
} t;
static struct site *active_sites[LOOK_EVENTS]; /* t.active_count sites with events since the last
                                                  check; not in `t`, which is cleared often */

static double least_ticks; /* of a callback, from sessions that did not know it beforehand */

uint32_t kymo__throttle_session;

bool kymo__throttling(void)
{
    return t.budget > 0;
}

bool kymo__throttle_is_broke(void)
{
    return t.broke;
}

bool kymo__throttle_without_c_calls(void)
{
    return t.without_c_calls;
}

/* The length of CODE in instructions, including their inline caches. */
static double code_units(const void *code)
{
#if KYMO_HAS_MONITORING
    if (PyCode_Check((PyObject *)(uintptr_t)code))
        return (double)Py_SIZE((PyObject *)(uintptr_t)code);
#endif
    (void)code;
    return 0;
}

void kymo__throttle_met(const void *code)
{
    t.once += INSTRUMENT_NS + UNIT_NS * code_units(code);
}

/* CPU time of the process: time spent waiting does not enlarge the budget. */
static double cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double ns_per_tick(void)
{
    double ticks = (double)(kymo_ticks() - t.began_ticks);
    return ticks > 0 ? (now_ns() - t.began_ns) / ticks : 0;
}

static double cost_of(const struct site *site)
{
    return site->window * (site->c_call ? t.c_cost : t.cost) * t.cost_factor;
}

/* The shorter its calls, the less is lost with a site; sites that recorded nothing (calls of
   Python functions, which report themselves) come first. */
static double mean_ticks(const struct site *site)
{
    return site->calls ? (double)site->ticks / (double)site->calls : 0;
}

static int by_mean(const void *a, const void *b)
{
    double x = mean_ticks(*(struct site *const *)a), y = mean_ticks(*(struct site *const *)b);
    return x < y ? -1 : x > y;
}

/* Record that SITE is switched off, with its calls and time until now. */
static void record_off(const struct site *site)
{
    static uint32_t ticks_key, ticks_session;
    if (!site->key || !kymo__lane)
        return;
    if (ticks_session != kymo__lane->session) {
        ticks_key = kymo__name_key("ticks", KYMO_CLASS_NAME);
        ticks_session = kymo__lane->session;
    }
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 4);
    if (!at)
        return;
    uint64_t now = kymo_ticks();
    unsigned detail = site->offset == SITE_FUNCTION ? 0 : 1;
    kymo_lane_store(at, now, kymo_word(KYMO_OFF, detail, site->key));
    kymo_lane_store(at + 1, site->calls, KYMO_VALUE_WORD);
    kymo_lane_store(at + 2, now, kymo_word(KYMO_ARG, 0, ticks_key));
    kymo_lane_store(at + 3, site->ticks, KYMO_VALUE_WORD);
    kymo_lane_commit(lane, at + 4);
}

/* How much of ELAPSED the program itself used; COST of it was ours. An estimate. */
static double program_time(double elapsed, double cost)
{
    return elapsed - cost > elapsed / 100 ? elapsed - cost : elapsed / 100;
}

/* Switch off sites until the rest of COST, that of the events since the last check, is at most
   TARGET. */
static void switch_off_costly(double cost, double target)
{
    static struct site *candidates[LOOK_EVENTS];
    size_t count = 0;
    for (size_t i = 0; i < t.active_count; i++)
        /* A site that was rarely called may never be called again, and switching it off has a
           cost. */
        if (!active_sites[i]->off && active_sites[i]->events >= WORTHWHILE)
            candidates[count++] = active_sites[i];
    if (count)
        qsort(candidates, count, sizeof *candidates, by_mean);
    for (size_t i = 0; i < count && cost > target; i++) {
        candidates[i]->off = 1;
        cost -= cost_of(candidates[i]);
        record_off(candidates[i]);
        if (candidates[i]->offset == SITE_FUNCTION)
            kymo__tasks_drop(candidates[i]->key);
    }
}

/* Switch off all C calls. The remaining events cost less each. */
static void switch_off_c_calls(void)
{
    /* Most of them have no site yet. */
    struct site all = {.key = kymo__name_key("(all C calls)", KYMO_CLASS_NAME)};
    struct site *site;
    for (size_t at = 0; (site = kymo__sites_next(&at));)
        if (site->c_call) {
            all.calls += site->calls;
            all.ticks += site->ticks;
        }
    record_off(&all);
    for (size_t at = 0; (site = kymo__sites_next(&at));)
        if (site->c_call) {
            site->off = 1;
            record_off(site);
        }
    t.without_c_calls = true;
    t.cost = kymo__tracing.cost_alone;
}

/* Compare the cost of an event here with its cost in the calibration loop: in a real program,
   code and tables are often not in the caches. */
static void measure_cost(void)
{
    if (t.took_count < TOOK_LEAST || t.own_ticks <= 0)
        return;
    double ratio = (double)t.took / (double)t.took_count / t.own_ticks;
    ratio = ratio < 1 ? 1 : ratio > COST_FACTOR_MOST ? COST_FACTOR_MOST : ratio;
    t.cost_factor = (t.cost_factor + ratio) / 2;
    t.took = t.took_count = 0;
}

/* The share of the program's time that tracing may take from now on: less than the budget while
   it has taken more so far, so that the debt is paid within a second. A program that runs new
   code all the time, as imports do, costs more than switching off can save: then new code is not
   recorded. */
static double allowed(double now)
{
    double may = t.budget * program_time(now - t.began, t.spent_since), debt = t.spent - may;
    double most = t.budget * BROKE > BROKE_LEAST ? t.budget * BROKE : BROKE_LEAST;
    t.broke = t.spent_since - may > most && kymo__tracing.cost_alone <= 0;
    double share = debt > 0 ? t.budget - debt / PAID_WITHIN : t.budget;
    return share > t.budget / 8 ? share : t.budget / 8;
}

static void look_at_budget(void)
{
    double now = cpu_ns();
    measure_cost();
    double cost = ((double)t.events * t.cost + (double)t.c_events * t.c_cost) * t.cost_factor;
    double once = t.once + (double)t.rare * TIMED_EVERY * ns_per_tick();
    t.spent += cost + once;
    t.spent_since += cost + once;
    double program = program_time(now - t.looked, cost + once);
    double share = allowed(now);
    if (cost > share * program) {
        if (t.without_c_calls || kymo__tracing.cost_alone <= 0)
            switch_off_costly(cost, share * program * LEFT_ON);
        else if (kymo__hook_can_drop_c_calls())
            switch_off_c_calls();
    }
    t.window++;
    t.active_count = 0;
    t.events = t.c_events = t.rare = 0;
    t.once = 0;
    t.looks++;
    t.looked = cpu_ns();
    t.spent += t.looked - now;
    t.spent_since += t.looked - now;
}

void kymo__throttle_count(struct site *site)
{
    if (site->in_window != t.window) {
        site->in_window = t.window;
        site->window = 0;
        if (t.active_count < LOOK_EVENTS)
            active_sites[t.active_count++] = site;
    }
    site->window++;
    site->events++;
    if (site->c_call)
        t.c_events++;
    else
        t.events++;
    if (t.events + t.c_events < LOOK_EVENTS)
        return;
    kymo__sites_lock(); /* without a GIL other threads may add sites */
    if (t.events + t.c_events >= LOOK_EVENTS)
        look_at_budget();
    kymo__sites_unlock();
}

void kymo__throttle_switched(struct site *site)
{
    t.once += SWITCH_NS;
    t.events++; /* so that the budget is checked even if nothing else happens */
    if (site && !site->key && t.broke && !t.break_recorded) {
        struct site all = {.key = kymo__name_key("(functions first called while over the budget)",
                                                 KYMO_CLASS_NAME)};
        t.break_recorded = true;
        record_off(&all);
    }
    if (t.events + t.c_events < LOOK_EVENTS)
        return;
    kymo__sites_lock();
    if (t.events + t.c_events >= LOOK_EVENTS)
        look_at_budget();
    kymo__sites_unlock();
}

uint64_t kymo__throttle_timer(void)
{
    static unsigned turn;
    if (++turn % TIMED_EVERY)
        return 0;
    t.timed_looks = t.looks;
    return kymo_ticks();
}

void kymo__throttle_took(uint64_t began)
{
    double took = (double)(kymo_ticks() - began);
    if (t.timed_looks != t.looks || (t.own_ticks > 0 && took > TOOK_MOST * t.own_ticks))
        return; /* it checked the budget, which is counted separately, or was interrupted */
    if (t.own_ticks > 0 && took > TOOK_USUAL * t.own_ticks) {
        t.rare += (uint64_t)took;
        return;
    }
    t.took += (uint64_t)took;
    if (++t.took_count < TOOK_LEAST || t.own_ticks > 0)
        return;
    /* This session measures the usual cost: without interruptions. */
    double mean = (double)t.took / (double)t.took_count;
    least_ticks = least_ticks > 0 && least_ticks < mean ? least_ticks : mean;
    t.took = t.took_count = 0;
}

double kymo__throttle_least_ticks(void)
{
    return least_ticks;
}

void kymo__throttle_begin(void)
{
    kymo__throttle_end();
    t.budget = kymo__tracing.overhead * PRUDENCE;
    t.cost = kymo__tracing.cost;
    t.c_cost = kymo__tracing.c_cost;
    t.own_ticks = kymo__tracing.own_ticks;
    t.cost_factor = COST_FACTOR;
    t.spent = kymo__tracing.start_cost;
    t.window = 1;
    t.began = t.looked = cpu_ns();
    t.began_ticks = kymo_ticks();
    t.began_ns = now_ns();
}

void kymo__throttle_resume(void)
{
    kymo__sites_lock();
    kymo__throttle_session++; /* the threads' stacks are invalid now */
    struct site *site;
    for (size_t at = 0; (site = kymo__sites_next(&at));)
        site->active = 0;
    kymo__sites_unlock();
}

void kymo__throttle_end(void)
{
    kymo__sites_free();
    memset(&t, 0, sizeof t);
    kymo__throttle_session++; /* stacks of this session are invalid */
}
