/* stream.c — see stream.h. */
#include "stream.h"

#include <errno.h>
#include <string.h>

#include "atomic.h"

void kymo__stream_init(struct kymo_stream *s, struct kymo_capture *capture, uint32_t thread,
                       uint64_t from, uint64_t to)
{
    const struct kymo_reader_thread *t = &capture->reader->threads[thread];
    memset(s, 0, sizeof(*s));
    s->capture = capture;
    s->thread = thread;
    s->from = from;
    s->to = to;
    s->run = t->run;
    s->run_end = (size_t)t->run + t->runs;
    s->gap_end = capture->reader->gap_count;
}

/* Return the first gap that begins after tick BEFORE. Gaps are in order of time. */
static size_t gap_after(const struct kymo_reader *r, uint64_t before)
{
    size_t low = 0, high = r->gap_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->gaps[middle].first_ticks <= before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void kymo__stream_seek(struct kymo_stream *s, size_t run, uint64_t before)
{
    s->run = run;
    s->gap = gap_after(s->capture->reader, before);
}

void kymo__stream_limit(struct kymo_stream *s, size_t run, uint64_t before)
{
    s->run_end = run;
    s->gap_end = gap_after(s->capture->reader, before);
}

void kymo__stream_fini(struct kymo_stream *s)
{
    kymo__buffer_fini(&s->encoded);
    kymo__decode_fini(&s->decoder);
    kymo__buffer_fini(&s->payload);
}

static void fill_gap(struct kymo_stream *s, struct kymo_event *event, uint64_t ticks,
                     uint64_t count, unsigned reason)
{
    *event = (struct kymo_event){
        .time = kymo__timebase_ns(&s->capture->base, ticks, &s->hint),
        .ticks = ticks,
        .thread = s->thread,
        .kind = KYMO_GAP,
        .detail = (uint16_t)reason,
        .name = "",
        .file = "",
        .id = count,
        .text = "",
    };
}

/* Open the next run that may overlap the window. Returns 1 if opened, 0 if none is left, 2 if it is
   damaged and EVENT reports that. */
static int open_run(struct kymo_stream *s, struct kymo_event *event)
{
    struct kymo_reader *r = s->capture->reader;
    for (; s->run < s->run_end; s->run++) {
        struct kymo_run *run = &r->runs[s->run];
        if (run->last_ticks < s->from || run->first_ticks >= s->to)
            continue;
        s->batch_len = s->batch_at = 0;
        s->track = run->type == KYMO__BLOCK_TRACK;
        const struct kymo_live_run *live = kymo__run_live(run);
        if (live) {
            s->live = live->records;
            s->live_left = live->length;
            s->open = true;
            return 1;
        }
        struct kymo_block_header header;
        int rc = kymo__reader_payload(r, run, &header, &s->encoded);
        if (rc == 0) {
            kymo__decode_block(&s->decoder, &header, s->encoded.bytes, s->encoded.len);
            s->open = true;
            return 1;
        }
        if (rc != KYMO_EBLOCK)
            return rc;
        fill_gap(s, event, run->first_ticks, run->events, KYMO_GAP_DAMAGED);
        s->run++;
        return 2;
    }
    return 0;
}

static void close_run(struct kymo_stream *s)
{
    s->open = false;
    s->live = NULL;
    s->run++;
}

/* Make at least one record of the open run available. Returns 1, 0 at its end, or a negative
   code. */
static int refill_stream(struct kymo_stream *s)
{
    if (s->batch_at < s->batch_len)
        return 1;
    s->batch_at = 0;
    if (s->live) {
        size_t n = sizeof(s->batch) / sizeof(s->batch[0]);
        n = s->live_left < n ? s->live_left : n;
        memcpy(s->batch, s->live, n * sizeof(s->batch[0]));
        s->live += n;
        s->live_left -= n;
        s->batch_len = (int)n;
    } else {
        size_t most = sizeof(s->batch) / sizeof(s->batch[0]);
        s->batch_len = s->whole ? kymo__decode_apart(&s->decoder, s->batch, most)
                                : kymo__decode(&s->decoder, s->batch, most);
    }
    int rc = s->batch_len;
    if (rc < 0)
        s->batch_len = 0;
    return rc > 0 ? 1 : rc;
}

/* Return what KEY refers to, or NULL if the file does not define it. */
static const struct kymo_reader_key *key_at(const struct kymo_reader *r, uint64_t key)
{
    if (!key || key >= r->key_count)
        return NULL;
    const struct kymo_reader_key *found = &r->keys[key];
    bool named = found->name && found->name < r->string_count && r->strings[found->name].text;
    return named ? found : NULL;
}

static void fill_text(const struct kymo_reader *r, struct kymo_event *event)
{
    const struct kymo_reader_key *key = key_at(r, event->id);
    event->text = key ? kymo__reader_string(r, key->name) : "(unknown)";
}

static void fill_name(const struct kymo_reader *r, struct kymo_event *event)
{
    if (!event->key)
        return;
    event->name = "(unknown)";
    const struct kymo_reader_key *key = key_at(r, event->key);
    if (!key)
        return;
    event->name = kymo__reader_string(r, key->name);
    event->file = kymo__reader_string(r, key->file);
    event->line = key->line;
    event->class_ = key->class;
}

/* Collect the payload that follows. Returns 1, 0 if there is none, or a negative code. */
static int take_payload(struct kymo_stream *s)
{
    unsigned used = 0, wanted = KYMO__BYTES, number;
    int rc;
    if (s->whole && !s->live) { /* the record before it is the last that was decoded */
        rc = kymo__values_get(&s->decoder.values, &s->payload, &number);
        return rc < 0 ? rc : number != 0;
    }
    s->payload.len = 0;
    while ((rc = refill_stream(s)) > 0 && kymo__word_kind(s->batch[s->batch_at].word) == wanted) {
        rc = kymo__chain_add(&s->payload, &s->batch[s->batch_at++], &used);
        if (rc < 0)
            return rc;
        wanted = KYMO__MORE;
    }
    kymo__chain_end(&s->payload, used);
    return rc < 0 ? rc : wanted == KYMO__MORE;
}

static void fill_payload(const struct kymo_stream *s, struct kymo_event *event)
{
    event->kind = KYMO_PAYLOAD;
    event->payload = s->payload.bytes;
    event->payload_bytes = s->payload.len;
}

/* Convert EVENT of a track, whose time and duration are on the track's clock. */
static void on_its_clock(struct kymo_stream *s, struct kymo_event *event)
{
    uint64_t time = event->ticks, end = time + event->id;
    event->time = kymo__track_ns(s->capture, s->thread, time, &s->hint);
    event->ticks = kymo__timebase_ticks(&s->capture->base, event->time);
    if (event->kind != KYMO_COMPLETE)
        return;
    kymo_ns until = kymo__track_ns(s->capture, s->thread, end < time ? UINT64_MAX : end, &s->hint);
    event->id = until > event->time ? (uint64_t)until - (uint64_t)event->time : 0;
}

/* Read the next event of the open run. Returns 1, 0 at its end, or a negative code. */
static int next_in_run(struct kymo_stream *s, struct kymo_event *event)
{
    if (kymo__unlikely(s->noted)) {
        *event = s->note;
        s->noted = false;
        return 1;
    }
    for (;;) {
        int rc = refill_stream(s);
        if (rc <= 0)
            return rc;
        struct kymo_record record = s->batch[s->batch_at++];
        unsigned kind = kymo__word_kind(record.word);
        if (kymo__kind_follows(kind))
            continue; /* its event was cut off with the previous run */
        uint64_t value = 0;
        unsigned detail = kymo__word_detail(record.word);
        if (kymo__kind_has_value(kind) || (kind == KYMO_ENTER && detail & KYMO_HAS_ID)) {
            rc = refill_stream(s);
            if (rc <= 0)
                return rc;
            if (kymo__word_kind(s->batch[s->batch_at].word) != KYMO__VALUE)
                continue; /* the process ended between the two */
            value = s->batch[s->batch_at++].ticks;
        }
        /* All members are named: to zero the others first, compilers use a slow instruction. */
        *event = (struct kymo_event){
            .size = 0,
            .time = kymo__timebase_ns(&s->capture->base, record.ticks, &s->hint),
            .ticks = record.ticks,
            .thread = s->thread,
            .kind = (uint16_t)kind,
            .detail = (uint16_t)(detail & ~KYMO_HAS_ID),
            .key = kymo__word_key(record.word),
            .class_ = 0,
            .line = 0,
            .name = "",
            .file = "",
            .id = value,
            .value = 0,
            .text = "",
            .payload = NULL,
            .payload_bytes = 0,
        };
        if (kymo__unlikely(s->track) && !(kind == KYMO_PAYLOAD && !record.ticks))
            on_its_clock(s, event);
        if (kind == KYMO_COUNTER) {
            event->id = 0;
            memcpy(&event->value, &value, sizeof(value));
        }
        fill_name(s->capture->reader, event);
        if (kymo__unlikely(kymo__kind_has_payload(kind))) {
            rc = take_payload(s);
            if (rc < 0)
                return rc;
            bool whole = rc > 0;
            if (kind == KYMO_PAYLOAD) {
                if (!whole)
                    continue; /* the process ended before writing it */
                if (!record.ticks) {
                    event->time = s->last_time;
                    event->ticks = s->last_ticks;
                }
                fill_payload(s, event);
                return 1;
            }
            event->kind = KYMO_INSTANT;
            s->note = *event;
            s->noted = whole;
            fill_payload(s, &s->note);
        }
        s->last_time = event->time;
        s->last_ticks = event->ticks;
        if (kymo__unlikely(kind == KYMO_ARG_TEXT))
            fill_text(s->capture->reader, event);
        return 1;
    }
}

/* Read the next recorded event, or one that reports a damaged run. */
static int next_recorded(struct kymo_stream *s, struct kymo_event *event)
{
    for (;;) {
        if (!s->open) {
            int rc = open_run(s, event);
            if (rc == 2)
                return 1;
            if (rc <= 0)
                return rc;
        }
        int rc = next_in_run(s, event);
        if (rc > 0)
            return rc;
        struct kymo_run *run = &s->capture->reader->runs[s->run];
        close_run(s);
        if (rc == KYMO_EBLOCK) {
            kymo__reader_damaged(s->capture->reader, run);
            fill_gap(s, event, run->first_ticks, run->events, KYMO_GAP_DAMAGED);
            return 1;
        }
        if (rc < 0)
            return rc;
    }
}

/* Find the thread's next gap that begins before TICKS. A thread's gaps are in order of time, as it
   reported them. */
static bool next_gap(struct kymo_stream *s, uint64_t ticks, struct kymo_event *event)
{
    const struct kymo_reader *r = s->capture->reader;
    for (; s->gap < s->gap_end; s->gap++) {
        const struct kymo_reader_gap *gap = &r->gaps[s->gap];
        if (gap->thread != s->thread)
            continue;
        if (gap->first_ticks > ticks)
            return false;
        fill_gap(s, event, gap->first_ticks, gap->count, gap->reason);
        s->gap++;
        return true;
    }
    return false;
}

int kymo__stream_next(struct kymo_stream *s, struct kymo_event *event)
{
    if (kymo__likely(s->gap == s->gap_end && !s->has_ahead))
        return next_recorded(s, event);
    if (!s->has_ahead) {
        int rc = next_recorded(s, &s->ahead);
        if (rc < 0)
            return rc;
        s->has_ahead = rc > 0;
    }
    if (next_gap(s, s->has_ahead ? s->ahead.ticks : UINT64_MAX, event))
        return 1;
    if (!s->has_ahead)
        return 0;
    *event = s->ahead;
    s->has_ahead = false;
    return 1;
}

size_t kymo__stream_at_hand(struct kymo_stream *s, uint64_t *limit,
                            const struct kymo_record **records)
{
    const struct kymo_reader *r = s->capture->reader;
    if (s->has_ahead || !s->open || s->noted)
        return 0;
    while (s->gap < s->gap_end && r->gaps[s->gap].thread != s->thread)
        s->gap++;
    if (s->gap < s->gap_end && r->gaps[s->gap].first_ticks < *limit)
        *limit = r->gaps[s->gap].first_ticks;
    *records = s->batch + s->batch_at;
    return (size_t)(s->batch_len - s->batch_at);
}

struct kymo_decoder *kymo__stream_decoder(struct kymo_stream *s)
{
    bool between = s->open && !s->live && !s->track && !s->has_ahead && !s->noted &&
                   s->batch_at >= s->batch_len &&
                   s->decoder.payload_at >= s->decoder.payload_records;
    return between ? &s->decoder : NULL;
}

void kymo__stream_skip(struct kymo_stream *s, size_t count)
{
    s->batch_at += (int)count;
}
