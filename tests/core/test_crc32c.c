/* The checksum is the one that everybody else calls CRC-32C. */
#include "crc32c.h"

#include <kymo/kymo.h>

#include "check.h"

static void the_check_value_is_the_published_one(void)
{
    CHECK_EQ(kymo__crc32c("123456789", 9), 0xe3069283u);
}

/* RFC 3720, B.4. */
static void the_vectors_of_iscsi_agree(void)
{
    uint8_t bytes[32];
    memset(bytes, 0, sizeof(bytes));
    CHECK_EQ(kymo__crc32c(bytes, sizeof(bytes)), 0x8a9136aau);
    memset(bytes, 0xff, sizeof(bytes));
    CHECK_EQ(kymo__crc32c(bytes, sizeof(bytes)), 0x62a8ab43u);
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    CHECK_EQ(kymo__crc32c(bytes, sizeof(bytes)), 0x46dd794eu);
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(sizeof(bytes) - 1 - i);
    CHECK_EQ(kymo__crc32c(bytes, sizeof(bytes)), 0x113fdb5cu);
}

static void nothing_has_checksum_zero(void)
{
    CHECK_EQ(kymo__crc32c("", 0), 0);
}

static void every_flipped_bit_of_a_header_changes_it(void)
{
    uint8_t bytes[128];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 37);
    uint32_t before = kymo__crc32c(bytes, sizeof(bytes));
    for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(kymo__crc32c(bytes, sizeof(bytes)) != before);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(the_check_value_is_the_published_one),
    CHECK_CASE(the_vectors_of_iscsi_agree),
    CHECK_CASE(nothing_has_checksum_zero),
    CHECK_CASE(every_flipped_bit_of_a_header_changes_it),
};
CHECK_MAIN(cases)
