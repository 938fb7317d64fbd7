/* Records of some kinds are found among the tokens of a block, wherever they are. */
#include "tokenfind.h"

#include <kymo/kymo.h>

#include "check.h"
#include "format.h"
#include "random.h"
#include "varint.h"

enum { TOKENS = 60, BYTES = TOKENS * 3 * KYMO__VARINT_MAX };

static const bool skipped[] = {false, true};
static const struct kymo_wanted_kinds wanted = {
    1u << KYMO_INSTANT | 1u << KYMO_COUNTER | 1u << KYMO__NOTE, skipped, 2};

/* One token of any code but OTHER, with what follows it. */
static uint8_t *put_usual(uint8_t *at, uint64_t *seed)
{
    static const unsigned codes[] = {
        KYMO__T_ENTER,        KYMO__T_LEAVE,     KYMO__T_ENTER, KYMO__T_LEAVE,  KYMO__T_ENTER,
        KYMO__T_ENTER_DETAIL, KYMO__T_LEAVE_KEY, KYMO__T_VALUE, KYMO__T_DOUBLE, KYMO__T_BACK};
    unsigned code = codes[random_next(seed) % (random_next(seed) % 4 ? 5 : 10)];
    bool alone = code == KYMO__T_VALUE || code == KYMO__T_BACK;
    at = kymo__varint_put(at, (alone ? 0 : random_size(seed) >> 32) << 3 | code);
    if (code == KYMO__T_ENTER_DETAIL || code == KYMO__T_LEAVE_KEY)
        at = kymo__varint_put(at, random_next(seed) & 0xff);
    return code == KYMO__T_VALUE ? kymo__varint_put(at, random_size(seed)) : at;
}

static uint8_t *put_other(uint8_t *at, unsigned kind, uint64_t key)
{
    at = kymo__varint_put(at, (uint64_t)kind << 3 | KYMO__T_OTHER);
    at = kymo__varint_put(at, 4);
    return kymo__varint_put(at, key);
}

/* Up to TOKENS tokens, with one of KIND and KEY among them unless KIND is 0. */
static bool is_found(uint64_t *seed, unsigned kind, uint64_t key)
{
    uint8_t bytes[BYTES], *at = bytes;
    uint64_t count = random_next(seed) % TOKENS, place = random_next(seed) % (count + 1);
    for (uint64_t i = 0; i <= count; i++) {
        if (i == place && kind)
            at = put_other(at, kind, key);
        at = i < count ? put_usual(at, seed) : at;
    }
    return kymo__tokens_find(bytes, at, &wanted);
}

static void a_wanted_record_is_found_anywhere(void)
{
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        CHECK(is_found(&seed, KYMO_INSTANT, 0));
        CHECK(is_found(&seed, KYMO_COUNTER, 1)); /* only instants are skipped by key */
        CHECK(is_found(&seed, KYMO__NOTE, 7));
    }
}

static void nothing_else_is_found(void)
{
    uint64_t seed = 2;
    for (int i = 0; i < 20000; i++) {
        CHECK(!is_found(&seed, 0, 0));
        CHECK(!is_found(&seed, KYMO_SAMPLE, 0));
        CHECK(!is_found(&seed, KYMO_INSTANT, 1));
        CHECK(!is_found(&seed, KYMO__NOTE, 1));
        CHECK(!is_found(&seed, 200, 0));
    }
}

static void a_record_that_is_cut_is_left_to_the_decoder(void)
{
    uint8_t bytes[16], *end = put_other(bytes, KYMO_INSTANT, 0);
    CHECK(kymo__tokens_find(bytes, end - 1, &wanted));
    CHECK(!kymo__tokens_find(bytes, bytes, &wanted));
}

static const struct check_case cases[] = {
    CHECK_CASE(a_wanted_record_is_found_anywhere),
    CHECK_CASE(nothing_else_is_found),
    CHECK_CASE(a_record_that_is_cut_is_left_to_the_decoder),
};

CHECK_MAIN(cases)
