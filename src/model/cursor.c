/* cursor.c — the events of all threads in the order of time: a heap of streams. */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "stream.h"

struct kymo_cursor {
    struct kymo_window window;
    struct lane {
        struct kymo_stream stream;
        struct kymo_event event; /* its next */
    } * *heap;                   /* by time of `event`; those at their end are not in it */
    struct lane **lanes;         /* all, to free */
    size_t count, lane_count;
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

/* The lane's next event inside the window. */
static int advance(struct kymo_cursor *c, struct lane *lane)
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
    c->lanes[c->lane_count++] = lane;
    int rc = advance(c, lane);
    if (rc > 0)
        c->heap[c->count++] = lane;
    return rc < 0 ? rc : 0;
}

/* A lane is several kilobytes, and a damaged file may name many threads. */
static bool has_events(const struct kymo_capture *capture, size_t thread)
{
    const struct kymo_reader *r = capture->reader;
    if (r->threads[thread].runs)
        return true;
    for (size_t i = 0; i < r->gap_count; i++)
        if (r->gaps[i].thread == thread)
            return true;
    return false;
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
    /* A tick more at either end: the exact test is made on nanoseconds. */
    uint64_t from = kymo__timebase_ticks(&capture->base, c->window.from);
    uint64_t to = kymo__timebase_ticks(&capture->base, c->window.to);
    from -= from > 0;
    to += to < UINT64_MAX;
    rc = 0;
    for (size_t i = 0; rc == 0 && i < threads; i++)
        if ((c->window.thread < 0 || c->window.thread == (int64_t)i) && has_events(capture, i))
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

int kymo_cursor_next(struct kymo_cursor *cursor, struct kymo_event *event)
{
    if (!cursor->count)
        return 0;
    struct lane *first = cursor->heap[0];
    size_t size = event->size < sizeof(*event) ? event->size : sizeof(*event);
    if (size < sizeof(size_t))
        return -EINVAL;
    memcpy((char *)event + sizeof(size_t), (char *)&first->event + sizeof(size_t),
           size - sizeof(size_t));
    int rc = advance(cursor, first);
    if (rc < 0)
        return rc;
    if (rc == 0)
        cursor->heap[0] = cursor->heap[--cursor->count];
    sink(cursor, 0);
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
