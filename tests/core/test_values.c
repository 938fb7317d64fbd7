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

/* A payload of COUNT numbers with the padding that encoders may read. */
struct payload {
    uint8_t bytes[5 * KYMO__VARINT_MAX + KYMO__VALUES_PADDING];
    size_t len;
};

static struct payload payload_of(const uint64_t *numbers, unsigned count)
{
    struct payload p = {.len = 0};
    uint8_t *end = p.bytes;
    for (unsigned i = 0; i < count; i++)
        end = kymo__varint_put(end, numbers[i]);
    p.len = (size_t)(end - p.bytes);
    memset(end, 0xff, KYMO__VALUES_PADDING);
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
    uint8_t *got = kymo__values_put_quick(pair->either, number, p->bytes, p->len, pair->two);
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
        struct payload alloc = payload_of(numbers, 4), release = payload_of(&numbers[1], 1);
        bool first = i % 10000 == 0; /* of a block: it has the plan as well */
        if (first) {
            kymo__values_begin(pair.general);
            kymo__values_begin(pair.either);
        }
        CHECK_EQ(both_write_the_same(&pair, ALLOC, &alloc), !first);
        CHECK_EQ(both_write_the_same(&pair, FREE, &release), !first);
        CHECK(!both_write_the_same(&pair, OTHER, &alloc));
        CHECK(!both_write_the_same(&pair, FAR, &release));
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
        const uint64_t numbers[] = {random_size(&state), random_size(&state), random_size(&state),
                                    random_size(&state)};
        struct payload alloc = payload_of(numbers, 4), release = payload_of(&numbers[1], 1);
        both_write_the_same(&pair, ALLOC, &alloc);
        both_write_the_same(&pair, FREE, &release);
    }
    CHECK_LE(MANY / 4, pair.quick);
    pair_fini(&pair);
    free(plans);
}

/* Cut off, too long, or varints longer than they need to be. */
static void payloads_that_do_not_fit_are_written_the_same(void)
{
    struct pair pair;
    uint64_t state = 3;
    make_plans();
    pair_init(&pair);
    for (int i = 0; i < MANY; i++) {
        struct payload p = {.len = random_next(&state) % 14};
        for (size_t at = 0; at < sizeof(p.bytes); at++)
            p.bytes[at] = (uint8_t)random_next(&state) & (random_next(&state) & 1 ? 0xff : 0x7f);
        both_write_the_same(&pair, ALLOC, &p);
        both_write_the_same(&pair, FREE, &p);
        const uint64_t numbers[] = {24, UINT64_C(0x7f0000000000) + (uint64_t)i * 16, 7, 3};
        struct payload good = payload_of(numbers, 4);
        both_write_the_same(&pair, ALLOC, &good);
    }
    pair_fini(&pair);
    free(plans);
}

static const struct check_case cases[] = {
    CHECK_CASE(usual_events_are_written_quickly_and_the_same),
    CHECK_CASE(numbers_of_any_size_are_written_the_same),
    CHECK_CASE(payloads_that_do_not_fit_are_written_the_same),
};
CHECK_MAIN(cases)
