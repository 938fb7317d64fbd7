/* Notes of memory that have columns of their own come back as they were recorded, among any others. */
#include "notes.h"

#include <kymo/kymo.h>

#include "block.h"
#include "check.h"
#include "decode.h"
#include "entries.h"
#include "random.h"
#include "tokenfind.h"
#include "varint.h"

enum {
    FREE = 1,
    ALLOC = 2,
    OTHER = 3,  /* four numbers, but not those of an allocation */
    MORE = 4,   /* from here on: as FREE, with more of them than there can be forms, */
    FAR = 40,   /* and up to here, where a schema gets none */
    KEYS = 100, /* the key of a schema is its number and this */
    MANY = 20000,
    LONGEST = 8 /* records of an event */
};

static struct kymo_plans *plans;
static struct kymo_packer *packer;
static struct kymo_unpacker *unpacker;
static struct kymo_decoder decoder;
static struct kymo_buffer block; /* the last one that was packed, without its header */
static struct kymo_block_header header;

static void set_plan(unsigned number, const uint8_t *types, uint8_t count)
{
    plans->plan[number].count = count;
    memcpy(plans->plan[number].type, types, count);
}

static void make_packer(void)
{
    static const uint8_t alloc[] = {KYMO_FIELD_UINT, KYMO_FIELD_ADDRESS, KYMO_FIELD_STACK,
                                    KYMO_FIELD_NAME};
    static const uint8_t other[] = {KYMO_FIELD_UINT, KYMO_FIELD_ADDRESS, KYMO_FIELD_ID,
                                    KYMO_FIELD_NAME};
    plans = calloc(1, sizeof(*plans));
    for (unsigned i = 1; i <= FAR; i++)
        set_plan(i, &alloc[1], 1);
    set_plan(ALLOC, alloc, sizeof(alloc));
    set_plan(OTHER, other, sizeof(other));
    plans->count = FAR;
    packer = kymo__packer_new(1);
    kymo__packer_plans(packer, plans);
    unpacker = kymo__unpacker_new();
}

static void free_packer(void)
{
    kymo__packer_free(packer);
    kymo__unpacker_free(unpacker);
    kymo__decode_fini(&decoder);
    kymo__buffer_fini(&block);
    free(plans);
}

/* Events as they are recorded, and as a decoder returns them: with payloads in varints. */
static struct kymo_chunk *chunks[KYMO__BLOCK_CHUNKS];
static size_t chunk_count, used;
static struct kymo_record wanted[2 * KYMO__BLOCK_RECORDS_MAX];
static size_t wanted_count;

static void begin_tape(void)
{
    chunk_count = used = wanted_count = 0;
}

static void free_tape(void)
{
    for (size_t i = 0; i < KYMO__BLOCK_CHUNKS; i++) {
        free(chunks[i]);
        chunks[i] = NULL;
    }
}

/* Add the COUNT records of an event; they are never in two chunks. */
static void record(const struct kymo_record *records, size_t count)
{
    if (!chunk_count || used + count > KYMO__CHUNK_RECORDS) {
        free(chunks[chunk_count]);
        chunks[chunk_count] = calloc(1, sizeof(struct kymo_chunk));
        chunks[chunk_count]->number = chunk_count;
        chunk_count++;
        used = 0;
    }
    memcpy(&chunks[chunk_count - 1]->records[used], records, count * sizeof(*records));
    used += count;
}

static bool is_tape_full(void)
{
    return chunk_count == KYMO__BLOCK_CHUNKS && used + LONGEST > KYMO__CHUNK_RECORDS;
}

static void want(uint64_t ticks, uint64_t word)
{
    wanted[wanted_count++] = (struct kymo_record){ticks, word};
}

/* A note of schema NUMBER; numbers are recorded as such if they fit and are PLAIN. */
static void add_numbers(unsigned number, uint64_t ticks, const uint64_t *numbers, unsigned count,
                        bool plain)
{
    struct kymo_record records[LONGEST] = {{ticks, kymo_word(KYMO__NOTE, 0, KEYS + number)}};
    uint8_t bytes[4 * KYMO__VARINT_MAX + sizeof(struct kymo_record)], *end = bytes;
    for (unsigned i = 0; i < count; i++)
        end = kymo__varint_put(end, numbers[i]);
    size_t len = (size_t)(end - bytes);
    want(ticks, records[0].word);
    for (unsigned i = 0; i < kymo__chain_records(len); i++)
        wanted[wanted_count++] = kymo__chain_record(number, bytes, len, i);
    struct kymo_record *after = &records[2];
    if (plain && count == 1)
        kymo__chain_store_one(&records[1], number, numbers[0]);
    else if (plain && kymo__chain_fits_four(numbers))
        kymo__chain_store_four(&records[1], number, numbers);
    else
        after = kymo__chain_store(&records[1], number, bytes, len);
    record(records, (size_t)(after - records));
}

static void add_call(uint64_t ticks, uint64_t *seed)
{
    bool enter = random_next(seed) % 2;
    struct kymo_record call = {
        ticks, kymo_word(enter ? KYMO_ENTER : KYMO_LEAVE, 0, (uint32_t)random_next(seed) % 9)};
    want(call.ticks, call.word);
    record(&call, 1);
}

/* A counter, with its value; or a note without the payload that it should have. */
static void add_odd(uint64_t ticks, uint64_t *seed)
{
    bool counter = random_next(seed) % 2;
    struct kymo_record odd[] = {
        {ticks, kymo_word(counter ? KYMO_COUNTER : KYMO__NOTE, 0, KEYS + FREE)},
        {random_next(seed), kymo_word(KYMO__VALUE, 0, 0)}};
    for (unsigned i = 0; i < 1u + counter; i++)
        want(odd[i].ticks, odd[i].word);
    record(odd, 1u + counter);
}

/* Pack the tape and begin to decode it; returns the type of the block. */
static unsigned pack_tape(void)
{
    struct kymo_packed packed;
    CHECK_EQ(kymo__pack_chunks(packer, chunks, chunk_count, &packed), 0);
    header = *packed.header;
    CHECK(kymo__block_valid(&header));
    CHECK_EQ(kymo__unpack(unpacker, &header, packed.header + 1, &block), 0);
    kymo__decode_block(&decoder, &header, block.bytes, block.len);
    return header.type;
}

/* The tape comes back, in batches of any size. */
static void comes_back(uint64_t *seed)
{
    struct kymo_record batch[64];
    uint64_t least = UINT64_MAX, greatest = 0;
    uint32_t events = 0;
    size_t at = 0;
    int n;
    while ((n = kymo__decode(&decoder, batch, 1 + random_next(seed) % 64)) > 0)
        for (int i = 0; i < n; i++, at++) {
            CHECK(at < wanted_count);
            CHECK_EQ(batch[i].word, wanted[at].word);
            CHECK_EQ(batch[i].ticks, wanted[at].ticks);
            if (kymo__kind_follows(kymo__word_kind(batch[i].word)))
                continue;
            least = batch[i].ticks < least ? batch[i].ticks : least;
            greatest = batch[i].ticks > greatest ? batch[i].ticks : greatest;
            events++;
        }
    CHECK_EQ(n, 0);
    CHECK_EQ(at, wanted_count);
    CHECK_EQ(header.records, events);
    CHECK_EQ(header.first_ticks, least);
    CHECK_EQ(header.last_ticks, greatest);
}

/* Like those of a program: times to 16 ticks, and addresses near each other. */
static void add_usual(uint64_t *ticks, uint64_t *seed)
{
    const uint64_t address = UINT64_C(0x7f0000000000) + (random_next(seed) % 100000) * 16;
    const uint64_t numbers[] = {random_next(seed) % 500, address, random_next(seed) % 5000,
                                1 + random_next(seed) % 9};
    *ticks += (random_next(seed) % 100) * 16;
    if (random_next(seed) % 2)
        add_numbers(ALLOC, *ticks, numbers, 4, true);
    else
        add_numbers(FREE, *ticks, &address, 1, true);
}

static void usual_notes_take_few_bytes_and_come_back(void)
{
    uint64_t seed = 1, ticks = UINT64_C(1) << 50;
    make_packer();
    begin_tape();
    for (int i = 0; i < MANY; i++)
        add_usual(&ticks, &seed);
    CHECK_EQ(pack_tape(), KYMO__BLOCK_NOTES);
    comes_back(&seed);
    /* A token of one byte and a time of one or two; in the older way tokens alone took four. */
    CHECK_LE(header.token_bytes, MANY + 32);
    CHECK_LE(header.encoded_bytes, 9 * MANY);
    free_tape();
    free_packer();
}

/* Earlier than the one before, not to 16 ticks, of any size, in varints, of other schemas, with calls
   between them. */
static void any_notes_among_any_events_come_back(void)
{
    make_packer();
    for (uint64_t seed = 1; seed <= 30; seed++) {
        uint64_t state = seed, ticks = UINT64_C(1) << 50;
        const uint64_t odd = 2 + seed % 50; /* one of that many is unusual */
        begin_tape();
        while (!is_tape_full()) {
            if (random_next(&state) % odd) {
                add_usual(&ticks, &state);
                continue;
            }
            const uint64_t numbers[] = {random_size(&state), random_size(&state),
                                        random_size(&state), random_size(&state)};
            const uint64_t at = random_next(&state) % 8 ? ticks + random_next(&state) % 2000 - 1000
                                                        : random_size(&state);
            const bool plain = random_next(&state) % 2;
            switch (random_next(&state) % 6) {
            case 0:
                add_call(at, &state);
                break;
            case 1:
                add_odd(at, &state);
                break;
            case 2:
                add_numbers(OTHER, at, numbers, 4, plain);
                break;
            case 3:
                add_numbers(ALLOC, at, numbers, 4, plain);
                break;
            case 4:
                add_numbers(FREE, at, numbers, 1, plain);
                break;
            default:
                add_numbers(MORE + (unsigned)(random_next(&state) % (FAR - MORE + 1)), at, numbers,
                            1, plain);
            }
        }
        CHECK_EQ(pack_tape(), KYMO__BLOCK_NOTES);
        comes_back(&state);
    }
    free_tape();
    free_packer();
}

static void readers_of_numbers_get_the_same(void)
{
    uint64_t seed = 3, ticks = UINT64_C(1) << 50, numbers[KYMO_FIELDS_MOST];
    struct kymo_number full[KYMO_FIELDS_MOST];
    struct kymo_record one[4];
    make_packer();
    begin_tape();
    for (int i = 0; i < MANY; i++)
        add_usual(&ticks, &seed);
    pack_tape();
    for (size_t at = 0; at < wanted_count;) {
        uint8_t bytes[4 * KYMO__VARINT_MAX], *end = bytes;
        CHECK_EQ(kymo__decode_apart(&decoder, one, 4), 1);
        CHECK_EQ(one[0].word, wanted[at].word);
        CHECK_EQ(one[0].ticks, wanted[at++].ticks);
        unsigned count;
        if (at % 3) {
            count = kymo__values_plain(&decoder.values, numbers);
        } else {
            CHECK_EQ(kymo__values_numbers(&decoder.values, full, &count), 0);
            for (unsigned i = 0; i < count; i++)
                numbers[i] = full[i].value;
        }
        for (unsigned i = 0; i < count; i++)
            end = kymo__varint_put(end, numbers[i]);
        unsigned number = kymo__chain_number(&wanted[at]);
        CHECK_EQ(kymo__word_key(one[0].word), KEYS + number);
        for (unsigned i = 0; i < kymo__chain_records((size_t)(end - bytes)); i++, at++) {
            struct kymo_record got = kymo__chain_record(number, bytes, (size_t)(end - bytes), i);
            CHECK_EQ(got.word, wanted[at].word);
            CHECK_EQ(got.ticks, wanted[at].ticks);
        }
    }
    CHECK_EQ(kymo__decode_apart(&decoder, one, 4), 0);
    free_tape();
    free_packer();
}

static void readers_of_calls_get_the_notes_without_payloads(void)
{
    uint64_t seed = 4, ticks = UINT64_C(1) << 50;
    struct kymo_record batch[64];
    make_packer();
    begin_tape();
    for (int i = 0; i < MANY; i++) {
        if (i % 5)
            add_usual(&ticks, &seed);
        else
            add_call(ticks, &seed);
    }
    pack_tape();
    int n;
    for (size_t at = 0; (n = kymo__decode_bare(&decoder, batch, 64)) > 0;)
        for (int i = 0; i < n; i++) {
            CHECK_EQ(batch[i].word, wanted[at].word);
            CHECK_EQ(batch[i].ticks, wanted[at++].ticks);
            while (at < wanted_count && kymo__kind_follows(kymo__word_kind(wanted[at].word)))
                at++;
        }
    CHECK_EQ(n, 0);
    free_tape();
    free_packer();
}

/* Other readers of the same version of the format, and older ones, read it. */
static void a_block_without_such_notes_has_no_such_columns(void)
{
    uint64_t seed = 5;
    const uint64_t numbers[] = {1, 2, 3, 4};
    make_packer();
    begin_tape();
    for (uint64_t i = 1; i < 100; i++) {
        add_call(i, &seed);
        add_numbers(OTHER, i, numbers, 4, true);
        add_numbers(FAR, i, numbers, 1, true);
        add_numbers(FREE, i, numbers, 1, false);
    }
    CHECK_EQ(pack_tape(), KYMO__BLOCK_RECORDS);
    comes_back(&seed);
    free_tape();
    free_packer();
}

static bool is_key_found(uint32_t key)
{
    bool *skipped = calloc(KEYS + FAR + 1, sizeof(*skipped));
    for (unsigned i = 0; i <= KEYS + FAR; i++)
        skipped[i] = i != key;
    const struct kymo_wanted_kinds kinds = {UINT64_C(1) << KYMO__NOTE, skipped, KEYS + FAR + 1};
    bool found = kymo__tokens_find(block.bytes, block.bytes + header.token_bytes, &kinds);
    free(skipped);
    return found;
}

static void notes_are_found_among_the_tokens(void)
{
    const struct kymo_wanted_kinds samples = {.kinds = UINT64_C(1) << KYMO_SAMPLE};
    const uint64_t address = 4096;
    uint64_t seed = 6, ticks = UINT64_C(1) << 50;
    make_packer();
    for (unsigned last = MORE; last < MORE + 8; last++) {
        begin_tape();
        for (int i = 0; i < 1000; i++) {
            add_usual(&ticks, &seed);
            if (i % 7 == 0)
                add_call(ticks, &seed);
        }
        add_numbers(last, ticks, &address, 1, true);
        CHECK_EQ(pack_tape(), KYMO__BLOCK_NOTES);
        CHECK(is_key_found(KEYS + FREE));
        CHECK(is_key_found(KEYS + ALLOC));
        CHECK(is_key_found(KEYS + last));
        CHECK(!is_key_found(KEYS + last + 1));
        CHECK(!kymo__tokens_find(block.bytes, block.bytes + header.token_bytes, &samples));
    }
    free_tape();
    free_packer();
}

/* ---- blocks that no recorder writes ---- */

/* How many records BYTES decode to, or a negative code, if that many of them are tokens and the rest
   are values. */
static int decode_bytes(const uint8_t *bytes, size_t tokens, size_t len)
{
    struct kymo_block_header h = {.type = KYMO__BLOCK_NOTES, .token_bytes = (uint32_t)tokens};
    struct kymo_record batch[64];
    int n, all = 0;
    for (unsigned i = 0; i < sizeof(h.value_bytes); i++)
        h.value_bytes[i] = (uint8_t)((len - tokens) >> 8 * i);
    /* A copy that ends where its memory does. */
    uint8_t *copy = malloc(len);
    memcpy(copy, bytes, len);
    kymo__decode_block(&decoder, &h, copy, len);
    while ((n = kymo__decode(&decoder, batch, 64)) > 0)
        all += n;
    free(copy);
    return n < 0 ? n : all;
}

#define FIRST_FORM (1 << 3 | KYMO__T_NOTE)
#define SECOND_FORM (2 << 3 | KYMO__T_NOTE)

static void invalid_columns_are_refused(void)
{
    enum { TOKENS = 6 };
    const uint8_t good[] = {FIRST_FORM, KEYS,       7,  KYMO__SHAPE_FREE,
                            FIRST_FORM, FIRST_FORM, 4,  9,
                            2,          0,          0,  0,
                            2,                               /* shift, first tick, lengths */
                            1,          1,          32, 32}; /* times, freed */
    CHECK_EQ(decode_bytes(good, TOKENS, sizeof(good)), 4);
    const struct {
        unsigned at;
        uint8_t byte;
    } wrong[] = {
        {0, SECOND_FORM},       /* the first form has another number */
        {0, 0x80 | FIRST_FORM}, /* and this is a large one */
        {2, 0},                 /* no schema */
        {3, 0},                 /* no layout, */
        {3, 3},                 /* and one that does not exist */
        {3, KYMO__SHAPE_ALLOC}, /* there are no sizes */
        {4, SECOND_FORM},       /* a form that is cut */
        {6, KYMO__NOTE_SHIFTS},
        {8, 1},     /* one time, */
        {12, 1},    /* one address, */
        {12, 3},    /* more than there are bytes, */
        {12, 0x80}, /* or a length that goes on */
        {14, 0x80}, /* a time and */
        {16, 0x80}, /* an address that are cut */
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint8_t bytes[sizeof(good)];
        memcpy(bytes, good, sizeof(good));
        bytes[wrong[i].at] = wrong[i].byte;
        if (decode_bytes(bytes, TOKENS, sizeof(bytes)) != KYMO_EBLOCK)
            CHECK_FAIL("byte %u can be %u", wrong[i].at, wrong[i].byte);
    }
    for (size_t len = TOKENS; len < sizeof(good); len++)
        CHECK_EQ(decode_bytes(good, TOKENS, len), KYMO_EBLOCK);
    kymo__decode_fini(&decoder);
}

static void any_damage_is_harmless(void)
{
    uint64_t seed = 7, ticks = UINT64_C(1) << 50;
    struct kymo_record batch[64];
    make_packer();
    begin_tape();
    for (int i = 0; i < 200; i++) {
        add_usual(&ticks, &seed);
        if (i % 9 == 0)
            add_call(ticks, &seed);
    }
    pack_tape();
    uint8_t *copy = malloc(block.len);
    for (int i = 0; i < MANY; i++) {
        memcpy(copy, block.bytes, block.len);
        for (uint64_t n = 1 + random_next(&seed) % 4; n; n--)
            copy[random_next(&seed) % block.len] = (uint8_t)random_next(&seed);
        kymo__decode_block(&decoder, &header, copy, block.len);
        int all = 0, n;
        while ((n = kymo__decode(&decoder, batch, 64)) > 0)
            all += n;
        CHECK_LE(all, (int)block.len * 3);
    }
    free(copy);
    free_tape();
    free_packer();
}

static const struct check_case cases[] = {
    CHECK_CASE(usual_notes_take_few_bytes_and_come_back),
    CHECK_CASE(any_notes_among_any_events_come_back),
    CHECK_CASE(readers_of_numbers_get_the_same),
    CHECK_CASE(readers_of_calls_get_the_notes_without_payloads),
    CHECK_CASE(a_block_without_such_notes_has_no_such_columns),
    CHECK_CASE(notes_are_found_among_the_tokens),
    CHECK_CASE(invalid_columns_are_refused),
    CHECK_CASE(any_damage_is_harmless),
};
CHECK_MAIN(cases)
