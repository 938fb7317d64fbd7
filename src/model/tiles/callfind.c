/* callfind.c — see callfind.h. */
#include "callfind.h"

#include <errno.h>

enum { STEP = 4096, FIRST_PIECE_NS = 1 << 20 };

struct finding {
    const struct kymo_callfind *search;
    struct kymo_callfound *found;
    uint32_t thread;
    kymo_ns from, to; /* the piece being read */
    bool stopped;     /* nothing on this thread can be better */
    uint64_t events;
};

static bool is_better(const struct finding *f, kymo_ns time)
{
    return !f->found->found ||
           (f->search->backwards ? time >= f->found->time : time < f->found->time);
}

static int see_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct finding *f = arg;
    uint32_t name = kymo__callable_of(f->search->callables, frame->key);
    if (frame->flags & KYMO__OPEN_AT_START && frame->start <= f->from && f->from > f->search->first)
        return 0; /* it began before this piece */
    if (!f->search->wanted[name] || frame->start < f->from || frame->start >= f->to ||
        !is_better(f, frame->start))
        return 0;
    f->found->found = true;
    f->found->thread = f->thread;
    f->found->depth = depth;
    f->found->name = name;
    f->found->number = frame->number;
    f->found->time = frame->start;
    f->stopped = !f->search->backwards;
    return 0;
}

static int search_thread(struct finding *f, struct kymo_capture *capture)
{
    struct kymo_thread_info info = {.size = sizeof(info)};
    kymo_capture_thread(capture, f->thread, &info);
    if (!info.records || info.first >= f->to || info.last < f->from)
        return 0;
    const struct kymo_visitor visitor = {.arg = f, .whole = true, .enter = see_enter};
    struct kymo_calls calls;
    f->stopped = false;
    int rc = kymo__calls_init(&calls, capture, f->thread, f->from, f->to, &visitor);
    while (rc >= 0 && !f->stopped && (rc = kymo__calls_read(&calls, STEP)) > 0)
        f->events += STEP;
    kymo__calls_fini(&calls);
    return rc < 0 ? rc : 0;
}

/* The next piece of time, LENGTH long; false after the last. */
static bool next_piece(struct finding *f, kymo_ns reached, kymo_ns length)
{
    const struct kymo_callfind *s = f->search;
    if (s->backwards) {
        f->to = reached < s->last ? reached : s->last;
        f->from = f->to - length > s->first ? f->to - length : s->first;
    } else {
        f->from = reached > s->first ? reached : s->first;
        f->to = kymo__ns_add(f->from, length);
        f->to = f->to < s->last ? f->to : s->last;
    }
    return f->from < f->to;
}

int kymo__callfind(struct kymo_capture *capture, const struct kymo_callfind *search,
                   struct kymo_callfound *found)
{
    *found = (struct kymo_callfound){.time = search->time};
    struct finding f = {.search = search, .found = found};
    kymo_ns length = FIRST_PIECE_NS, reached = search->backwards ? search->time : search->time + 1;
    while (next_piece(&f, reached, length)) {
        uint64_t before = f.events;
        for (f.thread = 0; f.thread < capture->reader->thread_count; f.thread++) {
            int rc = search_thread(&f, capture);
            if (rc < 0)
                return rc;
        }
        if (found->found)
            return 0;
        reached = found->time = search->backwards ? f.from : f.to;
        if (f.events > search->budget) {
            found->time -= !search->backwards; /* a search begins after its time */
            return 0;
        }
        if (f.events - before < search->budget / 4)
            length = length < INT64_MAX / 2 ? length * 2 : length;
    }
    found->done = true;
    return 0;
}
