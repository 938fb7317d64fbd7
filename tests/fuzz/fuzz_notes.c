/* Any bytes can be decoded as the columns of a block with columns for notes; every way to decode them
   finds the same, and what they decode to encodes to the same again.

   The first two bytes of an input say how many of the others are tokens, the next two how many of the
   rest are times; the others are the columns of notes and the values. */
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "entries.h"
#include "tokenfind.h"

enum { MOST = KYMO__BLOCK_RECORDS_MAX, BATCH = 100 };

struct columns {
    const uint8_t *bytes;
    size_t tokens, values, len;
};

static struct kymo_decoder decoder;
static struct kymo_record records[MOST];
static size_t record_count;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void begin_decoding(const struct columns *c)
{
    struct kymo_block_header header = {.type = KYMO__BLOCK_NOTES,
                                       .token_bytes = (uint32_t)c->tokens};
    for (unsigned i = 0; i < sizeof(header.value_bytes); i++)
        header.value_bytes[i] = (uint8_t)(c->values >> 8 * i);
    kymo__decode_block(&decoder, &header, c->bytes, c->len);
}

/* Decode C into OUT, which has room for MOST, *COUNT records. False if it is invalid, or has more than
   a block can have. */
static bool decode_columns(const struct columns *c, struct kymo_record *out, size_t *count)
{
    int n;
    *count = 0;
    begin_decoding(c);
    while (*count + BATCH < MOST && (n = kymo__decode(&decoder, out + *count, BATCH)) > 0)
        *count += (size_t)n;
    return *count + BATCH < MOST && n == 0;
}

static bool is_of_payload(const struct kymo_record *record)
{
    unsigned kind = kymo__word_kind(record->word);
    return kind == KYMO__BYTES || kind == KYMO__MORE;
}

/* The next of `records` that is no part of a payload. */
static const struct kymo_record *next_event(size_t *at)
{
    while (*at < record_count && is_of_payload(&records[*at]))
        ++*at;
    require(*at < record_count);
    return &records[(*at)++];
}

static bool is_same(const struct kymo_record *a, const struct kymo_record *b)
{
    return a->ticks == b->ticks && a->word == b->word;
}

/* ---- other ways to decode ---- */

/* The numbers of the note whose payload begins at RECORD are the COUNT at NUMBERS. */
static void check_numbers(const struct kymo_record *record, const uint64_t *numbers, unsigned count)
{
    uint8_t bytes[KYMO__NOTE_FIELDS * KYMO__VARINT_MAX], *end = bytes;
    unsigned number = kymo__chain_number(record);
    for (unsigned i = 0; i < count; i++)
        end = kymo__varint_put(end, numbers[i]);
    for (unsigned i = 0; i < kymo__chain_records((size_t)(end - bytes)); i++) {
        struct kymo_record same = kymo__chain_record(number, bytes, (size_t)(end - bytes), i);
        require(is_same(&same, &record[i]));
    }
}

static void take_numbers(const struct kymo_record *record, bool quick)
{
    struct kymo_number full[KYMO_FIELDS_MOST];
    uint64_t numbers[KYMO_FIELDS_MOST];
    unsigned count = quick ? kymo__values_plain(&decoder.values, numbers) : 0;
    if (!count) {
        require(kymo__values_numbers(&decoder.values, full, &count) == 0);
        for (unsigned i = 0; i < count; i++)
            numbers[i] = full[i].value;
    }
    if (decoder.values.form)
        check_numbers(record, numbers, count);
}

static void read_numbers_apart(const struct columns *c)
{
    struct kymo_record batch[BATCH];
    size_t at = 0;
    int n;
    begin_decoding(c);
    while ((n = kymo__decode_apart(&decoder, batch, BATCH)) > 0) {
        for (int i = 0; i < n; i++)
            require(is_same(next_event(&at), &batch[i]));
        if (kymo__kind_has_payload(kymo__word_kind(batch[n - 1].word)))
            take_numbers(&records[at], at % 2);
    }
    require(n == 0);
}

static void read_calls_alone(const struct columns *c)
{
    struct kymo_record batch[BATCH];
    size_t at = 0;
    int n;
    begin_decoding(c);
    while ((n = kymo__decode_bare(&decoder, batch, BATCH)) > 0)
        for (int i = 0; i < n; i++)
            if (!is_of_payload(&batch[i]))
                require(is_same(next_event(&at), &batch[i]));
    require(n == 0);
}

static void find_among_tokens(const struct columns *c)
{
    const struct kymo_wanted_kinds notes = {.kinds = UINT64_C(1) << KYMO__NOTE};
    bool there = false;
    for (size_t i = 0; i < record_count; i++)
        there |= kymo__word_kind(records[i].word) == KYMO__NOTE;
    if (there)
        require(kymo__tokens_find(c->bytes, c->bytes + c->tokens, &notes));
}

/* ---- encoding again ---- */

/* The plans that the decoder has seen. False if it has seen two for one schema. */
static bool collect_plans(struct kymo_plans *plans)
{
    static const struct kymo_plan of_layout[] = {
        [KYMO__SHAPE_FREE] = {1, {KYMO_FIELD_ADDRESS}},
        [KYMO__SHAPE_ALLOC] = {4,
                               {KYMO_FIELD_UINT, KYMO_FIELD_ADDRESS, KYMO_FIELD_STACK,
                                KYMO_FIELD_NAME}},
    };
    static bool known[KYMO_SCHEMAS_MOST + 1];
    const struct kymo_unvalues *values = &decoder.values;
    memset(known, 0, sizeof(known));
    plans->count = KYMO_SCHEMAS_MOST;
    for (size_t i = 0; i < values->count; i++) {
        plans->plan[values->plans[i].number] = values->plans[i].plan;
        known[values->plans[i].number] = true;
    }
    for (unsigned i = 1; i <= values->notes.past.forms; i++) {
        const struct kymo_note_form *form = &values->notes.past.form[i];
        struct kymo_plan *plan = &plans->plan[form->number];
        if (known[form->number] && kymo__plan_shape(plan) != form->layout)
            return false;
        *plan = of_layout[form->layout];
        known[form->number] = true;
    }
    return true;
}

/* Read the COUNT varints of the payload at RECORD into NUMBERS. False if it is not just these, as a
   recorder writes them. */
static bool plain_numbers(const struct kymo_record *record, size_t left, uint64_t *numbers,
                          unsigned count)
{
    static struct kymo_buffer payload;
    uint8_t again[KYMO__NOTE_FIELDS * KYMO__VARINT_MAX], *end = again;
    unsigned used = 0;
    size_t n = 0;
    do
        require(kymo__chain_add(&payload, &record[n++], &used) == 0);
    while (n < left && kymo__word_kind(record[n].word) == KYMO__MORE);
    kymo__chain_end(&payload, used);
    const uint8_t *at = payload.bytes;
    for (unsigned i = 0; at && i < count; i++) {
        at = kymo__varint_get(at, payload.bytes + payload.len, &numbers[i]);
        end = at ? kymo__varint_put(end, numbers[i]) : end;
    }
    return at == payload.bytes + payload.len && (size_t)(end - again) == payload.len &&
           memcmp(again, payload.bytes, payload.len) == 0;
}

/* Copy `records` to OUT as a thread records them: notes of memory with their numbers. Returns how many
   they are. */
static size_t record_again(const struct kymo_plans *plans, struct kymo_record *out)
{
    size_t count = 0;
    for (size_t i = 0; i < record_count; i++) {
        const struct kymo_record *next = &records[i + 1];
        uint64_t numbers[KYMO__NOTE_FIELDS];
        out[count++] = records[i];
        if (kymo__word_kind(records[i].word) != KYMO__NOTE || i + 1 == record_count ||
            kymo__word_kind(next->word) != KYMO__BYTES)
            continue;
        unsigned number = kymo__chain_number(next);
        uint8_t shape = kymo__plan_shape(&plans->plan[number]);
        if (shape == KYMO__SHAPE_FREE && plain_numbers(next, record_count - i - 1, numbers, 1))
            kymo__chain_store_one(&out[count++], number, numbers[0]);
        else if (shape == KYMO__SHAPE_ALLOC &&
                 plain_numbers(next, record_count - i - 1, numbers, 4) &&
                 kymo__chain_fits_four(numbers))
            kymo__chain_store_four(&out[count++], number, numbers);
        else
            continue;
        do
            i++;
        while (i + 1 < record_count && kymo__word_kind(records[i + 1].word) == KYMO__MORE);
    }
    return count;
}

static void encode_again(void)
{
    static struct kymo_plans plans;
    static struct kymo_record recorded[MOST], again[MOST];
    static struct kymo_encoder encoder;
    static struct kymo_notes notes;
    static uint8_t tokens[KYMO__BLOCK_BYTES_MAX + KYMO__NOTES_BYTES], times[MOST * KYMO__TIME_MAX],
        values[MOST * 38 + KYMO__VALUES_SLACK], room[KYMO__NOTES_BYTES];
    if (!encoder.seen) {
        encoder.seen = kymo__values_new();
        kymo__notes_init(&notes, room);
    }
    if (!collect_plans(&plans))
        return;
    size_t count = record_again(&plans, recorded);
    encoder.plans = &plans;
    kymo__encode_begin(&encoder, tokens, times, values, &notes);
    kymo__encode(&encoder, recorded, count);
    require(encoder.records == kymo__count_events(records, record_count));
    struct columns c = {.bytes = tokens, .tokens = (size_t)(encoder.tokens - tokens)};
    size_t time_bytes = (size_t)(encoder.times - times);
    memcpy(encoder.tokens, times, time_bytes);
    uint8_t *end = kymo__notes_end(&notes, encoder.tokens + time_bytes);
    memcpy(end, values, (size_t)(encoder.values - values));
    end += encoder.values - values;
    c.len = (size_t)(end - tokens);
    c.values = c.len - c.tokens - time_bytes;
    require(decode_columns(&c, again, &count) && count == record_count);
    require(count == 0 || memcmp(again, records, count * sizeof(*again)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint16_t lengths[2];
    if (size < sizeof(lengths))
        return 0;
    memcpy(lengths, bytes, sizeof(lengths));
    bytes += sizeof(lengths);
    size -= sizeof(lengths);
    struct columns c = {.bytes = bytes, .len = size};
    c.tokens = lengths[0] < size ? lengths[0] : size;
    c.values = size - c.tokens;
    c.values -= lengths[1] < c.values ? lengths[1] : c.values;
    if (!decode_columns(&c, records, &record_count)) {
        /* The other ways need only not go wrong. */
        begin_decoding(&c);
        while (kymo__decode_bare(&decoder, records, BATCH) > 0)
            continue;
        return 0;
    }
    read_numbers_apart(&c);
    read_calls_alone(&c);
    find_among_tokens(&c);
    require(decode_columns(&c, records, &record_count)); /* it has seen all plans */
    encode_again();
    return 0;
}
