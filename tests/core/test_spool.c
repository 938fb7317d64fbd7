/* A spool keeps what it was given, in memory or in a file. */
#include "spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kymo/kymo.h>

#include "check.h"

enum { LONG = 1000003 }; /* no piece of the file ends where one of these does */

static uint8_t byte_at(uint64_t place)
{
    return (uint8_t)(place * 2654435761u >> 13);
}

/* Add COUNT times LONG bytes, and read pieces of them. */
static void check_pieces(struct kymo_spool *spool, unsigned count)
{
    uint8_t *bytes = malloc(LONG);
    for (unsigned i = 0; i < count; i++) {
        for (size_t k = 0; k < LONG; k++)
            bytes[k] = byte_at((uint64_t)i * LONG + k);
        CHECK_OK(kymo__spool_add(spool, bytes, LONG));
    }
    CHECK_EQ(kymo__spool_length(spool), (uint64_t)count * LONG);
    for (unsigned i = 0; i + 1 < 2 * count; i++) {
        uint64_t from = (uint64_t)i * LONG / 2;
        CHECK_OK(kymo__spool_read(spool, bytes, LONG / 2, from));
        for (size_t k = 0; k < LONG / 2; k += 997)
            CHECK_EQ(bytes[k], byte_at(from + k));
    }
    CHECK_EQ(kymo__spool_read(spool, bytes, 2, (uint64_t)count * LONG - 1), -EINVAL);
    CHECK_EQ(kymo__spool_read(spool, bytes, 1, UINT64_MAX), -EINVAL);
    free(bytes);
}

static void a_short_spool_is_in_memory(void)
{
    struct kymo_spool spool;
    kymo__spool_init(&spool);
    check_pieces(&spool, 2);
    CHECK_EQ(spool.fd, -1);
    kymo__spool_fini(&spool);
}

static void a_long_spool_is_in_a_file(void)
{
    struct kymo_spool spool;
    kymo__spool_init(&spool);
    check_pieces(&spool, 12);
    CHECK(spool.fd >= 0);
    CHECK(spool.memory.len <= LONG);
    kymo__spool_fini(&spool);
}

static void without_a_place_for_a_file_there_is_an_error(void)
{
    struct kymo_spool spool;
    uint8_t *bytes = calloc(1, KYMO__SPOOL_MEMORY);
    const char *before = getenv("TMPDIR");
    char *kept = before ? strdup(before) : NULL;
    setenv("TMPDIR", "/there is no such folder", 1);
    kymo__spool_init(&spool);
    CHECK_OK(kymo__spool_add(&spool, bytes, KYMO__SPOOL_MEMORY));
    CHECK_EQ(kymo__spool_add(&spool, bytes, 1), -ENOENT);
    kymo__spool_fini(&spool);
    if (kept)
        setenv("TMPDIR", kept, 1);
    else
        unsetenv("TMPDIR");
    free(kept);
    free(bytes);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_short_spool_is_in_memory),
    CHECK_CASE(a_long_spool_is_in_a_file),
    CHECK_CASE(without_a_place_for_a_file_there_is_an_error),
};
CHECK_MAIN(cases)
