/* heaplane.c — see heaplane.h. */
#include "heaplane.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

enum { RECORDS = 128 };

int kymo__heap_batch_init(struct kymo_heap_batch *batch)
{
    batch->events = kymo__alloc((KYMO__HEAP_BATCH + 1) * sizeof(*batch->events));
    return batch->events ? 0 : -ENOMEM;
}

void kymo__heap_batch_fini(struct kymo_heap_batch *batch)
{
    kymo__free(batch->events);
    kymo__free(batch->others);
    kymo__buffer_fini(&batch->texts);
    *batch = (struct kymo_heap_batch){0};
}

void kymo__heap_lane_init(struct kymo_heap_lane *lane, const struct kymo_reader *r,
                          const struct kymo_heap_schemas *schemas, uint32_t thread)
{
    const struct kymo_reader_thread *t = &r->threads[thread];
    *lane = (struct kymo_heap_lane){
        .schemas = schemas,
        .thread = thread,
        .space = (uint64_t)t->process << 48,
        .run = t->run,
        .run_end = (size_t)t->run + t->runs,
    };
}

void kymo__heap_lane_fini(struct kymo_heap_lane *lane)
{
    kymo__buffer_fini(&lane->encoded);
    kymo__buffer_fini(&lane->payload);
    if (lane->decoder)
        kymo__decode_fini(lane->decoder);
    kymo__free(lane->decoder);
    lane->decoder = NULL;
}

/* Can RUN have memory events? */
static bool may_have(const struct kymo_run *run)
{
    return !run->damaged && run->type != KYMO__BLOCK_TRACK && (run->is_live || run->values);
}

uint64_t kymo__heap_lane_start(const struct kymo_heap_lane *lane, const struct kymo_reader *r)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = lane->run; i < lane->run_end; i++)
        if (may_have(&r->runs[i]) && r->runs[i].first_ticks < first)
            first = r->runs[i].first_ticks;
    return first;
}

/* ---- events into the batch ---- */

/* The fields of a payload. */
struct fields {
    unsigned count;
    uint64_t numbers[KYMO_FIELDS_MOST + 1]; /* the last one is 0, for members without a field */
    struct kymo_number full[KYMO_FIELDS_MOST + 1]; /* set if the schema has a text */
};

/* The text's address is set when the batch is complete, because the buffer may move. */
static int add_other(const struct kymo_heap_lane *lane, struct kymo_heap_batch *batch,
                     const struct kymo_heap_schema *schema, const struct fields *fields,
                     uint64_t ticks)
{
    if (kymo__array_grow(&batch->others, &batch->other_capacity, batch->other_count,
                         sizeof(*batch->others)) < 0)
        return -ENOMEM;
    struct kymo_heap_other *other = &batch->others[batch->other_count++];
    *other = (struct kymo_heap_other){
        .ticks = ticks,
        .address = fields->numbers[schema->at[KYMO__HEAP_ADDRESS]],
        .bytes = fields->numbers[schema->at[KYMO__HEAP_BYTES]],
        .from = fields->numbers[schema->at[KYMO__HEAP_FROM]],
        .owned = fields->numbers[schema->at[KYMO__HEAP_OWNED]],
        .stack = (uint32_t)fields->numbers[schema->at[KYMO__HEAP_STACK]],
        .function = (uint32_t)fields->numbers[schema->at[KYMO__HEAP_FUNCTION]],
        .thread = lane->thread,
        .kind = schema->kind,
        .text_at = batch->texts.len,
    };
    if (schema->at[KYMO__HEAP_TEXT] == KYMO_FIELDS_MOST)
        return 0;
    const struct kymo_number *text = &fields->full[schema->at[KYMO__HEAP_TEXT]];
    if (!text->bytes)
        return 0;
    other->text_length = (uint32_t)text->value;
    return kymo__buffer_add(&batch->texts, text->bytes, text->value);
}

/* Threads record almost in order of time. Move an event that is not back to its place in the batch,
   past none that is equal. */
static void settle_batch(struct kymo_heap_batch *batch)
{
    size_t i = batch->count - 1;
    struct kymo_heap_event event = batch->events[i];
    for (; i > 0 && batch->events[i - 1].ticks > event.ticks; i--)
        batch->events[i] = batch->events[i - 1];
    batch->events[i] = event;
    batch->reordered++;
}

static inline int add_event(const struct kymo_heap_lane *lane, struct kymo_heap_batch *batch,
                            const struct kymo_heap_schema *schema, const struct fields *fields,
                            uint64_t ticks)
{
    if (fields->count < schema->fields)
        return 0;
    struct kymo_heap_event *event = &batch->events[batch->count];
    const uint64_t *numbers = fields->numbers;
    uint64_t bytes = numbers[schema->at[KYMO__HEAP_BYTES]];
    *event = (struct kymo_heap_event){
        .ticks = ticks,
        .address = numbers[schema->at[KYMO__HEAP_ADDRESS]] ^ lane->space,
        .bytes =
            (bytes < KYMO__HEAP_BYTES_MOST ? bytes : KYMO__HEAP_BYTES_MOST) & KYMO__HEAP_BYTES_MOST,
        .kind = schema->kind,
        .stack = (uint32_t)numbers[schema->at[KYMO__HEAP_STACK]],
        .function = (uint32_t)numbers[schema->at[KYMO__HEAP_FUNCTION]],
    };
    if (schema->kind == KYMO__HEAP_REALLOC && batch->count && event[-1].kind == KYMO__HEAP_FREE &&
        event[-1].address == (numbers[schema->at[KYMO__HEAP_FROM]] ^ lane->space)) {
        event[-1].moves = 1;
    } else if (schema->kind > KYMO__HEAP_UNMAP) {
        event->address = batch->other_count;
        int rc = add_other(lane, batch, schema, fields, ticks);
        if (rc < 0)
            return rc;
    }
    if (batch->count++ && event[-1].ticks > ticks)
        settle_batch(batch);
    return 0;
}

static bool is_full(const struct kymo_heap_batch *batch)
{
    return batch->count > KYMO__HEAP_BATCH ||
           (batch->count == KYMO__HEAP_BATCH &&
            batch->events[batch->count - 1].kind != KYMO__HEAP_FREE);
}

/* ---- runs ---- */

/* Open the next run. Returns 1, 0 if none is left, or a negative code. */
static int open_run(struct kymo_heap_lane *lane, struct kymo_reader *r)
{
    for (; lane->run < lane->run_end; lane->run++) {
        struct kymo_run *run = &r->runs[lane->run];
        if (!may_have(run))
            continue;
        const struct kymo_live_run *live = kymo__run_live(run);
        if (live) {
            lane->open = true;
            lane->live = live->records;
            lane->live_left = live->length;
            return 1;
        }
        struct kymo_block_header header;
        int rc = kymo__reader_payload(r, run, &header, &lane->encoded);
        if (rc == KYMO_EBLOCK)
            continue; /* counted as damage */
        if (rc == 0 && !lane->decoder)
            rc = (lane->decoder = kymo__alloc_zeroed(sizeof(*lane->decoder))) ? 0 : -ENOMEM;
        if (rc < 0)
            return rc;
        kymo__decode_block(lane->decoder, &header, lane->encoded.bytes, lane->encoded.len);
        lane->open = true;
        return 1;
    }
    return 0;
}

static void close_run(struct kymo_heap_lane *lane)
{
    lane->open = false;
    lane->live = NULL;
    lane->run++;
}

static void take_numbers(struct fields *fields)
{
    for (unsigned i = 0; i < fields->count; i++)
        fields->numbers[i] = fields->full[i].value;
}

/* Take the payload of RECORD, which was decoded last. */
static inline int read_payload(struct kymo_heap_lane *lane, struct kymo_heap_batch *batch,
                               struct fields *fields, const struct kymo_record *record)
{
    const struct kymo_heap_schema *schema =
        kymo__heap_schema_of(lane->schemas, kymo__word_key(record->word));
    bool text = schema && schema->at[KYMO__HEAP_TEXT] < KYMO_FIELDS_MOST;
    fields->count = text ? 0 : kymo__values_plain(&lane->decoder->values, fields->numbers);
    if (!fields->count) {
        int rc = kymo__values_numbers(&lane->decoder->values, fields->full, &fields->count);
        if (rc < 0)
            return rc;
        take_numbers(fields);
    }
    return schema ? add_event(lane, batch, schema, fields, record->ticks) : 0;
}

/* A payload has the time of its event. The COUNT records decoded last have both, unless the event
   ends a block and the payload begins the next one, which then does not know the time. */
static void keep_time(struct kymo_heap_lane *lane, struct kymo_record *records, int count)
{
    int at = count - 1;
    while (at > 0 && kymo__kind_follows(kymo__word_kind(records[at].word)))
        at--;
    if (at == 0 && kymo__word_kind(records[0].word) == KYMO_PAYLOAD && !records[0].ticks)
        records[0].ticks = lane->last_ticks;
    lane->last_ticks = records[at].ticks;
}

/* Add the next events of a block. Returns 1, 0 at its end, or a negative code. */
static int read_block(struct kymo_heap_lane *lane, struct kymo_heap_batch *batch)
{
    struct kymo_record records[RECORDS];
    struct fields fields;
    fields.numbers[KYMO_FIELDS_MOST] = 0;
    while (!is_full(batch)) {
        int n = kymo__decode_apart(lane->decoder, records, RECORDS);
        if (n <= 0)
            return n;
        unsigned kind = kymo__word_kind(records[n - 1].word);
        if (kind != KYMO__NOTE)
            keep_time(lane, records, n);
        if (!kymo__kind_has_payload(kind))
            continue;
        n = read_payload(lane, batch, &fields, &records[n - 1]);
        if (n < 0)
            return n;
    }
    return 1;
}

/* The same for records in memory. */
static int read_live(struct kymo_heap_lane *lane, struct kymo_heap_batch *batch)
{
    if (!lane->live_left)
        return 0;
    struct kymo_record record = *lane->live++;
    lane->live_left--;
    unsigned kind = kymo__word_kind(record.word), used = 0;
    if (kymo__kind_follows(kind))
        return 1;
    if (kind != KYMO_PAYLOAD || record.ticks)
        lane->last_ticks = record.ticks;
    if (!kymo__kind_has_payload(kind))
        return 1;
    lane->payload.len = 0;
    for (unsigned wanted = KYMO__BYTES;
         lane->live_left && kymo__word_kind(lane->live->word) == wanted; wanted = KYMO__MORE) {
        int rc = kymo__chain_add(&lane->payload, lane->live++, &used);
        if (rc < 0)
            return rc;
        lane->live_left--;
    }
    kymo__chain_end(&lane->payload, used);
    struct fields fields;
    const struct kymo_heap_schema *schema =
        kymo__heap_schema_of(lane->schemas, kymo__word_key(record.word));
    if (!schema ||
        !kymo__plan_numbers(schema->plan, lane->payload.bytes, lane->payload.len, fields.full))
        return 1; /* another payload, or the process ended while writing it */
    fields.count = schema->plan->count;
    fields.numbers[KYMO_FIELDS_MOST] = 0;
    take_numbers(&fields);
    int rc = add_event(lane, batch, schema, &fields, lane->last_ticks);
    return rc < 0 ? rc : 1;
}

int kymo__heap_lane_fill(struct kymo_heap_lane *lane, struct kymo_reader *r,
                         struct kymo_heap_batch *batch)
{
    batch->count = batch->other_count = 0;
    batch->texts.len = 0;
    while (!is_full(batch)) {
        int rc = lane->open ? 1 : open_run(lane, r);
        if (rc < 0)
            return rc;
        if (rc == 0)
            break;
        rc = lane->live ? read_live(lane, batch) : read_block(lane, batch);
        if (rc == KYMO_EBLOCK)
            kymo__reader_damaged(r, &r->runs[lane->run]);
        else if (rc < 0)
            return rc;
        if (rc <= 0)
            close_run(lane);
    }
    for (size_t i = 0; batch->texts.len && i < batch->other_count; i++)
        batch->others[i].text = (const char *)batch->texts.bytes + batch->others[i].text_at;
    return 0;
}
