/* tile.c — see tile.h. */
#include "tile.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "calls.h"
#include "tilerows.h"

enum {
    STEP = 4096,
    WIDE = 2,         /* columns of a tile that a column of a summary may take */
    PIECES_MOST = 32, /* so many pieces of a tile are read as calls where it may not */
    ASKED = 1024,   /* after so many columns of summaries it may be stopped: about a millisecond, */
    STEP_WORK = 64, /* and a step takes as long as so many of them */
};

struct making {
    struct kymo_capture *capture;
    const struct kymo_callables *callables;
    const struct kymo_tile_place *place;
    struct kymo_tile_rows rows;
    bool summaries;
    unsigned pieces; /* read as calls, because a summary does not fit */
    unsigned work;   /* since place->stop was asked */
};

int kymo__tile_span(const struct kymo_tile_place *place, kymo_ns *from, kymo_ns *to)
{
    unsigned bits = place->level + KYMO__TILE_BITS;
    if (place->level >= KYMO__TILE_LEVELS || place->index >= (uint64_t)1 << (62 - bits))
        return -EINVAL;
    *from = kymo__ns_add(place->origin, (kymo_ns)(place->index << bits));
    *to = kymo__ns_add(*from, (kymo_ns)1 << bits);
    return 0;
}

static int stop_if_asked(struct making *m, unsigned work)
{
    m->work += work;
    if (m->work < ASKED || !m->place->stop)
        return 0;
    m->work = 0;
    return m->place->stop(m->place->stop_arg) < 0 ? -ECANCELED : 0;
}

static int take_call(void *arg, const struct kymo_slice *slice)
{
    struct making *m = arg;
    const struct kymo_open_call *frame = slice->frame;
    unsigned flags = 0;
    if (slice->flags & KYMO__END_LOST)
        flags |= KYMO__PART_LOST;
    if (slice->flags & KYMO__OPEN_AT_END && slice->end >= m->capture->end)
        flags |= KYMO__PART_OPEN;
    if (m->summaries && slice->flags & KYMO__OPEN_AT_START && frame->start == m->rows.from)
        flags |= KYMO__PART_BEFORE;
    if (m->summaries && slice->flags & KYMO__OPEN_AT_END && slice->end == m->rows.to)
        flags |= KYMO__PART_AFTER;
    return kymo__tile_rows_call(&m->rows, slice->depth, frame->start, slice->end,
                                kymo__callable_of(m->callables, frame->key), frame->number, flags);
}

/* Add the calls from FROM to TO. Reading begins a column earlier and ends a column later: a call
   that is cut there is longer than a column, whatever its length. A column may have a hundred
   thousand events where summaries are used: there, a call that is cut becomes a part of its own. */
static int add_calls(struct making *m, kymo_ns from, kymo_ns to)
{
    if (from >= to)
        return 0;
    kymo_ns margin = m->summaries ? 0 : (kymo_ns)1 << m->rows.level, before;
    if (__builtin_sub_overflow(from, margin, &before))
        before = INT64_MIN;
    const struct kymo_visitor visitor = {.arg = m, .whole = true, .leave = take_call};
    struct kymo_calls calls;
    m->rows.from = from;
    m->rows.to = to;
    int rc = kymo__calls_init(&calls, m->capture, m->place->thread, before,
                              kymo__ns_add(to, margin), &visitor);
    while (rc >= 0 && (rc = kymo__calls_read(&calls, STEP)) > 0)
        rc = stop_if_asked(m, STEP_WORK);
    kymo__calls_fini(&calls);
    return rc < 0 ? rc : kymo__tile_rows_flush(&m->rows);
}

/* About how many events does the thread have from FROM to TO? */
static uint64_t count_events(const struct making *m, kymo_ns from, kymo_ns to)
{
    const struct kymo_reader *r = m->capture->reader;
    const struct kymo_reader_thread *t = &r->threads[m->place->thread];
    uint64_t first = kymo__timebase_ticks(&m->capture->base, from), count = 0;
    uint64_t last = kymo__timebase_ticks(&m->capture->base, to);
    for (size_t i = t->run; i < (size_t)t->run + t->runs; i++) {
        const struct kymo_run *run = &r->runs[i];
        if (run->last_ticks < first || run->first_ticks >= last)
            continue;
        /* As if they were spread evenly: most of a block may be outside. */
        uint64_t low = run->first_ticks > first ? run->first_ticks : first;
        uint64_t high = run->last_ticks < last ? run->last_ticks : last;
        double share = run->last_ticks > run->first_ticks
                           ? (double)(high - low) / (double)(run->last_ticks - run->first_ticks)
                           : 1;
        count += (uint64_t)((double)run->events * share);
    }
    return count;
}

/* Is COLUMN good enough: known, inside of the tile, and no wider than the tile's columns are? Each
   piece that is read as calls costs about a block; where a thread stood still very often, what is
   wide stays as it is. */
static bool is_fine(const struct making *m, const struct kymo_picture_column *column, kymo_ns from,
                    kymo_ns to)
{
    return column->known && column->start >= from && column->end <= to &&
           (kymo__ns_between(column->start, column->end) <= (kymo_ns)WIDE << m->place->level ||
            m->pieces >= PIECES_MOST);
}

/* Add the summaries from FROM to TO, and the calls where they do not fit. */
static int add_summaries(struct making *m, kymo_ns from, kymo_ns to)
{
    struct kymo_picture *picture;
    struct kymo_picture_column column;
    kymo_ns reached = from; /* everything before has been added */
    kymo_ns behind = from;  /* everything between must be read as calls */
    int rc = kymo__picture_new(m->capture, m->place->thread, from, to, 0, UINT32_MAX, &picture);
    if (rc < 0)
        return rc;
    while ((rc = kymo__picture_next(picture, &column)) > 0) {
        rc = stop_if_asked(m, 1);
        if (rc < 0)
            break;
        if (column.end > behind)
            behind = column.end < to ? column.end : to;
        if (!is_fine(m, &column, from, to))
            continue;
        if (reached < column.start) {
            m->pieces++;
            rc = kymo__tile_rows_flush(&m->rows);
            rc = rc < 0 ? rc : add_calls(m, reached, column.start);
        }
        m->rows.from = from;
        m->rows.to = to;
        rc = rc < 0 ? rc : kymo__tile_rows_column(&m->rows, &column, m->callables);
        if (rc < 0)
            break;
        reached = column.end;
    }
    kymo__picture_free(picture);
    rc = rc < 0 ? rc : kymo__tile_rows_flush(&m->rows);
    return rc < 0 ? rc : add_calls(m, reached, behind);
}

int kymo__tile_make(struct kymo_capture *capture, const struct kymo_callables *callables,
                    const struct kymo_tile_place *place, struct kymo_buffer *out)
{
    kymo_ns from, to;
    int rc = kymo__tile_span(place, &from, &to);
    if (rc < 0 || place->thread >= capture->reader->thread_count)
        return -EINVAL;
    struct making *m = kymo__alloc_zeroed(sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->capture = capture;
    m->callables = callables;
    m->place = place;
    m->rows.origin = place->origin;
    m->rows.level = place->full ? 0 : place->level;
    m->summaries = !place->full && kymo__thread_more(capture->reader, place->thread)->summaries &&
                   count_events(m, from, to) > place->events;
    rc = m->summaries ? add_summaries(m, from, to) : add_calls(m, from, to);
    if (rc == 0)
        rc = kymo__tile_write(&m->rows, place, m->summaries ? KYMO__TILE_FROM_SUMMARIES : 0, out);
    kymo__tile_rows_fini(&m->rows);
    kymo__free(m);
    return rc;
}
