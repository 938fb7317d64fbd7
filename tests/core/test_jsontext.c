/* Numbers in JSON are those that were meant, digit for digit. */
#include "jsontext.h"

#include <inttypes.h>

#include "check.h"
#include "random.h"

static void is_written_as_printf_does(uint64_t v)
{
    char text[KYMO__JSON_NUMBER + 1], expected[KYMO__JSON_NUMBER + 1];
    memset(text, '#', sizeof(text));
    *kymo__json_uint(text, v) = '\0';
    snprintf(expected, sizeof(expected), "%" PRIu64, v);
    CHECK_STR(text, expected);
    CHECK(text[strlen(expected) + 1] == '#'); /* and nothing behind it */
}

static void every_length_has_its_digits(void)
{
    uint64_t ten = 1;
    is_written_as_printf_does(0);
    for (int digits = 1; digits <= 20; digits++, ten *= 10) {
        is_written_as_printf_does(ten - 1);
        is_written_as_printf_does(ten);
        is_written_as_printf_does(ten + 1);
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        is_written_as_printf_does((UINT64_C(1) << bit) - 1);
        is_written_as_printf_does(UINT64_C(1) << bit);
    }
    is_written_as_printf_does(UINT64_MAX);
    uint64_t state = 1;
    for (int i = 0; i < 100000; i++)
        is_written_as_printf_does(random_size(&state));
}

/* As printf writes the fewest digits, from 15 on, that read back as VALUE. */
static void has_the_fewest_digits(double value)
{
    char text[KYMO__JSON_NUMBER + 1], expected[KYMO__JSON_NUMBER + 1];
    *kymo__json_double(text, value) = '\0';
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(expected, sizeof(expected), "%.*g", precision, value);
        if (strtod(expected, NULL) == value)
            break;
    }
    CHECK_STR(text, expected);
}

static void fractions_have_the_fewest_digits_that_read_back(void)
{
    static const double some[] = {0.1,   0.999, 1e-8,   1e-5,    0.0001,    1.5e-7, 123.456, 1e22,
                                  -0.25, -3.0,  1e-300, 0.1 / 3, 1.0 / 3.0, 5e-324, 2.5e-5};
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        has_the_fewest_digits(some[i]);
    uint64_t state = 1;
    for (int i = 0; i < 100000; i++) {
        double whole = (double)(random_size(&state) >> 20), power = 1;
        for (uint64_t n = random_size(&state) % 25; n; n--)
            power *= 10;
        if (whole > 0 && whole < 1e15 && power > 1)
            has_the_fewest_digits((i % 2 ? -1 : 1) * (whole + 0.5) / power);
        float narrow = (float)(whole / 7e9);
        if (narrow > 0 && narrow < 1)
            has_the_fewest_digits(narrow);
    }
}

static void times_are_microseconds_with_three_decimals(void)
{
    static const struct {
        int64_t ns;
        const char *text;
    } times[] = {
        {0, "0.000"},          {1, "0.001"},        {999, "0.999"},
        {1000, "1.000"},       {-1, "-0.001"},      {-1001, "-1.001"},
        {1234567, "1234.567"}, {10010, "10.010"},   {INT64_MAX, "9223372036854775.807"},
        {100, "0.100"},        {-12345, "-12.345"}, {INT64_MIN, "-9223372036854775.808"},
    };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        char text[KYMO__JSON_NUMBER + 1];
        *kymo__json_time(text, times[i].ns) = '\0';
        CHECK_STR(text, times[i].text);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(every_length_has_its_digits),
    CHECK_CASE(fractions_have_the_fewest_digits_that_read_back),
    CHECK_CASE(times_are_microseconds_with_three_decimals),
};
CHECK_MAIN(cases)
