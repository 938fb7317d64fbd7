/* Varints of every length come back, and bytes that are none are refused. */
#include "varint.h"

#include <kymo/kymo.h>

#include "check.h"
#include "random.h"

/* Those for numbers of some sizes spread them into the same bytes. */
static void is_the_same_if_it_is_short(uint64_t v, const uint8_t *bytes, size_t len)
{
    unsigned count = 0;
    uint64_t word = 0;
    CHECK_EQ(kymo__varint_is_seven(v), len == 7);
    if (len == 7) {
        word = kymo__varint_spread_seven(v);
        CHECK(memcmp(&word, bytes, len) == 0);
    }
    if (len <= 4) {
        word = kymo__varint_spread_half(v, &count);
        CHECK_EQ(count, len);
        CHECK(memcmp(&word, bytes, len) == 0);
    }
}

/* The functions without a loop write and read the same bytes, wherever memory ends. */
static void is_the_same_without_a_loop(uint64_t v, const uint8_t *bytes, size_t len)
{
    uint8_t wide[KYMO__VARINT_MAX + 8] = {0};
    CHECK_EQ((size_t)(kymo__varint_put_even(wide, v) - wide), len);
    CHECK(memcmp(wide, bytes, len) == 0);
    CHECK_EQ(kymo__varint_bytes(v), len);
    is_the_same_if_it_is_short(v, bytes, len);
    memset(wide + len, 0xff, sizeof(wide) - len);
    for (size_t more = 0; more <= 8; more++) {
        uint64_t back = ~v;
        CHECK(kymo__varint_get_wide(wide, wide + len + more, &back) == wide + len);
        CHECK_EQ(back, v);
    }
}

static size_t put(uint8_t *bytes, uint64_t v)
{
    return (size_t)(kymo__varint_put(bytes, v) - bytes);
}

static void comes_back(uint64_t v, size_t expected)
{
    uint8_t bytes[KYMO__VARINT_MAX];
    uint64_t back;
    size_t len = put(bytes, v);
    CHECK_EQ(len, expected);
    const uint8_t *end = kymo__varint_get(bytes, bytes + len, &back);
    CHECK(end == bytes + len);
    CHECK_EQ(back, v);
    is_the_same_without_a_loop(v, bytes, len);
}

static void each_length_begins_where_the_one_before_ends(void)
{
    comes_back(0, 1);
    for (unsigned len = 1; len < KYMO__VARINT_MAX; len++) {
        uint64_t first = UINT64_C(1) << (7 * len);
        comes_back(first - 1, len);
        comes_back(first, len + 1);
    }
    comes_back(UINT64_MAX, KYMO__VARINT_MAX);
}

static void random_numbers_come_back(void)
{
    uint64_t state = 1;
    for (int i = 0; i < 100000; i++) {
        uint64_t v = random_size(&state);
        size_t bits = v ? 64 - (size_t)__builtin_clzll(v) : 1;
        comes_back(v, (bits + 6) / 7);
    }
}

static void a_truncated_varint_is_refused_and_leaves_the_result_alone(void)
{
    uint8_t bytes[KYMO__VARINT_MAX];
    for (unsigned shift = 0; shift < 64; shift++) {
        size_t len = put(bytes, UINT64_C(1) << shift);
        for (size_t cut = 0; cut < len; cut++) {
            uint64_t back = 42;
            CHECK(kymo__varint_get(bytes, bytes + cut, &back) == NULL);
            CHECK(kymo__varint_get_wide(bytes, bytes + cut, &back) == NULL);
            CHECK_EQ(back, 42);
        }
    }
}

static void an_overlong_form_of_a_small_number_is_that_number(void)
{
    const uint8_t bytes[] = {0x85, 0x80, 0x80, 0x00};
    uint64_t back;
    CHECK(kymo__varint_get(bytes, bytes + sizeof(bytes), &back) == bytes + sizeof(bytes));
    CHECK_EQ(back, 5);
}

static void more_than_64_bits_are_refused(void)
{
    uint8_t bytes[12];
    uint64_t back;
    memset(bytes, 0xff, sizeof(bytes));
    CHECK(kymo__varint_get(bytes, bytes + sizeof(bytes), &back) == NULL);
    CHECK(kymo__varint_get_wide(bytes, bytes + sizeof(bytes), &back) == NULL);
    bytes[9] = 0x02;
    CHECK(kymo__varint_get(bytes, bytes + sizeof(bytes), &back) == NULL);
    bytes[9] = 0x81; /* 64 bits, but it goes on */
    CHECK(kymo__varint_get(bytes, bytes + sizeof(bytes), &back) == NULL);
    bytes[9] = 0x01;
    CHECK(kymo__varint_get(bytes, bytes + sizeof(bytes), &back) == bytes + 10);
    CHECK_EQ(back, UINT64_MAX);
}

static void zigzag_keeps_small_numbers_of_either_sign_small(void)
{
    const int64_t signs[] = {0, -1, 1, -2, 2};
    for (uint64_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        CHECK_EQ(kymo__zigzag(signs[i]), i);
        CHECK_EQ(kymo__unzigzag(i), signs[i]);
    }
    CHECK_EQ(kymo__zigzag(INT64_MIN), UINT64_MAX);
    CHECK_EQ(kymo__unzigzag(UINT64_MAX), INT64_MIN);
    CHECK_EQ(kymo__unzigzag(kymo__zigzag(INT64_MAX)), INT64_MAX);
    uint64_t state = 2;
    for (int i = 0; i < 100000; i++) {
        int64_t v = (int64_t)random_size(&state);
        CHECK_EQ(kymo__unzigzag(kymo__zigzag(v)), v);
        CHECK_EQ(kymo__unzigzag(kymo__zigzag(~v)), ~v);
    }
}

static void skipping_ends_where_reading_ends(void)
{
    enum { NUMBERS = 20 };
    uint8_t bytes[NUMBERS * KYMO__VARINT_MAX];
    uint64_t state = 3, v;
    for (int round = 0; round < 1000; round++) {
        size_t len = 0;
        for (int i = 0; i < NUMBERS; i++)
            len += put(bytes + len, random_size(&state));
        const uint8_t *at = bytes;
        for (unsigned count = 0; count <= NUMBERS; count++) {
            CHECK(kymo__varints_skip(bytes, bytes + len, count) == at);
            at = count < NUMBERS ? kymo__varint_get(at, bytes + len, &v) : at;
        }
        CHECK(kymo__varints_skip(bytes, bytes + len, NUMBERS + 1) == NULL);
        CHECK(kymo__varints_skip(bytes, bytes + len - 1, NUMBERS) == NULL);
    }
    memset(bytes, 0xff, sizeof(bytes));
    CHECK(kymo__varints_skip(bytes, bytes + sizeof(bytes), 1) == NULL);
}

static const struct check_case cases[] = {
    CHECK_CASE(each_length_begins_where_the_one_before_ends),
    CHECK_CASE(random_numbers_come_back),
    CHECK_CASE(a_truncated_varint_is_refused_and_leaves_the_result_alone),
    CHECK_CASE(an_overlong_form_of_a_small_number_is_that_number),
    CHECK_CASE(more_than_64_bits_are_refused),
    CHECK_CASE(skipping_ends_where_reading_ends),
    CHECK_CASE(zigzag_keeps_small_numbers_of_either_sign_small),
};
CHECK_MAIN(cases)
