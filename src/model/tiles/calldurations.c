/* calldurations.c — see calldurations.h. */
#include "calldurations.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "callinfo.h"

enum {
    STEP = 4096,
    LOOK_UPS = 16, /* each may read some hundred thousand events */
};

struct measuring {
    const struct kymo_calldurations_request *request;
    struct kymo_calldurations *durations;
    uint32_t thread;
    uint64_t open; /* calls that count and have not ended yet */
};

static unsigned bar_of(kymo_ns duration)
{
    uint64_t d = duration > 0 ? (uint64_t)duration : 0;
    if (d < 4)
        return (unsigned)d;
    unsigned power = 63 - (unsigned)__builtin_clzll(d);
    return 4 * (power - 1) + (unsigned)(d >> (power - 2) & 3);
}

kymo_ns kymo__duration_bar_start(unsigned bar)
{
    if (bar < 4)
        return bar;
    if (bar >= KYMO__DURATION_BARS)
        return INT64_MAX;
    return (kymo_ns)(4 + bar % 4) << (bar / 4 - 1);
}

/* Keep CALL if it is one of the longest of BAR, which counts it already. */
static int keep_longest(struct kymo_duration_bar *bar, const struct kymo_long_call *call)
{
    if (!bar->longest) {
        bar->longest = kymo__alloc_zeroed(KYMO__DURATION_LONGEST * sizeof *bar->longest);
        if (!bar->longest)
            return -ENOMEM;
    }
    size_t kept = bar->calls - 1;
    if (kept >= KYMO__DURATION_LONGEST) {
        kept = KYMO__DURATION_LONGEST - 1;
        if (call->duration <= bar->longest[kept].duration)
            return 0;
    }
    for (; kept && bar->longest[kept - 1].duration < call->duration; kept--)
        bar->longest[kept] = bar->longest[kept - 1];
    bar->longest[kept] = *call;
    return 0;
}

static int count_call(struct kymo_calldurations *durations, const struct kymo_long_call *call)
{
    struct kymo_duration_bar *bar = &durations->bars[bar_of(call->duration)];
    if (!durations->calls || call->duration < durations->least)
        durations->least = call->duration;
    if (!durations->calls || call->duration > durations->most)
        durations->most = call->duration;
    durations->calls++;
    bar->calls++;
    int rc = kymo__histogram_add(&durations->lengths, call->duration);
    return rc < 0 ? rc : keep_longest(bar, call);
}

/* The calls that count are marked. Those that were open when the range began do not. */
static int see_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct measuring *m = arg;
    const struct kymo_calldurations_request *r = m->request;
    (void)depth;
    bool before = frame->flags & KYMO__OPEN_AT_START && frame->start <= r->from;
    frame->mark = !before && frame->start >= r->from && frame->start < r->to &&
                  kymo__callable_of(r->callables, frame->key) == r->name;
    m->open += frame->mark;
    return 0;
}

static int see_leave(void *arg, const struct kymo_slice *slice)
{
    struct measuring *m = arg;
    if (!slice->frame->mark)
        return 0;
    m->open--;
    const struct kymo_long_call call = {
        .thread = m->thread,
        .depth = slice->depth,
        .start = slice->frame->start,
        .duration = kymo__ns_between(slice->frame->start, slice->end),
    };
    return count_call(m->durations, &call);
}

/* Count the outermost of the calls in FRAMES, which reading has not seen the end of. */
static int look_up_open(struct measuring *m, struct kymo_capture *capture,
                        const struct kymo_open_call *frames, uint32_t count)
{
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i < count && m->durations->looked_up < LOOK_UPS; i++) {
        if (!frames[i].mark)
            continue;
        struct kymo_callinfo info = {0};
        m->durations->looked_up++;
        rc = kymo__callinfo_find(capture, m->thread, frames[i].start, i, &info);
        if (rc == 1 && info.number == frames[i].number) {
            const struct kymo_long_call call = {
                .thread = m->thread,
                .depth = i,
                .start = info.start,
                .duration = kymo__ns_between(info.start, info.end),
            };
            m->open--;
            rc = count_call(m->durations, &call);
        }
        kymo__callinfo_fini(&info);
    }
    return rc < 0 ? rc : 0;
}

/* The budget is used up. Report how far it lasted, and take the open calls' FRAMES out of CALLS. */
static int stop_early(struct measuring *m, struct kymo_calls *calls, struct kymo_open_call **frames,
                      uint32_t *count)
{
    struct kymo_calldurations *durations = m->durations;
    struct kymo_nest *nest = &calls->nest;
    if (nest->receiver == KYMO__ENDED) {
        int rc = kymo__nest_release(nest); /* it waits for arguments, which nobody needs */
        if (rc < 0)
            return rc;
    }
    kymo_ns until = nest->now > m->request->from ? nest->now : m->request->from;
    if (until < m->request->to) {
        durations->until =
            durations->complete || until < durations->until ? until : durations->until;
        durations->complete = false;
    }
    if (!m->open)
        return 0;
    *frames = kymo__alloc(nest->depth * sizeof **frames + 1);
    if (!*frames)
        return -ENOMEM;
    memcpy(*frames, nest->frames, nest->depth * sizeof **frames);
    *count = nest->depth;
    return 0;
}

/* Read a thread until all calls that began in the range have ended, or for BUDGET events. */
static int measure_thread(struct measuring *m, struct kymo_capture *capture, uint64_t budget)
{
    const struct kymo_calldurations_request *r = m->request;
    const struct kymo_visitor visitor = {
        .arg = m, .whole = true, .enter = see_enter, .leave = see_leave};
    struct kymo_open_call *frames = NULL;
    uint32_t count = 0;
    uint64_t events = 0;
    bool passed = false;
    struct kymo_calls calls;
    m->open = 0;
    int rc = kymo__calls_init(&calls, capture, m->thread, r->from, INT64_MAX, &visitor);
    rc = rc < 0 ? rc : 1;
    while (rc > 0 && !passed && events < budget) {
        rc = kymo__calls_read(&calls, STEP);
        events += STEP;
        passed = calls.nest.now >= r->to && !m->open;
        if (rc > 0 && r->stop && r->stop(r->stop_arg) < 0)
            rc = -ECANCELED;
    }
    if (rc > 0 && !passed)
        rc = stop_early(m, &calls, &frames, &count);
    kymo__calls_fini(&calls);
    m->durations->events += events;
    rc = rc < 0 ? rc : look_up_open(m, capture, frames, count);
    m->durations->open += m->open;
    kymo__free(frames);
    return rc;
}

static bool is_wanted(struct kymo_capture *capture, const struct kymo_calldurations_request *r,
                      uint32_t thread)
{
    struct kymo_thread_info info = {.size = sizeof(info)};
    if (r->chosen && !r->chosen[thread])
        return false;
    kymo_capture_thread(capture, thread, &info);
    return info.records && info.first < r->to && info.last >= r->from;
}

int kymo__calldurations(struct kymo_capture *capture,
                        const struct kymo_calldurations_request *request,
                        struct kymo_calldurations *durations)
{
    *durations = (struct kymo_calldurations){.complete = true};
    struct measuring m = {.request = request, .durations = durations};
    uint32_t threads = 0, all = (uint32_t)capture->reader->thread_count;
    for (uint32_t i = 0; i < all; i++)
        threads += is_wanted(capture, request, i);
    int rc = 0;
    for (m.thread = 0; rc == 0 && m.thread < all; m.thread++) {
        if (!is_wanted(capture, request, m.thread))
            continue;
        /* What one thread does not need is shared by the others. */
        uint64_t used = durations->events < request->budget ? durations->events : request->budget;
        uint64_t share = (request->budget - used) / (threads > 1 ? threads-- : 1);
        rc = measure_thread(&m, capture, share ? share : 1);
    }
    return rc;
}

void kymo__calldurations_fini(struct kymo_calldurations *durations)
{
    for (unsigned i = 0; i < KYMO__DURATION_BARS; i++)
        kymo__free(durations->bars[i].longest);
    kymo__histogram_fini(&durations->lengths);
}

kymo_ns kymo__calldurations_at(const struct kymo_calldurations *durations, double fraction)
{
    kymo_ns at = kymo__histogram_at(&durations->lengths, fraction);
    at = at < durations->most ? at : durations->most;
    return at > durations->least ? at : durations->least;
}
