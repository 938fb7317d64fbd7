/* callinfo.c — see callinfo.h. */
#include "callinfo.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"
#include "jsontext.h"
#include "picture.h"
#include "summaries.h"

enum {
    STEP = 1024,
    NEAR = 48, /* so many summaries are read through for the exact time of what a call called */
};

struct seeking {
    struct kymo_callinfo *info;
    struct kymo_capture *capture;
    kymo_ns start;
    uint32_t depth;
    uint32_t callers; /* how many info->callers has */
    bool known;       /* which call it is */
    bool ended;       /* its end was seen */
    bool inside;      /* all of it is being read: its self time is right */
    bool stopped;     /* nothing more is needed */
};

/* Keep the callers of the call at depth COUNT. */
static int keep_callers(struct seeking *s, const struct kymo_open_call *frames, uint32_t count)
{
    struct kymo_callinfo *info = s->info;
    kymo__free(info->callers);
    info->callers = kymo__alloc_zeroed((count + 1) * sizeof(*info->callers));
    if (!info->callers)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        info->callers[i] =
            (struct kymo_call_frame){frames[i].key, frames[i].number, frames[i].start};
    s->callers = count;
    return 0;
}

static int keep_call(struct seeking *s, const struct kymo_open_call *frames, uint32_t depth)
{
    const struct kymo_open_call *frame = &frames[depth];
    struct kymo_callinfo *info = s->info;
    info->key = frame->key;
    info->depth = depth;
    info->number = frame->number;
    info->task = frame->id;
    info->start = frame->start;
    info->enter = frame->enter;
    s->known = true;
    return keep_callers(s, frames, depth);
}

/* The window opens: the calls that are open now have their real starts here only. */
static int see_open(void *arg, const struct kymo_calls *calls)
{
    struct seeking *s = arg;
    if (calls->nest.depth <= s->depth)
        return keep_callers(s, calls->nest.frames, calls->nest.depth);
    return keep_call(s, calls->nest.frames, s->depth);
}

/* The call begins inside of the window. Its callers that began before have been cut there: their
   real starts were kept when the window opened. */
static int see_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct seeking *s = arg;
    bool was_open = frame->flags & KYMO__OPEN_AT_START && frame->enter != KYMO__ENTER_OPEN;
    if (was_open || depth != s->depth || frame->start != s->start || s->ended)
        return 0;
    struct kymo_call_frame *kept = s->info->callers;
    uint32_t count = s->callers < depth ? s->callers : depth;
    s->info->callers = NULL;
    int rc = keep_call(s, frame - depth, depth);
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        if (kept[i].number == s->info->callers[i].number)
            s->info->callers[i].start = kept[i].start;
    kymo__free(kept);
    s->inside = true;
    return rc;
}

static int keep_args(struct seeking *s, const struct kymo_slice *slice)
{
    struct kymo_buffer *out = &s->info->args;
    const struct kymo_reader *r = s->capture->reader;
    out->len = 0;
    int rc = kymo__json_text(out, "{");
    for (unsigned i = 0; rc == 0 && i < slice->arg_count; i++) {
        rc = kymo__json_text(out, i ? ",\"" : "\"");
        rc = rc < 0 ? rc : kymo__json_escaped(out, kymo__key_name(r, slice->args[i].key));
        rc = rc < 0 ? rc : kymo__json_text(out, "\":");
        rc = rc < 0 ? rc : kymo__arg_json(out, r, &slice->args[i]);
    }
    return rc < 0 ? rc : kymo__json_text(out, "}");
}

static int see_leave(void *arg, const struct kymo_slice *slice)
{
    struct seeking *s = arg;
    struct kymo_callinfo *info = s->info;
    if (!s->known || slice->depth != s->depth || slice->frame->number != info->number || s->ended)
        return 0;
    info->end = slice->end;
    info->leave = slice->leave;
    info->flags = slice->flags;
    if (s->inside) {
        info->self = slice->self;
        info->flags &= (uint8_t)~KYMO__OPEN_AT_START;
    }
    s->ended = s->stopped = true;
    return keep_args(s, slice);
}

static int read_until_found(struct kymo_calls *calls, struct seeking *s, uint64_t most)
{
    int rc = 1;
    for (uint64_t read = 0; rc > 0 && !s->stopped && read < most; read += STEP)
        rc = kymo__calls_read(calls, STEP);
    return rc < 0 ? rc : 0;
}

/* Does the checkpoint of summary AT hold the call? 1, 0, or a negative code. */
static int holds_call(struct kymo_capture *capture, size_t at, uint32_t thread,
                      const struct kymo_callinfo *info)
{
    struct kymo_nest nest = {.limit = kymo__calls_deepest(capture->reader)};
    int rc = kymo__summary_state(capture->reader, &capture->reader->summaries[at], thread, &nest);
    bool holds =
        rc > 0 && nest.depth > info->depth && nest.frames[info->depth].number == info->number;
    kymo__nest_fini(&nest);
    return rc < 0 ? rc : holds;
}

/* Find the end of the summaries that begin while the call is open, from FIRST on, which is the first
   one after its start: *END is FIRST if there are none. Returns 0 or a negative code. */
static int find_last(struct kymo_capture *capture, uint32_t thread, size_t first,
                     const struct kymo_callinfo *info, size_t *end)
{
    const struct kymo_thread_more *t = kymo__thread_more(capture->reader, thread);
    size_t low = first, high = t->summary + t->summaries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int rc = holds_call(capture, middle, thread, info);
        if (rc < 0)
            return rc;
        if (rc)
            low = middle + 1;
        else
            high = middle;
    }
    *end = low;
    return 0;
}

static size_t first_after(const struct kymo_capture *capture, uint32_t thread, kymo_ns time)
{
    const struct kymo_thread_more *t = kymo__thread_more(capture->reader, thread);
    size_t hint = 0, low = t->summary, high = t->summary + t->summaries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t before = capture->reader->summaries[middle].before;
        if (!before || kymo__timebase_ns(&capture->base, before, &hint) < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Read from summary AT to the end of the call. */
static int read_end(struct seeking *s, uint32_t thread, size_t at)
{
    const struct kymo_visitor visitor = {.arg = s, .whole = true, .leave = see_leave};
    struct kymo_calls calls;
    s->inside = false;
    int rc = kymo__calls_part(&calls, s->capture, thread, INT64_MIN, INT64_MAX, at,
                              KYMO__NO_SUMMARY, &visitor);
    if (rc == 0)
        rc = read_until_found(&calls, s, UINT64_MAX);
    kymo__calls_fini(&calls);
    return rc;
}

/* The time that summaries show one level deeper than the call, taken off its own. */
static int guess_self(struct seeking *s, uint32_t thread)
{
    struct kymo_callinfo *info = s->info;
    struct kymo_picture *picture;
    struct kymo_picture_column column;
    double inside = 0;
    int rc =
        kymo__picture_new(s->capture, thread, info->start, info->end, info->depth + 1, 1, &picture);
    if (rc < 0)
        return rc;
    while ((rc = kymo__picture_next(picture, &column)) > 0) {
        kymo_ns from = column.start > info->start ? column.start : info->start;
        kymo_ns to = column.end < info->end ? column.end : info->end;
        if (to > from && column.depths)
            inside += column.cells[0].busy * (double)(to - from) / 255;
    }
    kymo__picture_free(picture);
    double length = (double)(info->end - info->start);
    info->self = inside < length ? (kymo_ns)(length - inside) : 0;
    info->self_about = true;
    return rc;
}

/* Which call is it, and who called it? One that is short has ended after this, too. */
static int find_call(struct seeking *s, uint32_t thread, uint64_t most)
{
    const struct kymo_visitor visitor = {
        .arg = s, .whole = true, .open = see_open, .enter = see_enter, .leave = see_leave};
    struct kymo_calls calls;
    int rc = kymo__calls_init(&calls, s->capture, thread, s->start, INT64_MAX, &visitor);
    if (rc == 0)
        rc = read_until_found(&calls, s, most);
    kymo__calls_fini(&calls);
    return rc;
}

int kymo__callinfo_find(struct kymo_capture *capture, uint32_t thread, kymo_ns start,
                        uint32_t depth, struct kymo_callinfo *info)
{
    memset(info, 0, sizeof(*info));
    if (thread >= capture->reader->thread_count)
        return -EINVAL;
    struct seeking s = {.info = info, .capture = capture, .start = start, .depth = depth};
    size_t near = first_after(capture, thread, start);
    const struct kymo_thread_more *t = kymo__thread_more(capture->reader, thread);
    bool short_thread = near + NEAR >= t->summary + t->summaries;
    int rc = find_call(&s, thread, short_thread ? UINT64_MAX : 200000);
    if (rc < 0 || !s.known)
        return rc;
    if (s.ended && s.inside)
        return 1;
    near = first_after(capture, thread, info->start);
    size_t end = near;
    rc = find_last(capture, thread, near, info, &end);
    if (rc == 0 && !s.ended && end > near)
        rc = read_end(&s, thread, end - 1);
    if (rc < 0)
        return rc;
    /* All of it, if that is not much: for its self time. */
    if (!s.ended || end - near < NEAR) {
        kymo_ns began = info->start;
        s.known = s.ended = s.stopped = s.inside = false;
        s.start = began;
        rc = find_call(&s, thread, UINT64_MAX);
        if (rc < 0 || !s.known)
            return rc;
    }
    if (s.ended && !s.inside)
        rc = guess_self(&s, thread);
    return rc < 0 ? rc : s.known;
}

void kymo__callinfo_fini(struct kymo_callinfo *info)
{
    kymo__free(info->callers);
    kymo__buffer_fini(&info->args);
}
