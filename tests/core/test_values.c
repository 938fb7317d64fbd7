/* Payloads of numbers, as a program records them, are the same payloads in varints; and readers find
   the fields. */
#include "values.h"

#include <kymo/kymo.h>

#include "check.h"
#include "random.h"
#include "varint.h"

enum { MANY = 50000, SCHEMA = 1 };

/* A payload of numbers: as varints, and as a program records it. */
struct payload {
    uint8_t bytes[4 * KYMO__VARINT_MAX];
    size_t len;
    struct kymo_record record;
};

/* COUNT is 1 or 4. */
static struct payload payload_of(const uint64_t *numbers, unsigned count)
{
    struct payload p = {.len = 0};
    uint8_t *end = p.bytes;
    for (unsigned i = 0; i < count; i++)
        end = kymo__varint_put(end, numbers[i]);
    p.len = (size_t)(end - p.bytes);
    if (count == 1)
        kymo__chain_store_one(&p.record, SCHEMA, numbers[0]);
    else
        kymo__chain_store_four(&p.record, SCHEMA, numbers);
    return p;
}

/* The greatest numbers among them. Readers of chunks get varints. */
static void numbers_in_a_record_become_varints(void)
{
    static const uint64_t most[] = {0xffff, (UINT64_C(1) << 48) - 1, 0xffffff, 0xffff};
    struct kymo_buffer bytes = {0};
    uint64_t state = 4;
    unsigned used;
    for (int i = 0; i < MANY; i++) {
        uint64_t numbers[4];
        unsigned count = i % 2 ? 4 : 1;
        for (unsigned n = 0; n < 4; n++)
            numbers[n] = i < 4 ? most[n] : random_size(&state) & most[n];
        struct payload p = payload_of(numbers, count);
        CHECK(kymo__chain_has_numbers(&p.record));
        CHECK_EQ(kymo__chain_number(&p.record), SCHEMA);
        CHECK_EQ(kymo__chain_add(&bytes, &p.record, &used), 0);
        kymo__chain_end(&bytes, used);
        CHECK_EQ(bytes.len, p.len);
        CHECK(memcmp(bytes.bytes, p.bytes, p.len) == 0);
    }
    const uint64_t greater[][4] = {
        {0x10000, 0, 0, 0}, {0, UINT64_C(1) << 48, 0, 0}, {0, 0, 0x1000000, 0}, {0, 0, 0, 0x10000}};
    for (unsigned i = 0; i < 4; i++)
        CHECK(!kymo__chain_fits_four(greater[i]));
    kymo__buffer_fini(&bytes);
}

/* A record of seven numbers and some empty lists, as varints. */
static void seven_numbers_in_a_record_become_varints(void)
{
    static const uint64_t most[] = {
        (UINT64_C(1) << 36) - 1, 0xfffffff, 0xf, 0xff, 0xff, 0x3ffff, 3};
    enum { COUNT = sizeof(most) / sizeof(most[0]), LISTS = 16 };
    struct kymo_buffer bytes = {0};
    uint64_t state = 5;
    unsigned used;
    for (unsigned i = 0; i < MANY; i++) {
        uint8_t want[COUNT * KYMO__VARINT_MAX + LISTS] = {0}, *end = want;
        uint64_t numbers[COUNT];
        for (unsigned n = 0; n < COUNT; n++) {
            numbers[n] = i < LISTS ? most[n] : random_size(&state) & most[n];
            end = kymo__varint_put(end, numbers[n]);
        }
        struct kymo_record record;
        unsigned lists = i % LISTS == KYMO__CHAIN_VALUES ? 0 : i % LISTS;
        CHECK(kymo__chain_fits_seven(numbers));
        kymo__chain_store_seven(&record, kymo__chain_word_seven(SCHEMA, lists), numbers);
        CHECK(kymo__chain_has_numbers(&record));
        CHECK_EQ(kymo__chain_number(&record), SCHEMA);
        CHECK_EQ(kymo__chain_add(&bytes, &record, &used), 0);
        kymo__chain_end(&bytes, used);
        CHECK_EQ(bytes.len, (size_t)(end - want) + lists);
        CHECK(memcmp(bytes.bytes, want, bytes.len) == 0);
    }
    for (unsigned n = 0; n < COUNT; n++)
        for (unsigned bit = 0; bit < (n == 2 || n == 6 ? 32 : 64); bit++) {
            uint64_t numbers[COUNT] = {0};
            numbers[n] = UINT64_C(1) << bit;
            CHECK_EQ(kymo__chain_fits_seven(numbers), numbers[n] <= most[n]);
        }
    kymo__buffer_fini(&bytes);
}

/* Values of an operator after seven numbers, as a file that is damaged may have them. */
static void values_of_an_operator_are_whole_or_absent(void)
{
    enum { MOST = 200 };
    const uint64_t seven[7] = {1, 1, 1, 1, 1, 1, 1};
    struct kymo_buffer bytes = {0};
    uint64_t state = 7;
    size_t whole = 0, absent = 0;
    for (unsigned i = 0; i < MANY / 10; i++) {
        struct kymo_record record;
        unsigned used, count = (unsigned)(random_size(&state) % MOST);
        kymo__chain_store_seven(&record, kymo__chain_word_seven(SCHEMA, KYMO__CHAIN_VALUES), seven);
        CHECK_EQ(kymo__chain_add(&bytes, &record, &used), 0);
        for (unsigned n = 0; n < count; n++) {
            /* Often a kind that there is, few dimensions, no offset. */
            record.ticks = random_next(&state) & (random_next(&state) | UINT64_C(1) << 44);
            record.word = (uint64_t)KYMO__MORE << 56 | random_size(&state) >> 8;
            record.word -= random_next(&state) & 1 ? record.word & 0xf8 : 0;
            CHECK_EQ(kymo__chain_add(&bytes, &record, &used), 0);
        }
        kymo__chain_end(&bytes, used);
        if (!bytes.len) {
            absent++;
            continue;
        }
        const uint8_t *at = bytes.bytes + 7, *end = bytes.bytes + bytes.len;
        for (unsigned list = 0; list < 15; list++) {
            unsigned type = list == 2   ? KYMO_FIELD_FLOAT | KYMO_FIELD_LIST
                            : list < 13 ? KYMO_FIELD_UINT | KYMO_FIELD_LIST
                                        : KYMO_FIELD_UINT | KYMO_FIELD_LISTS;
            at = kymo__field_end(type, at, end);
            CHECK(at != NULL);
        }
        CHECK(at == end);
        whole++;
    }
    CHECK_LE(100, whole);
    CHECK_LE(100, absent);
    kymo__buffer_fini(&bytes);
}

/* Differences are stored in more or fewer bytes than the numbers, so places are not those of the
   column. */
static void a_reader_tells_where_fields_are(void)
{
    enum { FIELDS = 6 };
    const uint8_t types[FIELDS] = {
        KYMO_FIELD_UINT, KYMO_FIELD_ADDRESS,
        KYMO_FIELD_TEXT, KYMO_FIELD_UINT | KYMO_FIELD_LIST,
        KYMO_FIELD_ID,   KYMO_FIELD_INT | KYMO_FIELD_LISTS,
    };
    uint8_t column[512 + KYMO__VALUES_SLACK], *end = column;
    struct kymo_values *values = kymo__values_new();
    struct kymo_unvalues reading = {0};
    struct kymo_buffer payload = {0};
    struct kymo_plans *plans = calloc(1, sizeof(*plans));
    plans->plan[SCHEMA].count = FIELDS;
    memcpy(plans->plan[SCHEMA].type, types, FIELDS);
    plans->count = SCHEMA;
    kymo__values_begin(values);
    uint16_t want[3][FIELDS];
    for (unsigned i = 0; i < 3; i++) {
        uint8_t bytes[64 + KYMO__VALUES_PADDING] = {0}, *at = bytes;
        want[i][0] = 0;
        at = kymo__varint_put(at, i * 100);
        want[i][1] = (uint16_t)(at - bytes);
        at = kymo__varint_put(at, UINT64_C(0x7f0000000000) + 16 * i);
        want[i][2] = (uint16_t)(at - bytes);
        at = (uint8_t *)memcpy(at, "\2ab", 3) + 3;
        want[i][3] = (uint16_t)(at - bytes);
        at = (uint8_t *)memcpy(at, "\2\x80\1\5", 4) + 4;
        want[i][4] = (uint16_t)(at - bytes);
        at = kymo__varint_put(at, 1000000 * (3 - i));
        want[i][5] = (uint16_t)(at - bytes);
        at = (uint8_t *)memcpy(at, "\2\1\1\0", 4) + 4;
        end = kymo__values_put(values, plans, SCHEMA, bytes, (size_t)(at - bytes), end);
    }
    kymo__unvalues_begin(&reading, column, end);
    for (unsigned i = 0; i < 3; i++) {
        unsigned number;
        CHECK_EQ(kymo__values_get(&reading, &payload, &number), 0);
        CHECK_EQ(number, (unsigned)SCHEMA);
        CHECK_EQ(reading.places.plan->count, FIELDS);
        for (unsigned field = 0; field < FIELDS; field++)
            CHECK_EQ(reading.places.at[field], want[i][field]);
    }
    kymo__buffer_fini(&payload);
    kymo__unvalues_fini(&reading);
    kymo__values_free(values);
    free(plans);
}

/* A payload without fields is an entry of its own: whoever reads numbers takes no other for it. */
static void a_schema_may_have_no_fields(void)
{
    enum { EMPTY = 2, ENTRIES = 6 };
    uint8_t column[512 + KYMO__VALUES_SLACK] = {0}, *end = column;
    struct kymo_values *values = kymo__values_new();
    struct kymo_unvalues reading = {0};
    struct kymo_plans *plans = calloc(1, sizeof(*plans));
    plans->plan[SCHEMA] = (struct kymo_plan){1, {KYMO_FIELD_UINT}};
    plans->count = EMPTY;
    kymo__values_begin(values);
    for (uint8_t i = 0; i < ENTRIES; i++) {
        uint8_t bytes[1 + KYMO__VALUES_PADDING] = {i};
        unsigned number = i % 2 ? EMPTY : SCHEMA;
        end = kymo__values_put(values, plans, number, bytes, number == SCHEMA, end);
    }
    kymo__unvalues_begin(&reading, column, column + sizeof(column));
    for (unsigned i = 0; i < ENTRIES; i++) {
        uint64_t numbers[KYMO_FIELDS_MOST];
        struct kymo_number full[KYMO_FIELDS_MOST];
        unsigned count = kymo__values_plain(&reading, numbers);
        if (!count) {
            CHECK_EQ(kymo__values_numbers(&reading, full, &count), 0);
            numbers[0] = full[0].value;
        }
        CHECK_EQ(count, i % 2 ? 0 : 1);
        if (count)
            CHECK_EQ(numbers[0], i);
    }
    CHECK(reading.at == end);
    kymo__unvalues_fini(&reading);
    kymo__values_free(values);
    free(plans);
}

/* 0 says that an event has no payload. */
static void no_schema_has_the_number_0(void)
{
    static const uint8_t column[] = {2, 0};
    struct kymo_unvalues reading = {0};
    struct kymo_buffer payload = {0};
    unsigned number;
    kymo__unvalues_begin(&reading, column, column + sizeof(column));
    CHECK_EQ(kymo__values_get(&reading, &payload, &number), KYMO_EBLOCK);
    kymo__unvalues_fini(&reading);
    kymo__buffer_fini(&payload);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_schema_may_have_no_fields),
    CHECK_CASE(no_schema_has_the_number_0),
    CHECK_CASE(values_of_an_operator_are_whole_or_absent),
    CHECK_CASE(numbers_in_a_record_become_varints),
    CHECK_CASE(seven_numbers_in_a_record_become_varints),
    CHECK_CASE(a_reader_tells_where_fields_are),
};
CHECK_MAIN(cases)
