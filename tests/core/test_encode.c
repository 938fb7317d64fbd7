/* Records come back from the two columns as they were, and bytes that are no columns
   are refused without harm. */
#include "encode.h"

#include <math.h>

#include "check.h"
#include "decode.h"
#include "random.h"
#include "varint.h"

enum { MANY = 20000 };

struct columns {
    uint8_t *bytes; /* tokens, then times: just as long as they are, so that a sanitizer sees */
    size_t tokens, len;
    struct kymo_encoder encoder;
};

/* Encode COUNT records, some at a time if *STATE says so. */
static struct columns *encode(const struct kymo_record *records, size_t count, uint64_t *state)
{
    struct columns *c = calloc(1, sizeof(*c));
    uint8_t *tokens = malloc(count * KYMO__TOKEN_MAX + 1),
            *times = malloc(count * KYMO__TIME_MAX + 1);
    kymo__encode_begin(&c->encoder, tokens, times, NULL, NULL);
    for (size_t done = 0; done < count;) {
        size_t n = state ? 1 + random_next(state) % 1000 : count;
        n = n < count - done ? n : count - done;
        kymo__encode(&c->encoder, records + done, n);
        done += n;
    }
    size_t times_len = (size_t)(c->encoder.times - times);
    c->tokens = (size_t)(c->encoder.tokens - tokens);
    c->len = c->tokens + times_len;
    c->bytes = malloc(c->len + !c->len);
    memcpy(c->bytes, tokens, c->tokens);
    memcpy(c->bytes + c->tokens, times, times_len);
    free(tokens);
    free(times);
    return c;
}

static void columns_free(struct columns *c)
{
    free(c->bytes);
    free(c);
}

static void same(const struct kymo_record *got, const struct kymo_record *want, size_t i)
{
    if (got->ticks != want->ticks || got->word != want->word)
        CHECK_FAIL("record %zu is %" PRIx64 " %" PRIx64 ", was %" PRIx64 " %" PRIx64, i, got->ticks,
                   got->word, want->ticks, want->word);
}

/* Decode, some at a time if *STATE says so, and compare. */
static void decodes_to(const struct columns *c, const struct kymo_record *records, size_t count,
                       uint64_t *state)
{
    static struct kymo_decoder decoder;
    struct kymo_record batch[128];
    size_t done = 0;
    int n;
    kymo__decode_begin(&decoder, c->bytes, c->tokens, 0, c->len);
    while ((n = kymo__decode(&decoder, batch, state ? 1 + random_next(state) % 128 : 128)) > 0) {
        CHECK_LE(done + (size_t)n, count);
        for (int i = 0; i < n; i++, done++)
            same(&batch[i], &records[done], done);
    }
    CHECK_EQ(n, 0);
    CHECK_EQ(done, count);
    CHECK_EQ(kymo__decode(&decoder, batch, 128), 0);
    CHECK(decoder.times == decoder.times_end);
}

static void round_trip(const struct kymo_record *records, size_t count)
{
    uint64_t state = count;
    struct columns *c = encode(records, count, NULL), *parts = encode(records, count, &state);
    CHECK_EQ(parts->len, c->len);
    CHECK(memcmp(parts->bytes, c->bytes, c->len) == 0);
    size_t events = 0;
    for (size_t i = 0; i < count; i++)
        events += kymo__word_kind(records[i].word) != KYMO__VALUE;
    CHECK_EQ(c->encoder.records, events);
    decodes_to(c, records, count, NULL);
    decodes_to(c, records, count, &state);
    columns_free(parts);
    columns_free(c);
}

/* A tick after LAST: mostly a little later, sometimes anything. */
static uint64_t next_tick(uint64_t last, uint64_t *state)
{
    switch (random_next(state) % 16) {
    case 0:
        return random_next(state);
    case 1:
        return last - random_size(state) % 1000;
    case 2:
        return last;
    case 3:
        return random_next(state) & 1 ? 0 : UINT64_MAX;
    }
    return last + random_size(state) % 100000;
}

/* A record of any kind, with leaves that mostly match. */
static struct kymo_record any_record(uint64_t *ticks, uint32_t *open, size_t *depth,
                                     uint64_t *state)
{
    uint32_t key = random_next(state) % 8 ? (uint32_t)(random_next(state) % 5000)
                                          : (uint32_t)random_next(state);
    unsigned detail = random_next(state) % 4 ? 0 : random_next(state) & 0xff;
    uint64_t dice = random_next(state) % 16;
    *ticks = next_tick(*ticks, state);
    if (dice < 6) {
        open[(*depth)++] = key;
        return (struct kymo_record){*ticks, kymo_word(KYMO_ENTER, detail, key)};
    }
    if (dice < 12) {
        if (*depth && random_next(state) % 16)
            key = open[--*depth];
        return (struct kymo_record){*ticks, kymo_word(KYMO_LEAVE, detail, key)};
    }
    if (dice == 12)
        return (struct kymo_record){random_size(state), kymo_word(KYMO__VALUE, 0, 0)};
    unsigned kind = 1 + (unsigned)(random_next(state) % 255);
    if (kymo__kind_follows(kind) || kymo__kind_has_payload(kind))
        kind = KYMO_COUNTER;
    return (struct kymo_record){*ticks, kymo_word(kind, detail, key)};
}

static struct kymo_record *random_records(size_t count, uint64_t *state)
{
    struct kymo_record *records = malloc(count * sizeof(*records));
    uint32_t *open = malloc((count + 1) * sizeof(*open));
    size_t depth = 0;
    uint64_t ticks = random_size(state);
    for (size_t i = 0; i < count; i++)
        records[i] = any_record(&ticks, open, &depth, state);
    free(open);
    return records;
}

static void random_records_of_every_kind_come_back(void)
{
    uint64_t state = 1;
    for (int round = 0; round < 20; round++) {
        struct kymo_record *records = random_records(MANY, &state);
        round_trip(records, MANY);
        free(records);
    }
    round_trip(NULL, 0);
}

static void ticks_may_go_back_and_forth_by_any_distance(void)
{
    const uint64_t ticks[] = {0, 1, 0, UINT64_MAX, 0, UINT64_C(1) << 63, UINT64_MAX, 5, 4, 3, 3, 4};
    struct kymo_record records[12];
    for (int i = 0; i < 12; i++)
        records[i] = (struct kymo_record){ticks[i], kymo_word(KYMO_INSTANT, 0, 1)};
    round_trip(records, 12);
    struct columns *c = encode(records + 7, 5, NULL);
    CHECK_EQ(c->encoder.first_ticks, 3);
    CHECK_EQ(c->encoder.last_ticks, 5);
    columns_free(c);
}

/* Append to RECORDS, which has *N, one record a tick. */
static void append(struct kymo_record *records, size_t *n, unsigned kind, unsigned detail,
                   uint32_t key)
{
    records[*n] = (struct kymo_record){*n, kymo_word(kind, detail, key)};
    ++*n;
}

static void nesting_deeper_than_the_encoder_remembers_comes_back(void)
{
    enum { DEPTH = KYMO__ENCODE_DEPTH * 3 };
    struct kymo_record *records = malloc(sizeof(*records) * DEPTH * 4);
    size_t n = 0;
    /* Down, up to the remembered depth, down again, up to the top and beyond. */
    for (uint32_t i = 0; i < DEPTH; i++)
        append(records, &n, KYMO_ENTER, 0, i);
    for (uint32_t i = DEPTH; i-- > KYMO__ENCODE_DEPTH - 5;)
        append(records, &n, KYMO_LEAVE, 0, i);
    for (uint32_t i = 0; i < 20; i++)
        append(records, &n, KYMO_ENTER, 3, i);
    for (uint32_t i = 20; i-- > 0;)
        append(records, &n, KYMO_LEAVE, 2, i);
    for (uint32_t i = KYMO__ENCODE_DEPTH - 5; i-- > 0;)
        append(records, &n, KYMO_LEAVE, 0, i);
    for (uint32_t i = 0; i < 10; i++)
        append(records, &n, KYMO_LEAVE, 0, i);
    round_trip(records, n);
    free(records);
}

static void leaves_that_match_nothing_keep_their_keys(void)
{
    const struct kymo_record records[] = {
        {10, kymo_word(KYMO_LEAVE, 0, 1)},
        {20, kymo_word(KYMO_LEAVE, 255, UINT32_MAX)},
        {30, kymo_word(KYMO_ENTER, 0, 7)},
        {40, kymo_word(KYMO_LEAVE, 0, 8)},
        {50, kymo_word(KYMO_LEAVE, 0, 7)},
        {60, kymo_word(KYMO_LEAVE, 0, 7)},
        {70, kymo_word(KYMO_ENTER, 255, UINT32_MAX)},
        {80, kymo_word(KYMO_LEAVE, 255, UINT32_MAX)},
    };
    round_trip(records, sizeof(records) / sizeof(records[0]));
}

static void a_matching_call_takes_two_tokens_of_a_byte(void)
{
    const struct kymo_record records[] = {{5, kymo_word(KYMO_ENTER, 0, 15)},
                                          {10, kymo_word(KYMO_LEAVE, 0, 15)}};
    struct columns *c = encode(records, 2, NULL);
    CHECK_EQ(c->tokens, 2);
    CHECK_EQ(c->len, 4);
    columns_free(c);
}

static void values_keep_every_bit(void)
{
    const double numbers[] = {
        0,    -0.0,      1,         -1,  0.5,        1e15,       -1e15,
        1e16, INFINITY,  -INFINITY, NAN, 1e-310,     123456.0,   4503599627370497.0,
        -7,   999999999, 1e300,     2.5, 1e15 + 1.0, -1e15 - 1.0};
    enum { COUNT = sizeof(numbers) / sizeof(numbers[0]) };
    struct kymo_record records[COUNT + 64];
    for (int i = 0; i < COUNT; i++) {
        memcpy(&records[i].ticks, &numbers[i], sizeof(double));
        records[i].word = KYMO_VALUE_WORD;
    }
    for (int i = 0; i < 64; i++)
        records[COUNT + i] = (struct kymo_record){UINT64_C(1) << i, KYMO_VALUE_WORD};
    round_trip(records, COUNT + 64);
    struct columns *c = encode(records + 2, 1, NULL);
    CHECK_EQ(c->len, 1);                          /* a small whole number */
    CHECK_EQ(c->encoder.first_ticks, UINT64_MAX); /* a value is not a tick */
    CHECK_EQ(c->encoder.last_ticks, 0);
    columns_free(c);
}

static void no_record_takes_more_room_than_the_worst(void)
{
    static struct kymo_encoder e;
    uint8_t tokens[KYMO__TOKEN_MAX + 1], times[KYMO__TIME_MAX + 1];
    uint64_t state = 3;
    size_t most_tokens = 0, most_times = 0;
    kymo__encode_begin(&e, tokens, times, NULL, NULL);
    const unsigned kinds[] = {KYMO_ENTER, KYMO_LEAVE, KYMO_COUNTER, KYMO__VALUE, 255};
    for (int i = 0; i < 500000; i++) {
        uint32_t key = random_next(&state) & 1 ? UINT32_MAX : (uint32_t)random_next(&state);
        uint64_t ticks =
            random_next(&state) & 1 ? random_next(&state) : 0 - (random_next(&state) & 1);
        struct kymo_record record = {
            ticks, kymo_word(kinds[random_next(&state) % 5], random_next(&state) & 0xff, key)};
        e.tokens = tokens;
        e.times = times;
        kymo__encode(&e, &record, 1);
        most_tokens =
            (size_t)(e.tokens - tokens) > most_tokens ? (size_t)(e.tokens - tokens) : most_tokens;
        most_times =
            (size_t)(e.times - times) > most_times ? (size_t)(e.times - times) : most_times;
    }
    /* A short varint is written with a byte after it that may be overwritten. */
    CHECK_LE(most_tokens + 1, KYMO__TOKEN_MAX);
    CHECK_LE(most_times + 1, KYMO__TIME_MAX);
    printf("# at most %zu bytes of tokens and %zu of times\n", most_tokens, most_times);
}

static void the_end_of_a_chunk_is_found_wherever_it_is(void)
{
    struct kymo_chunk *chunk = calloc(1, sizeof(*chunk));
    for (size_t i = 0; i < KYMO__CHUNK_RECORDS; i++) {
        CHECK_EQ(kymo__chunk_count(chunk), i);
        chunk->records[i].ticks = 1; /* begun, but not finished */
        CHECK_EQ(kymo__chunk_count(chunk), i);
        chunk->records[i].word = 1;
    }
    CHECK_EQ(kymo__chunk_count(chunk), KYMO__CHUNK_RECORDS);
    free(chunk);
}

/* Decode anything to its end: no more records than bytes, and then an end. */
static int decode_all(const uint8_t *bytes, size_t tokens, size_t len)
{
    static struct kymo_decoder decoder;
    struct kymo_record batch[128];
    size_t done = 0;
    int n;
    kymo__decode_begin(&decoder, bytes, tokens, 0, len);
    while ((n = kymo__decode(&decoder, batch, 128)) > 0) {
        done += (size_t)n;
        CHECK_LE(done, tokens);
        for (int i = 0; i < n; i++)
            CHECK(batch[i].word != 0);
    }
    CHECK(n == 0 || n == KYMO_EBLOCK);
    return n;
}

static void garbage_is_refused_or_ends(void)
{
    uint64_t state = 4;
    int refused = 0;
    for (int round = 0; round < 20000; round++) {
        size_t len = random_next(&state) % 300, tokens = len ? random_next(&state) % len : 0;
        uint8_t *bytes = malloc(len + !len);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (uint8_t)random_next(&state) & (round & 1 ? 0xff : 0x7f);
        refused += decode_all(bytes, tokens, len) < 0;
        free(bytes);
    }
    CHECK_LE(1000, refused);
}

static void damaged_columns_are_refused_or_end(void)
{
    uint64_t state = 5;
    struct kymo_record *records = random_records(500, &state);
    struct columns *c = encode(records, 500, NULL);
    for (int round = 0; round < 20000; round++) {
        uint8_t saved[4];
        size_t at[4];
        for (int i = 0; i < 4; i++) {
            at[i] = random_next(&state) % c->len;
            saved[i] = c->bytes[at[i]];
            c->bytes[at[i]] = (uint8_t)random_next(&state);
        }
        decode_all(c->bytes, c->tokens, c->len);
        for (int i = 4; i-- > 0;)
            c->bytes[at[i]] = saved[i];
    }
    decodes_to(c, records, 500, NULL);
    columns_free(c);
    free(records);
}

static void columns_cut_short_give_a_beginning_of_the_records(void)
{
    uint64_t state = 6;
    struct kymo_record *records = random_records(200, &state);
    struct columns *c = encode(records, 200, NULL);
    for (size_t cut = 0; cut <= c->tokens; cut++) {
        static struct kymo_decoder decoder;
        struct kymo_record record;
        uint8_t *bytes = malloc(cut + c->len - c->tokens);
        memcpy(bytes, c->bytes, cut);
        memcpy(bytes + cut, c->bytes + c->tokens, c->len - c->tokens);
        kymo__decode_begin(&decoder, bytes, cut, 0, cut + c->len - c->tokens);
        for (size_t i = 0; kymo__decode(&decoder, &record, 1) > 0; i++)
            same(&record, &records[i], i);
        free(bytes);
    }
    for (size_t len = c->tokens; len < c->len; len++)
        CHECK_EQ(decode_all(c->bytes, c->tokens, len), KYMO_EBLOCK);
    columns_free(c);
    free(records);
}

/* Refused: TOKENS, each a varint, with enough times. */
static void refuses(const uint64_t *tokens, size_t count)
{
    uint8_t bytes[128], *end = bytes;
    for (size_t i = 0; i < count; i++)
        end = kymo__varint_put(end, tokens[i]);
    size_t len = (size_t)(end - bytes);
    memset(end, 1, 16);
    CHECK_EQ(decode_all(bytes, len, len + 16), KYMO_EBLOCK);
}

static void tokens_that_no_encoder_writes_are_refused(void)
{
    refuses((const uint64_t[]){KYMO__T_LEAVE}, 1);
    refuses((const uint64_t[]){8 | KYMO__T_ENTER, 256 << 3 | KYMO__T_LEAVE}, 2);
    refuses((const uint64_t[]){UINT64_C(1) << 35 | KYMO__T_ENTER}, 1);
    refuses((const uint64_t[]){UINT64_C(1) << 35 | KYMO__T_LEAVE_KEY, 0}, 2);
    refuses((const uint64_t[]){8 | KYMO__T_ENTER_DETAIL, 256}, 2);
    refuses((const uint64_t[]){8 | KYMO__T_LEAVE_KEY, 256}, 2);
    refuses((const uint64_t[]){KYMO__T_OTHER, 0, 1}, 3);
    refuses((const uint64_t[]){256 << 3 | KYMO__T_OTHER, 0, 1}, 3);
    refuses((const uint64_t[]){KYMO__VALUE << 3 | KYMO__T_OTHER, 0, 1}, 3);
    refuses((const uint64_t[]){KYMO_COUNTER << 3 | KYMO__T_OTHER, 256, 1}, 3);
    refuses((const uint64_t[]){KYMO_COUNTER << 3 | KYMO__T_OTHER, 0, UINT64_C(1) << 32}, 3);
    refuses((const uint64_t[]){8 | KYMO__T_VALUE, 1}, 2);
    uint64_t deep[KYMO__ENCODE_DEPTH + 2];
    for (int i = 0; i <= KYMO__ENCODE_DEPTH; i++)
        deep[i] = 8 | KYMO__T_ENTER;
    deep[KYMO__ENCODE_DEPTH + 1] = KYMO__T_LEAVE; /* of one that nobody remembers */
    uint8_t bytes[2 * (KYMO__ENCODE_DEPTH + 2)];
    for (int i = 0; i < KYMO__ENCODE_DEPTH + 2; i++) {
        bytes[i] = (uint8_t)deep[i];
        bytes[KYMO__ENCODE_DEPTH + 2 + i] = 1;
    }
    CHECK_EQ(decode_all(bytes, KYMO__ENCODE_DEPTH + 2, sizeof(bytes)), KYMO_EBLOCK);
}

static const struct check_case cases[] = {
    CHECK_CASE(random_records_of_every_kind_come_back),
    CHECK_CASE(ticks_may_go_back_and_forth_by_any_distance),
    CHECK_CASE(nesting_deeper_than_the_encoder_remembers_comes_back),
    CHECK_CASE(leaves_that_match_nothing_keep_their_keys),
    CHECK_CASE(a_matching_call_takes_two_tokens_of_a_byte),
    CHECK_CASE(values_keep_every_bit),
    CHECK_CASE(no_record_takes_more_room_than_the_worst),
    CHECK_CASE(the_end_of_a_chunk_is_found_wherever_it_is),
    CHECK_CASE(garbage_is_refused_or_ends),
    CHECK_CASE(damaged_columns_are_refused_or_end),
    CHECK_CASE(columns_cut_short_give_a_beginning_of_the_records),
    CHECK_CASE(tokens_that_no_encoder_writes_are_refused),
};
CHECK_MAIN(cases)
