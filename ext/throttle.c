/* throttle.c — see throttle.h. Everything here is under the GIL; without a GIL, sites are
   found under a lock and counts may miss a few events, which only makes the estimate
   coarser. */
#include "throttle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kymo/lane.h>

#include "core.h"
#include "tasks.h"
#include "tracer.h"

enum { LOOK_EVENTS = 4096 }; /* between two looks at the budget */

struct frame {
    struct site *site;
    const void *owner;
    uint64_t ticks;
    int depth; /* kymo__depth before it */
};

/* A thread's recorded enters that have no leave yet. Kept for the life of the thread. */
static __thread struct {
    struct frame *frames;
    size_t depth, capacity;
    uint32_t session;
} stack;

static struct {
    double budget; /* 0: off */
    uint32_t session;
    struct site **slots; /* open addressing by code and offset */
    size_t slot_count, used;
    uint64_t events, c_events; /* since the last look */
    double looked;             /* when the last look was, in nanoseconds */
    double cost, c_cost;       /* nanoseconds of one event */
    bool without_c_calls;
} t;

KYMO_SECTION(sites_section);

bool kymo__throttling(void)
{
    return t.budget > 0;
}

bool kymo__throttle_without_c_calls(void)
{
    return t.without_c_calls;
}

static size_t slot_of(const void *code, uint32_t offset, size_t count)
{
    uint64_t hash =
        ((uint64_t)(uintptr_t)code ^ (uint64_t)offset << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (count - 1);
}

static bool widen(void)
{
    if ((t.used + 2) * 2 <= t.slot_count) /* the site, and that of its function */
        return true;
    size_t count = t.slot_count ? t.slot_count * 2 : 4096;
    struct site **slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < t.slot_count; i++) {
        if (!t.slots[i])
            continue;
        size_t at = slot_of(t.slots[i]->code, t.slots[i]->offset, count);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = t.slots[i];
    }
    free(t.slots);
    t.slots = slots;
    t.slot_count = count;
    return true;
}

/* Where the site is, or would be. */
static struct site **slot_for(const void *code, uint32_t offset)
{
    size_t at = slot_of(code, offset, t.slot_count);
    while (t.slots[at] && (t.slots[at]->code != code || t.slots[at]->offset != offset))
        at = (at + 1) & (t.slot_count - 1);
    return &t.slots[at];
}

/* The site, made if it is new; there is room. */
static struct site *site_of(const void *code, uint32_t offset)
{
    struct site **slot = slot_for(code, offset);
    if (!*slot && (*slot = calloc(1, sizeof **slot))) {
        **slot = (struct site){.code = code, .offset = offset};
        t.used++;
    }
    return *slot;
}

struct site *kymo__site(const void *code, uint32_t offset)
{
    struct site *site = NULL;
    KYMO_SECTION_LOCK(sites_section);
    if (widen()) {
        struct site *known = *slot_for(code, offset);
        struct site *function = known ? NULL : site_of(code, SITE_FUNCTION);
        site = known || !function ? known : site_of(code, offset);
        if (site && function && site != function) {
            site->next = function->next;
            function->next = site;
        }
    }
    KYMO_SECTION_UNLOCK(sites_section);
    return site;
}

void kymo__throttle_forget(const void *code)
{
    KYMO_SECTION_LOCK(sites_section);
    struct site *site = t.slot_count ? *slot_for(code, SITE_FUNCTION) : NULL;
    for (; site; site = site->next)
        *site = (struct site){
            .code = code,
            .offset = site->offset,
            .active = site->active, /* in the stack of a thread that lost its leave */
            .next = site->next,
        };
    KYMO_SECTION_UNLOCK(sites_section);
}

bool kymo__throttle_is_off(const void *code)
{
    const struct site *site = kymo__throttling() ? kymo__site(code, SITE_FUNCTION) : NULL;
    return site && site->off;
}

void kymo__throttle_expect(const void *code)
{
    struct site *site = kymo__throttling() ? kymo__site(code, SITE_FUNCTION) : NULL;
    if (site)
        site->active++;
}

static void push(struct site *site, const void *owner, uint64_t ticks, int depth)
{
    if (stack.session != t.session) {
        stack.session = t.session;
        stack.depth = 0;
    }
    if (stack.depth == stack.capacity) {
        size_t capacity = stack.capacity ? stack.capacity * 2 : 256;
        struct frame *frames = realloc(stack.frames, capacity * sizeof *frames);
        if (!frames)
            return;
        stack.frames = frames;
        stack.capacity = capacity;
    }
    stack.frames[stack.depth++] = (struct frame){site, owner, ticks, depth};
    site->active++;
}

void kymo__throttle_push(struct site *site, const void *owner, uint64_t ticks)
{
    push(site, owner, ticks, kymo__depth - 1);
}

void kymo__throttle_open(const void *code, const void *owner, bool expected)
{
    struct site *site = kymo__site(code, SITE_FUNCTION);
    if (!site || (site->off && !expected))
        return;
    push(site, owner, kymo_ticks(), 0); /* it does not count for max_depth */
    if (expected && site->active)
        site->active--;
}

/* Take those from AT on off the stack. */
static void cut(size_t at)
{
    for (size_t i = at; i < stack.depth; i++)
        stack.frames[i].site->active--;
    stack.depth = at;
}

void kymo__throttle_close_all(void)
{
    if (stack.session == t.session)
        cut(0);
}

void kymo__throttle_close(const void *owner)
{
    size_t i = stack.session == t.session ? stack.depth : 0;
    while (i > 0 && stack.frames[i - 1].owner != owner)
        i--;
    if (i)
        cut(i - 1);
}

bool kymo__throttle_pop(struct site *site, const void *owner, uint64_t ticks)
{
    if (stack.session != t.session)
        stack.depth = 0;
    if (site->off && !site->active)
        return false; /* its enter did not count either, for max_depth */
    if (!stack.depth)
        return !kymo__too_deep_leave() && !site->off; /* it was open when tracing began */
    /* Mostly the innermost; deeper when leaves were lost on the way. */
    for (size_t i = stack.depth; i-- > 0 && stack.depth - i < 64;) {
        if (stack.frames[i].site != site || stack.frames[i].owner != owner)
            continue;
        cut(i);
        kymo__depth = stack.frames[i].depth; /* those in between may have counted one-sidedly */
        site->calls++;
        site->ticks += ticks - stack.frames[i].ticks;
        return true;
    }
    (void)kymo__too_deep_leave();
    return false;
}

/* ---- the budget */

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double cost_of(const struct site *site)
{
    return site->window * (site->c_call ? t.c_cost : t.cost);
}

/* The shorter its calls, the less is lost with it; places that recorded nothing (calls of
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

/* How much of ELAPSED the program had, of which COST was ours, as far as that can be told. */
static double programs_own(double elapsed, double cost)
{
    return elapsed - cost > elapsed / 100 ? elapsed - cost : elapsed / 100;
}

/* Switch off until what is left fits. COST nanoseconds of ours were in ELAPSED. */
static void shed(double cost, double elapsed)
{
    struct site **candidates = malloc(t.used * sizeof *candidates);
    size_t count = 0;
    for (size_t i = 0; candidates && i < t.slot_count; i++) {
        struct site *site = t.slots[i];
        /* One that is hardly there would save nothing. */
        if (site && !site->off && site->window > LOOK_EVENTS / 500)
            candidates[count++] = site;
    }
    if (count)
        qsort(candidates, count, sizeof *candidates, by_mean);
    double program = programs_own(elapsed, cost);
    for (size_t i = 0; i < count && cost > t.budget * 0.5 * program; i++) {
        candidates[i]->off = 1;
        cost -= cost_of(candidates[i]);
        record_off(candidates[i]);
        if (candidates[i]->offset == SITE_FUNCTION)
            kymo__tasks_drop(candidates[i]->key);
    }
    free(candidates);
}

/* Switch off all C calls. What is left costs less an event. */
static void shed_c_calls(void)
{
    /* Most of them were not met yet. */
    struct site all = {.key = kymo__name_key("(all C calls)", KYMO_CLASS_NAME)};
    for (size_t i = 0; i < t.slot_count; i++)
        if (t.slots[i] && t.slots[i]->c_call) {
            all.calls += t.slots[i]->calls;
            all.ticks += t.slots[i]->ticks;
        }
    record_off(&all);
    for (size_t i = 0; i < t.slot_count; i++)
        if (t.slots[i] && t.slots[i]->c_call) {
            t.slots[i]->off = 1;
            record_off(t.slots[i]);
        }
    t.without_c_calls = true;
    t.cost = kymo__tracing.cost_alone;
}

static void look(void)
{
    double elapsed = now_ns() - t.looked;
    double cost = (double)t.events * t.cost + (double)t.c_events * t.c_cost;
    if (cost > t.budget * programs_own(elapsed, cost)) {
        if (t.without_c_calls || kymo__tracing.cost_alone <= 0)
            shed(cost, elapsed);
        else if (kymo__hook_can_drop_c_calls())
            shed_c_calls();
    }
    for (size_t i = 0; i < t.slot_count; i++)
        if (t.slots[i])
            t.slots[i]->window = 0;
    t.events = t.c_events = 0;
    t.looked = now_ns();
}

void kymo__throttle_count(struct site *site)
{
    site->window++;
    if (site->c_call)
        t.c_events++;
    else
        t.events++;
    if (t.events + t.c_events < LOOK_EVENTS)
        return;
    KYMO_SECTION_LOCK(sites_section); /* without a GIL others may add some */
    if (t.events + t.c_events >= LOOK_EVENTS)
        look();
    KYMO_SECTION_UNLOCK(sites_section);
}

void kymo__throttle_begin(void)
{
    kymo__throttle_end();
    t.budget = kymo__tracing.overhead;
    t.cost = kymo__tracing.cost;
    t.c_cost = kymo__tracing.c_cost;
    t.looked = now_ns();
}

void kymo__throttle_resume(void)
{
    KYMO_SECTION_LOCK(sites_section);
    t.session++; /* the threads' stacks are void */
    for (size_t i = 0; i < t.slot_count; i++)
        if (t.slots[i])
            t.slots[i]->active = 0;
    KYMO_SECTION_UNLOCK(sites_section);
}

void kymo__throttle_end(void)
{
    uint32_t session = t.session;
    for (size_t i = 0; i < t.slot_count; i++)
        free(t.slots[i]);
    free(t.slots);
    memset(&t, 0, sizeof t);
    t.session = session + 1; /* stacks of this one are void */
}
