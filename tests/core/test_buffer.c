/* A buffer keeps what was added to it, however it grew. */
#include "buffer.h"

#include <errno.h>
#include <kymo/kymo.h>

#include "alloc.h"
#include "check.h"
#include "random.h"
#include "varint.h"

static void bytes_added_in_pieces_are_contiguous(void)
{
    struct kymo_buffer buffer = {0};
    uint64_t state = 1;
    uint8_t next = 0, piece[300];
    size_t total = 0;
    for (int i = 0; i < 2000; i++) {
        size_t len = random_next(&state) % sizeof(piece);
        for (size_t j = 0; j < len; j++)
            piece[j] = next++;
        CHECK_EQ(kymo__buffer_add(&buffer, piece, len), 0);
        total += len;
        CHECK_EQ(buffer.len, total);
        CHECK_LE(buffer.len, buffer.capacity);
    }
    for (size_t i = 0; i < total; i++)
        CHECK_EQ(buffer.bytes[i], (uint8_t)i);
    kymo__buffer_fini(&buffer);
    CHECK_EQ(buffer.len, 0);
    CHECK(buffer.bytes == NULL);
}

static void what_is_reserved_is_there_and_not_counted(void)
{
    struct kymo_buffer buffer = {0};
    CHECK_EQ(kymo__buffer_reserve(&buffer, 0), 0);
    CHECK_EQ(kymo__buffer_add(&buffer, "ab", 2), 0);
    CHECK_EQ(kymo__buffer_reserve(&buffer, 100000), 0);
    CHECK_EQ(buffer.len, 2);
    memset(buffer.bytes + buffer.len, 0, 100000);
    const uint8_t *before = buffer.bytes;
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(kymo__buffer_add(&buffer, "0123456789", 10), 0);
    CHECK(buffer.bytes == before);
    kymo__buffer_fini(&buffer);
}

static void varints_can_be_added(void)
{
    struct kymo_buffer buffer = {0};
    uint64_t state = 1;
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(kymo__buffer_add_varint(&buffer, random_size(&state)), 0);
    const uint8_t *at = buffer.bytes, *end = at + buffer.len;
    state = 1;
    for (int i = 0; i < 1000; i++) {
        uint64_t v;
        at = kymo__varint_get(at, end, &v);
        CHECK(at != NULL);
        CHECK_EQ(v, random_size(&state));
    }
    CHECK(at == end);
    kymo__buffer_fini(&buffer);
}

static void running_out_of_memory_changes_nothing(void)
{
    struct kymo_buffer buffer = {0};
    CHECK_EQ(kymo__buffer_add(&buffer, "abc", 3), 0);
    kymo__alloc_fail_after(0);
    int rc = kymo__buffer_reserve(&buffer, 1 << 20);
    kymo__alloc_fail_after(-1);
    CHECK_EQ(rc, -ENOMEM);
    CHECK_EQ(buffer.len, 3);
    CHECK(memcmp(buffer.bytes, "abc", 3) == 0);
    kymo__buffer_fini(&buffer);
}

static const struct check_case cases[] = {
    CHECK_CASE(bytes_added_in_pieces_are_contiguous),
    CHECK_CASE(what_is_reserved_is_there_and_not_counted),
    CHECK_CASE(varints_can_be_added),
    CHECK_CASE(running_out_of_memory_changes_nothing),
};
CHECK_MAIN(cases)
