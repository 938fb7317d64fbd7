/* calls_begin.c — see calls.h: where reading starts, and with which calls open. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "calls.h"
#include "fields.h"
#include "summaries.h"

/* The time before a window, where reading does not look at times: before all of them, and the
   difference to any of them is a time. */
#define BEFORE_WINDOW ((kymo_ns)0)

static bool is_span(void *arg, uint32_t key)
{
    const struct kymo_reader *r = arg;
    return key < r->key_count && r->keys[key].name && kymo__class_is_marked(r->keys[key].class);
}

uint32_t kymo__calls_deepest(const struct kymo_reader *r)
{
    enum { ANY_FILE = 1 << 18, EACH_BYTE = 16 };
    uint64_t most = ANY_FILE + EACH_BYTE * (r->file_bytes + r->live_bytes);
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* Return the arguments from FIRST on for display, with payload fields one by one. */
static const struct kymo_call_arg *show_args(void *arg, size_t first, unsigned *count)
{
    struct kymo_calls *c = arg;
    const struct kymo_reader *r = c->stream.capture->reader;
    size_t shown = 0;
    for (unsigned i = 0; i < *count; i++) {
        const struct kymo_nest_arg *a = &c->nest.args[first + i];
        struct kymo_fields fields = {0};
        struct kymo_call_arg one = {
            .key = a->key,
            .type = a->kind == KYMO__ARG_TEXT_KEY ? KYMO_FIELD_NAME : KYMO_FIELD_UINT,
            .value = a->value,
        };
        if (a->kind == KYMO__ARG_PAYLOAD)
            kymo__fields_of(&fields, r, a->key, c->nest.bytes.bytes + a->value, a->length);
        while (a->kind != KYMO__ARG_PAYLOAD || kymo__fields_next(&fields, &one)) {
            if (kymo__array_grow(&c->shown, &c->shown_capacity, shown, sizeof(*c->shown)) < 0)
                return NULL;
            c->shown[shown++] = one;
            if (a->kind != KYMO__ARG_PAYLOAD)
                break;
        }
    }
    if (!c->shown && kymo__array_grow(&c->shown, &c->shown_capacity, 0, sizeof(*c->shown)) < 0)
        return NULL; /* never NULL otherwise */
    *count = (unsigned)shown;
    return c->shown;
}

static void set_up(struct kymo_calls *c, struct kymo_capture *capture, uint32_t thread,
                   kymo_ns from, kymo_ns to, const struct kymo_visitor *visitor)
{
    const struct kymo_reader_thread *t = &capture->reader->threads[thread];
    size_t hint = 0;
    memset(c, 0, sizeof(*c));
    c->visitor = visitor;
    c->from = from;
    c->to = to;
    c->end = capture->end;
    if (t->end_ticks) {
        kymo_ns ended = kymo__timebase_ns(&capture->base, t->end_ticks, &hint);
        c->end = ended < c->end ? ended : c->end;
    }
    c->end = to < c->end ? to : c->end;
    c->nest.telling = from == INT64_MIN;
    c->nest.now = c->nest.telling ? INT64_MIN : BEFORE_WINDOW;
    c->nest.enter = visitor->enter;
    c->nest.leave = visitor->leave;
    c->nest.arg = visitor->arg;
    c->nest.is_span = is_span;
    c->nest.show = show_args;
    c->nest.show_arg = c;
    c->nest.span_arg = capture->reader;
    c->nest.limit = kymo__calls_deepest(capture->reader);
    c->soon = c->nest.telling ? 0 : kymo__timebase_ticks(&capture->base, from);
    uint64_t last = kymo__timebase_ticks(&capture->base, to);
    kymo__stream_init(&c->stream, capture, thread, 0, last + (last < UINT64_MAX));
}

/* Start with the calls open at the start of summary AT. Returns 1, 0 if the summary cannot be used,
   or a negative code. */
static int begin_at(struct kymo_calls *c, size_t at)
{
    struct kymo_capture *capture = c->stream.capture;
    struct kymo_nest *n = &c->nest;
    const struct kymo_summary *summary = &capture->reader->summaries[at];
    int rc = kymo__summary_state(capture->reader, summary, c->stream.thread, n);
    if (rc <= 0)
        return rc;
    size_t hint = 0;
    for (uint32_t i = 0; i < n->depth; i++)
        n->frames[i].start = kymo__timebase_ns(&capture->base, (uint64_t)n->frames[i].start, &hint);
    n->now = summary->before ? kymo__timebase_ns(&capture->base, (uint64_t)n->now, &hint)
                             : BEFORE_WINDOW;
    kymo__stream_seek(&c->stream, summary->run, summary->before);
    return 1;
}

/* Discard a state that could not be used. */
static void begin_again(struct kymo_calls *c)
{
    struct kymo_nest *n = &c->nest;
    n->depth = n->doubtful = 0;
    n->arg_len = 0;
    n->entered = 0;
    n->now = BEFORE_WINDOW;
    memset(n->active, 0, sizeof(n->active));
}

int kymo__calls_init(struct kymo_calls *c, struct kymo_capture *capture, uint32_t thread,
                     kymo_ns from, kymo_ns to, const struct kymo_visitor *visitor)
{
    set_up(c, capture, thread, from, to, visitor);
    if (c->nest.telling)
        return 0;
    /* Rebuild the stack at the start of the window: from the last checkpoint before it or, without
       any, from everything before it. */
    const struct kymo_thread_more *more = kymo__thread_more(capture->reader, thread);
    size_t hint = 0, low = more->summary, high = more->summary + more->summaries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t before = capture->reader->summaries[middle].before;
        if (!before || kymo__timebase_ns(&capture->base, before, &hint) < from)
            low = middle + 1;
        else
            high = middle;
    }
    int rc = 0;
    while (rc == 0 && low-- > more->summary) {
        rc = begin_at(c, low);
        if (rc == 0)
            begin_again(c);
    }
    return rc < 0 ? rc : 0;
}

/* Report the calls already open at the start of the window, cut there. */
static int tell_open(struct kymo_calls *c)
{
    struct kymo_nest *n = &c->nest;
    for (uint32_t i = 0; i < n->depth; i++) {
        struct kymo_open_call *frame = &n->frames[i];
        if (frame->start < c->from) {
            frame->start = c->from;
            frame->flags |= KYMO__OPEN_AT_START;
        }
        int rc = n->enter ? n->enter(n->arg, frame, i) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

int kymo__calls_part(struct kymo_calls *c, struct kymo_capture *capture, uint32_t thread,
                     kymo_ns from, kymo_ns to, size_t first, size_t last,
                     const struct kymo_visitor *visitor)
{
    int rc = 0;
    if (first == KYMO__NO_SUMMARY) {
        rc = kymo__calls_init(c, capture, thread, from, to, visitor);
    } else {
        set_up(c, capture, thread, from, to, visitor);
        rc = begin_at(c, first);
        rc = rc > 0 ? 0 : rc == 0 ? -ENOENT : rc;
        c->nest.telling = true;
        if (rc == 0)
            rc = tell_open(c);
    }
    if (rc == 0 && last != KYMO__NO_SUMMARY) {
        const struct kymo_summary *next = &capture->reader->summaries[last];
        kymo__stream_limit(&c->stream, next->run, next->before);
        c->part = true;
    }
    return rc;
}

void kymo__calls_go_on(struct kymo_calls *c)
{
    const struct kymo_reader *r = c->stream.capture->reader;
    const struct kymo_reader_thread *t = &r->threads[c->stream.thread];
    kymo__stream_limit(&c->stream, (size_t)t->run + t->runs, UINT64_MAX);
    c->part = false;
}

void kymo__calls_fini(struct kymo_calls *c)
{
    kymo__stream_fini(&c->stream);
    kymo__nest_fini(&c->nest);
    kymo__free(c->shown);
}
