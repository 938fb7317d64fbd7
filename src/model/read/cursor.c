/* cursor.c — merge the events of all threads in order of time, with a heap of streams. */
#include "cursor.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "stream.h"

struct kymo_cursor {
    struct kymo_window window;
    struct lane {
        struct kymo_stream stream;
        struct kymo_event event; /* its next event */
    } * *heap;                   /* by time of `event`; finished lanes are not in it */
    struct lane **lanes;         /* all lanes, for freeing */
    size_t count, lane_count;
    bool handed_out; /* the first lane's event was handed out: advance it before the next */
};

static bool earlier(const struct lane *a, const struct lane *b)
{
    if (a->event.time != b->event.time)
        return a->event.time < b->event.time;
    return a->event.thread < b->event.thread;
}

static void sink(struct kymo_cursor *c, size_t i)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < c->count && earlier(c->heap[left], c->heap[least]))
            least = left;
        if (right < c->count && earlier(c->heap[right], c->heap[least]))
            least = right;
        if (least == i)
            return;
        struct lane *swap = c->heap[i];
        c->heap[i] = c->heap[least];
        c->heap[least] = swap;
        i = least;
    }
}

/* Advance the lane to its next event inside the window. */
static int advance_cursor(struct kymo_cursor *c, struct lane *lane)
{
    int rc;
    do {
        rc = kymo__stream_next(&lane->stream, &lane->event);
    } while (rc > 0 && (lane->event.time < c->window.from || lane->event.time >= c->window.to));
    return rc;
}

static int add_lane(struct kymo_cursor *c, struct kymo_capture *capture, uint32_t thread,
                    uint64_t from, uint64_t to)
{
    struct lane *lane = kymo__alloc(sizeof(*lane));
    if (!lane)
        return -ENOMEM;
    kymo__stream_init(&lane->stream, capture, thread, from, to);
    lane->stream.whole = true;
    c->lanes[c->lane_count++] = lane;
    int rc = advance_cursor(c, lane);
    if (rc > 0)
        c->heap[c->count++] = lane;
    return rc < 0 ? rc : 0;
}

/* A lane takes several kilobytes, and a damaged file may name many threads. */
static bool has_events(const struct kymo_capture *capture, uint32_t thread)
{
    const struct kymo_reader_thread *t = &capture->reader->threads[thread];
    return t->runs || kymo__thread_more(capture->reader, thread)->gaps;
}

int kymo_cursor_new(struct kymo_capture *capture, const struct kymo_window *window,
                    struct kymo_cursor **cursor)
{
    size_t threads = capture->reader->thread_count;
    struct kymo_cursor *c = kymo__alloc_zeroed(sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->window = (struct kymo_window){sizeof(*window), INT64_MIN, INT64_MAX, -1};
    if (window)
        memcpy(&c->window, window,
               window->size < sizeof(c->window) ? window->size : sizeof(c->window));
    int rc = -ENOMEM;
    c->heap = kymo__alloc(sizeof(*c->heap) * (threads + 1));
    c->lanes = kymo__alloc(sizeof(*c->lanes) * (threads + 1));
    if (!c->heap || !c->lanes)
        goto fail;
    rc = -EINVAL;
    if (c->window.thread >= (int64_t)threads || c->window.thread < -1)
        goto fail;
    /* One tick more at either end: the exact test uses nanoseconds. */
    uint64_t from = kymo__timebase_ticks(&capture->base, c->window.from);
    uint64_t to = kymo__timebase_ticks(&capture->base, c->window.to);
    from -= from > 0;
    to += to < UINT64_MAX;
    rc = 0;
    for (size_t i = 0; rc == 0 && i < threads; i++)
        if ((c->window.thread < 0 || c->window.thread == (int64_t)i) &&
            has_events(capture, (uint32_t)i))
            rc = add_lane(c, capture, (uint32_t)i, from, to);
    if (rc < 0)
        goto fail;
    for (size_t i = c->count; i-- > 0;)
        sink(c, i);
    *cursor = c;
    return 0;
fail:
    kymo_cursor_free(c);
    return rc;
}

/* Move past the event handed out last, whose payload was lent until now. */
static int move_on(struct kymo_cursor *c)
{
    if (!c->handed_out)
        return 0;
    c->handed_out = false;
    int rc = advance_cursor(c, c->heap[0]);
    if (rc < 0)
        return rc;
    if (rc == 0)
        c->heap[0] = c->heap[--c->count];
    sink(c, 0);
    return 0;
}

int kymo__cursor_lend(struct kymo_cursor *cursor, const struct kymo_event **event,
                      const struct kymo_places **places)
{
    int rc = move_on(cursor);
    if (rc < 0 || !cursor->count)
        return rc;
    struct lane *first = cursor->heap[0];
    *event = &first->event;
    *places = kymo__stream_places(&first->stream);
    cursor->handed_out = true;
    return 1;
}

int kymo_cursor_next(struct kymo_cursor *cursor, struct kymo_event *event)
{
    int rc = move_on(cursor);
    if (rc < 0 || !cursor->count)
        return rc;
    struct lane *first = cursor->heap[0];
    size_t size = event->size < sizeof(*event) ? event->size : sizeof(*event);
    if (size < sizeof(size_t))
        return -EINVAL;
    memcpy((char *)event + sizeof(size_t), (char *)&first->event + sizeof(size_t),
           size - sizeof(size_t));
    cursor->handed_out = true;
    return 1;
}

void kymo_cursor_free(struct kymo_cursor *cursor)
{
    if (!cursor)
        return;
    for (size_t i = 0; cursor->lanes && i < cursor->lane_count; i++) {
        kymo__stream_fini(&cursor->lanes[i]->stream);
        kymo__free(cursor->lanes[i]);
    }
    kymo__free(cursor->lanes);
    kymo__free(cursor->heap);
    kymo__free(cursor);
}
