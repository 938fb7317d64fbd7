/* The quick way to write the values of memory events writes what the general one does. */
#include "values.h"

#include "check.h"
#include "random.h"
#include "varint.h"

enum { MANY = 50000, ALLOC = 1, FREE = 2, OTHER = 3, FAR = 40 }; /* FAR: its head takes two bytes */

static struct kymo_plans *plans;

static void set_plan(unsigned number, const uint8_t *types, uint8_t count)
{
    plans->plan[number].count = count;
    memcpy(plans->plan[number].type, types, count);
}

static void make_plans(void)
{
    const uint8_t alloc[] = {KYMO_FIELD_UINT, KYMO_FIELD_ADDRESS, KYMO_FIELD_STACK,
                             KYMO_FIELD_NAME};
    const uint8_t other[] = {KYMO_FIELD_UINT, KYMO_FIELD_ADDRESS, KYMO_FIELD_ID, KYMO_FIELD_NAME};
    plans = calloc(1, sizeof(*plans));
    for (unsigned i = 1; i <= FAR; i++)
        set_plan(i, &alloc[1], 1);
    set_plan(ALLOC, alloc, sizeof(alloc));
    set_plan(OTHER, other, sizeof(other));
    plans->count = FAR;
}

/* A payload of numbers: as varints, with the padding that encoders may read, and as a program
   records it. */
struct payload {
    uint8_t bytes[4 * KYMO__VARINT_MAX + KYMO__VALUES_PADDING];
    size_t len;
    struct kymo_record record;
};

/* COUNT is 1 or 4. */
static struct payload payload_of(unsigned number, const uint64_t *numbers, unsigned count)
{
    struct payload p = {.len = 0};
    uint8_t *end = p.bytes;
    for (unsigned i = 0; i < count; i++)
        end = kymo__varint_put(end, numbers[i]);
    p.len = (size_t)(end - p.bytes);
    memset(end, 0xff, KYMO__VALUES_PADDING);
    if (count == 1)
        kymo__chain_store_one(&p.record, number, numbers[0]);
    else if (kymo__chain_fits_four(numbers))
        kymo__chain_store_four(&p.record, number, numbers);
    else
        p.record = kymo__chain_record(number, p.bytes, p.len, 0);
    return p;
}

/* Two columns of the same payloads: one written in the general way, one quickly where possible. */
struct pair {
    struct kymo_values *general, *either;
    uint8_t one[256 + KYMO__VALUES_SLACK], two[256 + KYMO__VALUES_SLACK];
    size_t quick; /* how many were written quickly */
};

static void pair_init(struct pair *pair)
{
    pair->quick = 0;
    pair->general = kymo__values_new();
    pair->either = kymo__values_new();
    kymo__values_begin(pair->general);
    kymo__values_begin(pair->either);
}

static void pair_fini(struct pair *pair)
{
    kymo__values_free(pair->general);
    kymo__values_free(pair->either);
}

/* Returns whether it was written quickly. */
static bool both_write_the_same(struct pair *pair, unsigned number, const struct payload *p)
{
    uint8_t *want = kymo__values_put(pair->general, plans, number, p->bytes, p->len, pair->one);
    uint8_t *got = kymo__chain_has_numbers(&p->record)
                       ? kymo__values_put_quick(pair->either, &p->record, pair->two)
                       : NULL;
    bool quick = got != NULL;
    if (!got)
        got = kymo__values_put(pair->either, plans, number, p->bytes, p->len, pair->two);
    CHECK_EQ((size_t)(got - pair->two), (size_t)(want - pair->one));
    CHECK(memcmp(pair->one, pair->two, (size_t)(want - pair->one)) == 0);
    pair->quick += quick;
    return quick;
}

/* Like a program's: addresses near each other, sizes and stacks that are small. */
static void usual_events_are_written_quickly_and_the_same(void)
{
    struct pair pair;
    uint64_t state = 1;
    make_plans();
    pair_init(&pair);
    for (int i = 0; i < MANY; i++) {
        const uint64_t address = UINT64_C(0x7f0000000000) + (random_next(&state) % 1000000) * 16;
        const uint64_t numbers[] = {random_next(&state) % 5000, address,
                                    random_next(&state) % 20000, 1 + random_next(&state) % 9};
        struct payload alloc = payload_of(ALLOC, numbers, 4);
        struct payload release = payload_of(FREE, &numbers[1], 1);
        struct payload other = payload_of(OTHER, numbers, 4);
        struct payload far = payload_of(FAR, &numbers[1], 1);
        bool first = i % 10000 == 0; /* of a block: it has the plan as well */
        if (first) {
            kymo__values_begin(pair.general);
            kymo__values_begin(pair.either);
        }
        CHECK_EQ(both_write_the_same(&pair, ALLOC, &alloc), !first);
        CHECK_EQ(both_write_the_same(&pair, FREE, &release), !first);
        CHECK(!both_write_the_same(&pair, OTHER, &other));
        CHECK(!both_write_the_same(&pair, FAR, &far));
    }
    pair_fini(&pair);
    free(plans);
}

/* Differences of any size, raw entries among them. */
static void numbers_of_any_size_are_written_the_same(void)
{
    struct pair pair;
    uint64_t state = 2;
    make_plans();
    pair_init(&pair);
    for (int i = 0; i < MANY; i++) {
        const uint64_t any = random_size(&state);
        const uint64_t numbers[] = {random_size(&state) & 0xffff,
                                    random_size(&state) & ((UINT64_C(1) << 48) - 1),
                                    random_size(&state) & 0xffffff, random_size(&state) & 0xffff};
        struct payload alloc = payload_of(ALLOC, numbers, 4), release = payload_of(FREE, &any, 1);
        both_write_the_same(&pair, ALLOC, &alloc);
        both_write_the_same(&pair, FREE, &release);
    }
    CHECK_LE(MANY / 4, pair.quick);
    pair_fini(&pair);
    free(plans);
}

/* Payloads in varints, and four numbers for a schema of one or the other way round. */
static void other_records_are_left_to_the_general_way(void)
{
    struct pair pair;
    const uint64_t usual[] = {24, UINT64_C(0x7f0000000000), 7, 3};
    const uint64_t large[] = {1 << 16, UINT64_C(0x7f0000000000), 7, 3};
    make_plans();
    pair_init(&pair);
    struct payload good = payload_of(ALLOC, usual, 4), varints = payload_of(ALLOC, large, 4);
    struct payload free_good = payload_of(FREE, usual, 1);
    struct payload four = payload_of(FREE, usual, 4), one = payload_of(ALLOC, usual, 1);
    CHECK(!both_write_the_same(&pair, ALLOC, &good)); /* with the plan */
    CHECK(!both_write_the_same(&pair, FREE, &free_good));
    CHECK(both_write_the_same(&pair, ALLOC, &good));
    CHECK(both_write_the_same(&pair, FREE, &free_good));
    CHECK(!both_write_the_same(&pair, ALLOC, &varints));
    CHECK(!both_write_the_same(&pair, FREE, &four));
    CHECK(!both_write_the_same(&pair, ALLOC, &one));
    pair_fini(&pair);
    free(plans);
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
        struct payload p = payload_of(ALLOC, numbers, count);
        CHECK(kymo__chain_has_numbers(&p.record));
        CHECK_EQ(kymo__chain_number(&p.record), ALLOC);
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

/* A record of seven numbers and some empty lists, as varints; the quick way does not know it. */
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
        CHECK(kymo__chain_fits_seven(numbers));
        kymo__chain_store_seven(&record, kymo__chain_word_seven(ALLOC, i % LISTS), numbers);
        CHECK(kymo__chain_has_numbers(&record));
        CHECK_EQ(kymo__chain_number(&record), ALLOC);
        CHECK_EQ(kymo__chain_add(&bytes, &record, &used), 0);
        kymo__chain_end(&bytes, used);
        CHECK_EQ(bytes.len, (size_t)(end - want) + i % LISTS);
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

static void seven_numbers_are_left_to_the_general_way(void)
{
    const uint64_t usual[] = {24, UINT64_C(0x7f0000000000), 7, 3}, seven[7] = {1};
    struct pair pair;
    make_plans();
    pair_init(&pair);
    struct payload alloc = payload_of(ALLOC, usual, 4), release = payload_of(FREE, usual, 1);
    both_write_the_same(&pair, ALLOC, &alloc); /* with the plan */
    both_write_the_same(&pair, FREE, &release);
    kymo__chain_store_seven(&alloc.record, kymo__chain_word_seven(ALLOC, 0), seven);
    kymo__chain_store_seven(&release.record, kymo__chain_word_seven(FREE, 0), seven);
    CHECK(!both_write_the_same(&pair, ALLOC, &alloc));
    CHECK(!both_write_the_same(&pair, FREE, &release));
    pair_fini(&pair);
    free(plans);
}

static const struct check_case cases[] = {
    CHECK_CASE(usual_events_are_written_quickly_and_the_same),
    CHECK_CASE(numbers_of_any_size_are_written_the_same),
    CHECK_CASE(other_records_are_left_to_the_general_way),
    CHECK_CASE(numbers_in_a_record_become_varints),
    CHECK_CASE(seven_numbers_in_a_record_become_varints),
    CHECK_CASE(seven_numbers_are_left_to_the_general_way),
};
CHECK_MAIN(cases)
