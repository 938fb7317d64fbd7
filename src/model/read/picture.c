/* picture.c — see picture.h. */
#include "picture.h"

#include <errno.h>

#include "alloc.h"
#include "summaries.h"

struct kymo_picture {
    struct kymo_capture *capture;
    uint32_t thread, first_depth, depths;
    kymo_ns from, to;
    size_t next;              /* next summary to read */
    struct kymo_cells loaded; /* the summary being handed out */
    struct kymo_buffer scratch;
    size_t column;   /* its next column */
    uint64_t tick;   /* where that column starts, */
    kymo_ns start;   /* and its time */
    uint64_t chunk;  /* everything before this chunk has been handed out */
    kymo_ns reached; /* everything before this time has been handed out */
    bool tail;       /* so has the part after the last summary */
    size_t hint;
};

static kymo_ns time_of(struct kymo_picture *p, uint64_t ticks)
{
    return kymo__timebase_ns(&p->capture->base, ticks, &p->hint);
}

static const struct kymo_reader_thread *thread_of(const struct kymo_picture *p)
{
    return &p->capture->reader->threads[p->thread];
}

int kymo__picture_new(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                      uint32_t first_depth, uint32_t depths, struct kymo_picture **picture)
{
    if (thread >= capture->reader->thread_count)
        return -EINVAL;
    struct kymo_picture *p = kymo__alloc_zeroed(sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->capture = capture;
    p->thread = thread;
    p->first_depth = first_depth;
    p->depths = depths;
    p->from = from;
    p->to = to;
    const struct kymo_reader_thread *t = thread_of(p);
    p->next = kymo__thread_more(capture->reader, thread)->summary;
    p->reached = INT64_MIN;
    if (t->runs) {
        p->chunk = capture->reader->runs[t->run].first_chunk;
        p->reached = time_of(p, capture->reader->runs[t->run].first_ticks);
    }
    *picture = p;
    return 0;
}

void kymo__picture_free(struct kymo_picture *p)
{
    if (!p)
        return;
    kymo__cells_fini(&p->loaded);
    kymo__buffer_fini(&p->scratch);
    kymo__free(p);
}

static bool wanted(const struct kymo_picture *p, const struct kymo_picture_column *column)
{
    return column->start < p->to && column->end >= p->from && column->end >= column->start;
}

/* Hand out the time up to END, which no summary covers. */
static bool hand_out_unknown(struct kymo_picture *p, kymo_ns end,
                             struct kymo_picture_column *column)
{
    *column = (struct kymo_picture_column){
        .start = p->reached, .end = end, .first_depth = p->first_depth};
    p->reached = end > p->reached ? end : p->reached;
    return wanted(p, column);
}

static bool hand_out(struct kymo_picture *p, struct kymo_picture_column *column)
{
    const struct kymo_cell_column *c = &p->loaded.columns[p->column++];
    kymo_ns start = p->start;
    p->tick += c->ticks;
    kymo_ns end = p->start = time_of(p, p->tick);
    uint32_t depths = c->depths > p->first_depth ? c->depths - p->first_depth : 0;
    depths = depths < p->depths ? depths : p->depths;
    *column = (struct kymo_picture_column){
        .start = start,
        .end = end,
        .events = c->events,
        .known = true,
        .first_depth = p->first_depth,
        .depths = depths,
        .cells = depths ? &p->loaded.cells[c->first + p->first_depth] : NULL,
        .per_tick = c->ticks ? (double)(end - start) / (double)c->ticks : 0,
    };
    p->reached = end > p->reached ? end : p->reached;
    return wanted(p, column);
}

/* Move to the next summary. Returns 1 if COLUMN is the part before it, 0 to continue, or a negative
   code. */
static int load_next(struct kymo_picture *p, struct kymo_picture_column *column)
{
    struct kymo_reader *r = p->capture->reader;
    const struct kymo_summary *s = &r->summaries[p->next];
    if (p->chunk < s->header.first_chunk) {
        p->chunk = s->header.first_chunk;
        return hand_out_unknown(p, time_of(p, s->header.first_ticks), column);
    }
    p->next++;
    p->chunk = s->header.first_chunk + s->header.chunks;
    p->column = p->loaded.count = 0;
    if (time_of(p, s->header.last_ticks) < p->from) {
        p->reached = time_of(p, s->header.last_ticks);
        return 0;
    }
    int rc = kymo__summary_cells(r, s, &p->scratch, &p->loaded);
    p->tick = p->loaded.begin;
    p->start = time_of(p, p->tick);
    if (rc != KYMO_EBLOCK)
        return rc;
    return hand_out_unknown(p, time_of(p, s->header.last_ticks), column);
}

int kymo__picture_next(struct kymo_picture *p, struct kymo_picture_column *column)
{
    const struct kymo_reader_thread *t = thread_of(p);
    const struct kymo_thread_more *more = kymo__thread_more(p->capture->reader, p->thread);
    for (;;) {
        if (p->column < p->loaded.count) {
            if (hand_out(p, column))
                return 1;
            continue;
        }
        if (p->reached >= p->to || p->tail || !t->runs)
            return 0;
        if (p->next < more->summary + more->summaries) {
            int rc = load_next(p, column);
            if (rc)
                return rc;
            continue;
        }
        p->tail = true;
        const struct kymo_run *last = &p->capture->reader->runs[t->run + t->runs - 1];
        if (p->chunk < last->first_chunk + last->chunks &&
            hand_out_unknown(p, time_of(p, last->last_ticks), column))
            return 1;
    }
}
