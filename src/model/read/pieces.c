/* pieces.c — see pieces.h. */
#include "pieces.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "pace.h"
#include "summaries.h"

enum { STEP = 4096 };

/* ---- planning ---- */

/* Is there a state at SUMMARY, and does the window from FROM to TO extend past it? */
static int may_cut(struct kymo_capture *capture, uint32_t thread, size_t summary, kymo_ns from,
                   kymo_ns to)
{
    const struct kymo_summary *s = &capture->reader->summaries[summary];
    size_t hint = 0;
    if (!s->before)
        return 0;
    kymo_ns before = kymo__timebase_ns(&capture->base, s->before, &hint);
    if (before < from || before >= to)
        return 0;
    struct kymo_nest *nest = kymo__alloc_zeroed(sizeof(*nest));
    if (!nest)
        return -ENOMEM;
    int rc = kymo__summary_state(capture->reader, s, thread, nest);
    kymo__nest_fini(nest);
    kymo__free(nest);
    return rc;
}

static int pieces_add(struct kymo_piece **pieces, size_t *count, size_t *capacity,
                      struct kymo_piece piece)
{
    int rc = kymo__array_grow(pieces, capacity, *count, sizeof(**pieces));
    if (rc == 0)
        (*pieces)[(*count)++] = piece;
    return rc;
}

int kymo__pieces_plan(struct kymo_capture *capture, uint32_t thread, kymo_ns from, kymo_ns to,
                      uint64_t records, struct kymo_piece **pieces, size_t *count, size_t *capacity)
{
    const struct kymo_reader *r = capture->reader;
    const struct kymo_reader_thread *t = &r->threads[thread];
    const struct kymo_thread_more *more = kymo__thread_more(r, thread);
    const size_t summary_end = more->summary + more->summaries;
    struct kymo_piece piece = {
        .thread = thread, .first = KYMO__NO_SUMMARY, .last = KYMO__NO_SUMMARY};
    size_t summary = more->summary;
    for (size_t i = t->run; i < (size_t)t->run + t->runs; i++) {
        while (summary < summary_end && r->summaries[summary].run < i)
            summary++;
        bool here = summary < summary_end && r->summaries[summary].run == i;
        if (here && piece.records >= records) {
            int rc = may_cut(capture, thread, summary, from, to);
            if (rc > 0) {
                piece.last = summary;
                rc = pieces_add(pieces, count, capacity, piece);
                piece = (struct kymo_piece){
                    .thread = thread, .first = summary, .last = KYMO__NO_SUMMARY};
            }
            if (rc < 0)
                return rc;
        }
        piece.records += r->runs[i].events;
    }
    return pieces_add(pieces, count, capacity, piece);
}

void kymo__pieces_free(struct kymo_piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        kymo__free(pieces[i].begin);
        kymo__free(pieces[i].end);
        kymo__free(pieces[i].crossings);
        kymo__free(pieces[i].args);
    }
    kymo__free(pieces);
}

/* ---- reading ---- */

struct reading {
    struct kymo_piece *piece;
    const struct kymo_piece_visitor *visitor;
    uint64_t before; /* calls with numbers up to this began in earlier pieces */
};

static int pieces_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    const struct reading *reading = arg;
    const struct kymo_visitor *v = &reading->visitor->calls;
    return v->enter ? v->enter(v->arg, frame, depth) : 0;
}

static int keep_slice(struct kymo_piece *p, const struct kymo_slice *slice)
{
    int rc = kymo__array_grow(&p->crossings, &p->crossing_capacity, p->crossing_count,
                              sizeof(*p->crossings));
    for (unsigned i = 0; rc == 0 && i < slice->arg_count; i++) {
        rc = kymo__array_grow(&p->args, &p->arg_capacity, p->arg_count, sizeof(*p->args));
        if (rc == 0)
            p->args[p->arg_count++] = slice->args[i];
    }
    if (rc == 0)
        p->crossings[p->crossing_count++] =
            (struct kymo_crossing){slice->frame->number, slice->end,   slice->frame->inside,
                                   slice->leave,         slice->flags, slice->arg_count};
    return rc;
}

static int pieces_leave(void *arg, const struct kymo_slice *slice)
{
    struct reading *reading = arg;
    const struct kymo_piece_visitor *v = reading->visitor;
    if (slice->frame->number > reading->before)
        return v->calls.leave ? v->calls.leave(v->calls.arg, slice) : 0;
    if (v->forget)
        v->forget(v->calls.arg, slice->frame);
    return keep_slice(reading->piece, slice);
}

static int other(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned count)
{
    const struct reading *reading = arg;
    const struct kymo_visitor *v = &reading->visitor->calls;
    return v->other ? v->other(v->arg, event, args, count) : 0;
}

/* Copy the calls open now. */
static int copy_open(const struct kymo_nest *nest, struct kymo_open_call **copy, size_t *count)
{
    *copy = kymo__alloc((nest->depth + 1) * sizeof(**copy));
    if (!*copy)
        return -ENOMEM;
    if (nest->depth)
        memcpy(*copy, nest->frames, nest->depth * sizeof(**copy));
    *count = nest->depth;
    return 0;
}

static int read_on(struct kymo_calls *calls, struct reading *reading)
{
    const struct kymo_piece_visitor *v = reading->visitor;
    int rc = 1;
    while (rc > 0) {
        rc = kymo__pace_read(calls, STEP, v->until, &reading->piece->cut);
        int step = v->step ? v->step(v->calls.arg, STEP) : 0;
        rc = step < 0 ? step : rc;
    }
    return rc;
}

int kymo__piece_read(struct kymo_piece *piece, struct kymo_capture *capture, kymo_ns from,
                     kymo_ns to, const struct kymo_piece_visitor *visitor)
{
    struct reading reading = {.piece = piece, .visitor = visitor};
    const struct kymo_visitor own = {.arg = &reading,
                                     .whole = visitor->calls.whole,
                                     .enter = pieces_enter,
                                     .leave = pieces_leave,
                                     .other = visitor->calls.other ? other : NULL};
    struct kymo_calls *calls = kymo__alloc(sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    int rc =
        kymo__calls_part(calls, capture, piece->thread, from, to, piece->first, piece->last, &own);
    rc = rc == -ENOENT ? -EAGAIN : rc;
    if (rc == 0 && piece->first != KYMO__NO_SUMMARY) {
        reading.before = calls->nest.entered;
        rc = copy_open(&calls->nest, &piece->begin, &piece->begin_count);
    }
    if (rc == 0)
        rc = read_on(calls, &reading);
    if (rc == 0)
        rc = copy_open(&calls->nest, &piece->end, &piece->end_count);
    for (uint32_t i = calls->nest.depth; visitor->forget && calls->nest.telling && i-- > 0;)
        visitor->forget(visitor->calls.arg, &calls->nest.frames[i]);
    piece->counts = calls->nest.counts;
    kymo__calls_fini(calls);
    kymo__free(calls);
    return rc;
}

static bool same_arg(const struct kymo_nest *a, const struct kymo_nest_arg *x,
                     const struct kymo_nest *b, const struct kymo_nest_arg *y)
{
    if (x->key != y->key || x->kind != y->kind || x->length != y->length)
        return false;
    return x->kind == KYMO__ARG_PAYLOAD
               ? memcmp(a->bytes.bytes + x->value, b->bytes.bytes + y->value, x->length) == 0
               : x->value == y->value;
}

/* Would what follows mean the same with either of two stacks? */
static bool same_nests(const struct kymo_nest *a, const struct kymo_nest *b)
{
    if (a->depth != b->depth || a->now != b->now || a->entered != b->entered ||
        a->doubtful != b->doubtful || a->waiting || a->arg_len != b->arg_len)
        return false;
    for (uint32_t i = 0; i < a->depth; i++) {
        const struct kymo_open_call *x = &a->frames[i], *y = &b->frames[i];
        if (x->key != y->key || x->enter != y->enter || x->flags != y->flags ||
            x->start != y->start || x->id != y->id || x->number != y->number ||
            x->args != y->args || x->arg_count != y->arg_count)
            return false;
    }
    for (size_t i = 0; i < a->arg_len; i++)
        if (!same_arg(a, &a->args[i], b, &b->args[i]))
            return false;
    return true;
}

int kymo__piece_follows(const struct kymo_calls *calls, size_t last)
{
    const struct kymo_visitor nobody = {0};
    struct kymo_calls *next = kymo__alloc(sizeof(*next));
    if (!next)
        return -ENOMEM;
    int rc = kymo__calls_part(next, calls->stream.capture, calls->stream.thread, calls->from,
                              calls->to, last, KYMO__NO_SUMMARY, &nobody);
    rc = rc == 0 ? same_nests(&calls->nest, &next->nest) : rc == -ENOENT ? 0 : rc;
    kymo__calls_fini(next);
    kymo__free(next);
    return rc;
}

/* ---- joining ---- */

struct joining {
    const struct kymo_visitor *visitor;
    struct kymo_open_call *frames;
    size_t depth, capacity;
};

/* Are the calls open now the ones PIECE starts with? */
static bool fits(const struct joining *j, const struct kymo_piece *piece)
{
    if (j->depth != piece->begin_count)
        return false;
    for (size_t i = 0; i < j->depth; i++)
        if (j->frames[i].number != piece->begin[i].number ||
            j->frames[i].key != piece->begin[i].key || j->frames[i].start != piece->begin[i].start)
            return false;
    return true;
}

static int end_call(struct joining *j, const struct kymo_crossing *crossing,
                    const struct kymo_call_arg *args)
{
    if (!j->depth || j->frames[j->depth - 1].number != crossing->number)
        return -EAGAIN;
    struct kymo_open_call *frame = &j->frames[--j->depth];
    frame->inside += crossing->inside;
    const struct kymo_slice slice = {
        .frame = frame,
        .end = crossing->end,
        .self = crossing->end - frame->start - frame->inside,
        .depth = (uint32_t)j->depth,
        .leave = crossing->leave,
        .flags = (uint8_t)(crossing->flags | frame->flags),
        .args = args,
        .arg_count = crossing->arg_count,
    };
    return j->visitor->leave ? j->visitor->leave(j->visitor->arg, &slice) : 0;
}

/* Calls open before PIECE and still open at its end continue; the rest began in it. */
static int go_on(struct joining *j, const struct kymo_piece *piece)
{
    if (piece->end_count < j->depth)
        return -EAGAIN;
    for (size_t i = 0; i < j->depth; i++) {
        if (j->frames[i].number != piece->end[i].number)
            return -EAGAIN;
        j->frames[i].inside += piece->end[i].inside;
        j->frames[i].flags |= piece->end[i].flags;
    }
    for (size_t i = j->depth; i < piece->end_count; i++) {
        int rc = kymo__array_grow(&j->frames, &j->capacity, i, sizeof(*j->frames));
        if (rc < 0)
            return rc;
        j->frames[i] = piece->end[i];
        j->depth = i + 1;
        rc = j->visitor->enter ? j->visitor->enter(j->visitor->arg, &j->frames[i], (uint32_t)i) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

int kymo__pieces_join(const struct kymo_piece *pieces, size_t count,
                      const struct kymo_visitor *visitor)
{
    struct joining j = {.visitor = visitor};
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        const struct kymo_piece *piece = &pieces[i];
        const struct kymo_call_arg *args = piece->args;
        if (i && !fits(&j, piece))
            rc = -EAGAIN;
        for (size_t k = 0; rc >= 0 && k < piece->crossing_count; k++) {
            rc = end_call(&j, &piece->crossings[k], args);
            args += args ? piece->crossings[k].arg_count : 0;
        }
        if (rc >= 0)
            rc = go_on(&j, piece);
    }
    kymo__free(j.frames);
    return rc < 0 ? rc : 0;
}
