/* tracker.c — see tracker.h. */
#include "tracker.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "checkpoint.h"

enum {
    ENOUGH = 48 << 10,     /* bytes of records per summary */
    ENOUGH_LAST = 8 << 10, /* at the end of a lane; a summary of less takes more than its share */
};

/* Callbacks of the nest, for calls that begin or end otherwise than by an event of their own. */

static int began(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct kymo_tracker *t = arg;
    (void)frame;
    kymo__open_column_began(&t->column, depth);
    return 0;
}

static int ended(void *arg, const struct kymo_slice *slice)
{
    struct kymo_tracker *t = arg;
    kymo__open_column_account(&t->column, slice->frame, slice->depth, (uint64_t)t->nest.now);
    return 0;
}

static int close_column(struct kymo_tracker *t)
{
    return kymo__open_column_close(&t->column, &t->nest, (uint64_t)t->nest.now, &t->cells);
}

/* ---- records ---- */

void kymo__tracker_init(struct kymo_tracker *t, bool (*is_span)(void *, uint32_t), void *arg)
{
    memset(t, 0, sizeof(*t));
    t->nest.telling = true;
    t->nest.enter = began;
    t->nest.leave = ended;
    t->nest.arg = t;
    t->nest.is_span = is_span;
    t->nest.span_arg = arg;
    t->enough = ENOUGH;
    t->column.events_most = KYMO__COLUMN_EVENTS;
}

void kymo__tracker_fini(struct kymo_tracker *t)
{
    kymo__nest_fini(&t->nest);
    kymo__buffer_fini(&t->state);
    kymo__buffer_fini(&t->payload);
    kymo__buffer_fini(&t->chain);
    kymo__cells_fini(&t->cells);
    kymo__open_column_fini(&t->column);
    kymo__free(t->gaps);
}

int kymo__tracker_gap(struct kymo_tracker *t, uint64_t first_ticks)
{
    int rc = kymo__array_grow(&t->gaps, &t->gap_capacity, t->gap_count, sizeof(*t->gaps));
    if (rc < 0)
        return rc;
    if (first_ticks <= (uint64_t)t->nest.now) {
        /* A reader meets the gap before records that were tracked without it. */
        t->uncertain = true;
        memmove(t->gaps + 1, t->gaps, t->gap_count++ * sizeof(*t->gaps));
        t->gaps[0] = first_ticks;
        t->gap_at++;
        return 0;
    }
    size_t at = t->gap_count++;
    for (; at > t->gap_at && t->gaps[at - 1] > first_ticks; at--)
        t->gaps[at] = t->gaps[at - 1];
    t->gaps[at] = first_ticks;
    return 0;
}

/* The waiting event gets no more arguments; those it got are dropped. */
static void release_event(struct kymo_nest *n)
{
    if (n->held_args) {
        n->arg_len -= n->held_args;
        n->held_args = 0;
    }
    n->receiver = KYMO__NOBODY;
}

/* Arguments that follow belong to an event that is not an open call. */
static void hold_event(struct kymo_nest *n)
{
    n->receiver = KYMO__HELD;
}

static void move_on(struct kymo_nest *n, uint64_t ticks)
{
    n->now = (kymo_ns)ticks > n->now ? (kymo_ns)ticks : n->now;
}

/* Events are missing from TICKS on. */
static int take_gap(struct kymo_tracker *t, uint64_t ticks)
{
    struct kymo_nest *n = &t->nest;
    release_event(n);
    move_on(n, ticks);
    int rc = n->waiting ? kymo__nest_go_on(n) : 0;
    kymo__nest_gap(n);
    hold_event(n);
    return rc;
}

/* Handle the gaps that begin at TICKS or before. */
static int take_gaps(struct kymo_tracker *t, uint64_t ticks)
{
    int rc = 0;
    while (rc == 0 && t->gap_at < t->gap_count && t->gaps[t->gap_at] <= ticks)
        rc = take_gap(t, t->gaps[t->gap_at++]);
    return rc;
}

static int take_enter(struct kymo_tracker *t, uint32_t key, unsigned detail, uint64_t id)
{
    struct kymo_nest *n = &t->nest;
    int rc = kymo__nest_open(n, key, detail, id);
    if (rc == 0)
        kymo__open_column_began(&t->column, n->depth - 1);
    return rc;
}

/* A reader reports a call when its arguments are known; here nobody wants those. */
static int take_leave(struct kymo_tracker *t, uint32_t key, unsigned detail)
{
    struct kymo_nest *n = &t->nest;
    if (!kymo__nest_is_top(n, key))
        return kymo__nest_leave_below(n, key, detail);
    const struct kymo_open_call *frame = &n->frames[n->depth - 1];
    kymo__open_column_account(&t->column, frame, n->depth - 1, (uint64_t)n->now);
    kymo__nest_pop(n);
    n->arg_len = frame->args;
    hold_event(n);
    bool settled = !n->depth || !(frame[-1].flags & KYMO__ENDED_INSIDE);
    return settled ? 0 : kymo__nest_settle(n);
}

/* Same as in a reader: see calls.c. */
static int take_event(struct kymo_tracker *t, uint64_t ticks, uint64_t word, uint64_t value)
{
    struct kymo_nest *n = &t->nest;
    unsigned kind = kymo__word_kind(word), detail = kymo__word_detail(word) & ~KYMO_HAS_ID;
    uint32_t key = kymo__word_key(word);
    int rc = take_gaps(t, ticks);
    if (rc < 0)
        return rc;
    if (kind == KYMO_ARG || kind == KYMO_ARG_TEXT)
        return kymo__nest_argument(n, key, kind == KYMO_ARG_TEXT, value);
    if (kind == KYMO_SAMPLE)
        return 0;
    release_event(n);
    if (kind == KYMO_RESYNC) {
        move_on(n, value < ticks ? value : ticks);
        rc = kymo__nest_pause(n);
    }
    move_on(n, ticks);
    if (rc == 0 && n->waiting && kind != KYMO_RESYNC &&
        !(kind == KYMO_ENTER && detail == KYMO__ENTER_OPEN))
        rc = kymo__nest_go_on(n);
    if (rc < 0)
        return rc;
    if (kind == KYMO_ENTER)
        return take_enter(t, key, detail, value);
    if (kind == KYMO_LEAVE)
        return take_leave(t, key, detail);
    hold_event(n);
    return 0;
}

int kymo__tracker_event(struct kymo_tracker *t, uint64_t ticks, uint64_t word, uint64_t value)
{
    int rc = take_event(t, ticks, word, value);
    t->uncertain &= t->nest.depth != 0;
    if (rc == 0 && ++t->column.events >= t->column.events_most)
        rc = close_column(t);
    return rc;
}

/* A payload is complete. Only open calls keep theirs. */
static int end_payload(struct kymo_tracker *t)
{
    uint32_t key = t->chain_key;
    t->chain_key = 0;
    if (!key || !t->chain.len || t->nest.receiver != KYMO__OPENED)
        return 0;
    kymo__chain_end(&t->chain, t->chain_used);
    return kymo__nest_payload(&t->nest, key, t->chain.bytes, t->chain.len);
}

static int take_payload(struct kymo_tracker *t, const struct kymo_record *record)
{
    if (kymo__word_kind(record->word) != KYMO_PAYLOAD)
        return t->chain_key ? kymo__chain_add(&t->chain, record, &t->chain_used) : 0;
    int rc = end_payload(t);
    t->chain_key = kymo__word_key(record->word);
    t->chain.len = 0;
    return rc;
}

int kymo__tracker_damage(struct kymo_tracker *t, uint64_t ticks)
{
    int rc = take_gaps(t, ticks);
    return rc < 0 ? rc : take_gap(t, ticks);
}

static int take_record(struct kymo_tracker *t, const struct kymo_record *record)
{
    uint64_t word = record->word;
    unsigned kind = kymo__word_kind(word);
    if (kind == KYMO_PAYLOAD || kind == KYMO__BYTES || kind == KYMO__MORE)
        return take_payload(t, record);
    int rc = t->chain_key ? end_payload(t) : 0;
    if (rc < 0)
        return rc;
    struct kymo_record whole = t->whole;
    t->whole.word = 0; /* if no value comes, the process ended between an event and its value */
    if (kind == KYMO__VALUE)
        return whole.word ? kymo__tracker_event(t, whole.ticks, whole.word, record->ticks) : 0;
    if (!kymo__kind_has_value(kind) &&
        !(kind == KYMO_ENTER && kymo__word_detail(word) & KYMO_HAS_ID))
        return kymo__tracker_event(t, record->ticks, word, 0);
    t->whole = *record;
    return 0;
}

/* Until which tick plain calls do nothing but begin and end; 0 if something is unfinished. */
static uint64_t plain_until(const struct kymo_tracker *t)
{
    if (t->whole.word || t->chain_key || t->nest.waiting || t->uncertain)
        return 0;
    return t->gap_at < t->gap_count ? t->gaps[t->gap_at] : UINT64_MAX;
}

/* Take enters and leaves as long as nothing is special about them: no values, no gap before tick
   UNTIL, and calls that nest properly and have a cell. That is nearly all of a recording, so
   everything is in registers meanwhile. Returns how many of COUNT records were taken. */
static size_t take_plain(struct kymo_tracker *t, const struct kymo_record *records, size_t count,
                         uint64_t until)
{
    const uint64_t has_id = (uint64_t)KYMO_HAS_ID << 48;
    struct kymo_nest *n = &t->nest;
    struct kymo_open_column *c = &t->column;
    const size_t room = c->events_most - 1 - c->events;
    const uint32_t low = n->doubtful; /* calls below are treated with care */
    const uint32_t high = n->capacity > c->depths ? c->depths : (uint32_t)n->capacity - 1;
    if (n->depth > c->depths || !n->capacity)
        return 0;
    uint32_t depth = n->depth;
    struct kymo_open_call *frame = n->frames + depth; /* above the top */
    struct kymo_open_cell *cell = c->cells + depth;
    kymo_ns now = n->now;
    size_t args = n->arg_len - n->held_args, i = 0;
    uint64_t entered = n->entered;
    enum kymo_receiver receiver = n->receiver;
    for (count = count < room ? count : room; i < count; i++) {
        const kymo_ns ticks = (kymo_ns)records[i].ticks;
        const uint64_t word = records[i].word;
        const uint32_t key = kymo__word_key(word);
        if (kymo__unlikely((uint64_t)ticks >= until))
            break;
        if (kymo__word_kind(word) == KYMO_ENTER) {
            if (kymo__unlikely(depth >= high || word & has_id))
                break;
            now = ticks > now ? ticks : now;
            kymo__nest_fill(frame++, key, kymo__word_detail(word), now, 0, ++entered,
                            (uint32_t)args);
            (*kymo__nest_active(n, key))++;
            cell++->count++;
            depth++;
            receiver = KYMO__OPENED;
        } else {
            if (kymo__unlikely(kymo__word_kind(word) != KYMO_LEAVE || depth <= low ||
                               frame[-1].key != key ||
                               (depth > 1 && frame[-2].flags & KYMO__ENDED_INSIDE)))
                break;
            now = ticks > now ? ticks : now;
            kymo__open_cell_account(--cell, --frame, c->begin, (uint64_t)now);
            (*kymo__nest_active(n, key))--;
            args = frame->args;
            depth--;
            receiver = KYMO__HELD;
        }
    }
    if (!i)
        return 0;
    n->depth = depth;
    n->now = now;
    n->arg_len = args;
    n->held_args = 0;
    n->entered = entered;
    n->receiver = receiver;
    c->events += (uint32_t)i;
    return i;
}

/* The same for notes, whose payloads nobody wants. */
static size_t take_notes(struct kymo_tracker *t, const struct kymo_record *records, size_t count,
                         uint64_t until)
{
    struct kymo_nest *n = &t->nest;
    struct kymo_open_column *c = &t->column;
    const size_t room = c->events_most - 1 - c->events;
    size_t i = 0, events = 0;
    if (!count || kymo__word_kind(records[0].word) != KYMO__NOTE || records[0].ticks >= until)
        return 0;
    kymo_ns now = n->now;
    for (; i < count; i++) {
        unsigned kind = kymo__word_kind(records[i].word);
        if (kind == KYMO__BYTES || kind == KYMO__MORE)
            continue;
        if (kind != KYMO__NOTE || events == room || records[i].ticks >= until)
            break;
        now = (kymo_ns)records[i].ticks > now ? (kymo_ns)records[i].ticks : now;
        events++;
    }
    if (events) {
        release_event(n);
        hold_event(n);
        n->now = now;
        c->events += (uint32_t)events;
    }
    return i;
}

int kymo__tracker_records(struct kymo_tracker *t, const struct kymo_record *records, size_t count)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count;) {
        uint64_t until = plain_until(t);
        i += until ? take_plain(t, records + i, count - i, until) : 0;
        i += until ? take_notes(t, records + i, count - i, until) : 0;
        if (i < count)
            rc = take_record(t, &records[i++]);
    }
    return rc;
}

/* Can the state be cut before an event of KIND? */
static bool may_cut(const struct kymo_tracker *t, unsigned kind)
{
    bool belongs =
        kind == KYMO_ARG || kind == KYMO_ARG_TEXT || kind == KYMO_PAYLOAD || kind == KYMO_SAMPLE;
    return !t->nest.waiting && !t->uncertain && !(belongs && t->nest.receiver != KYMO__NOBODY);
}

static int begin_span(struct kymo_tracker *t, const struct kymo_block_header *header,
                      const struct kymo_record *first)
{
    struct kymo_nest *n = &t->nest;
    bool cut = may_cut(t, kymo__word_kind(first->word));
    if (cut)
        release_event(n);
    t->span = *header;
    t->span.chunks = t->span.records = 0;
    t->stored = 0;
    t->state.len = 0;
    t->column.events_most = KYMO__COLUMN_EVENTS;
    t->cells.count = t->cells.cell_count = 0;
    /* Nothing has happened yet: time starts with the first event. */
    t->column.begin = n->now || n->depth ? (uint64_t)n->now : header->first_ticks;
    t->cells.begin = t->column.begin;
    return cut ? kymo__checkpoint_put(&t->state, n, t->gap_at) : kymo__checkpoint_none(&t->state);
}

int kymo__tracker_begin(struct kymo_tracker *t, const struct kymo_block_header *header, size_t len,
                        const struct kymo_record *first)
{
    int rc = end_payload(t);
    if (rc == 0 && !t->span.chunks)
        rc = begin_span(t, header, first);
    t->next_chunk = header->first_chunk + header->chunks;
    t->span.chunks += header->chunks;
    t->span.records += header->records;
    if (header->first_ticks < t->span.first_ticks)
        t->span.first_ticks = header->first_ticks;
    if (header->last_ticks > t->span.last_ticks)
        t->span.last_ticks = header->last_ticks;
    t->stored += len;
    return rc;
}

int kymo__tracker_end(struct kymo_tracker *t)
{
    t->whole.word = 0; /* a value in another block does not belong to it */
    return 0;
}

/* ---- summaries ---- */

static int pack_summary(struct kymo_tracker *t, struct kymo_packer *packer,
                        struct kymo_packed *packed)
{
    t->payload.len = 0;
    int rc = kymo__buffer_add(&t->payload, t->state.bytes, t->state.len);
    if (rc == 0)
        rc = kymo__cells_put(&t->payload, &t->cells);
    if (rc == 0)
        rc = t->payload.len <= KYMO__PACK_BYTES ? 0 : -E2BIG;
    return rc < 0 ? rc
                  : kymo__pack_summary(packer, &t->span, t->payload.bytes, t->payload.len, packed);
}

int kymo__tracker_pack(struct kymo_tracker *t, struct kymo_packer *packer, bool last,
                       struct kymo_packed *packed)
{
    if (!t->span.chunks || t->stored < (last ? ENOUGH_LAST : t->enough))
        return 0;
    int rc = t->column.events ? close_column(t) : 0;
    uint64_t room = t->stored / KYMO__SUMMARY_SHARE;
    while (rc == 0) {
        rc = pack_summary(t, packer, packed);
        if (rc == 0 && packed->len <= room) {
            t->span.chunks = 0;
            t->enough = ENOUGH;
            return 1;
        }
        if ((rc < 0 && rc != -E2BIG) || t->cells.count <= 1)
            break;
        rc = 0;
        kymo__cells_halve(&t->cells);
        t->column.events_most *= 2;
    }
    if (rc < 0 && rc != -E2BIG)
        return rc;
    /* The state alone is too large for so short a range. */
    t->enough = t->stored * 2;
    return 0;
}
