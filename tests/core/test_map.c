/* The hash map of the tree against a plain array. */
#include "map.h"

#include <errno.h>
#include <kymo/kymo.h>

#include "alloc.h"
#include "check.h"

static void an_empty_map_finds_nothing(void)
{
    struct kymo_map map = {0};
    CHECK_EQ(kymo__map_find(&map, 0), 0);
    CHECK_EQ(kymo__map_find(&map, UINT64_MAX), 0);
    kymo__map_fini(&map);
}

static void keys_have_the_value_set_last(void)
{
    enum { KEYS = 5000 };
    static uint32_t expected[KEYS];
    struct kymo_map map = {0};
    for (uint32_t i = 0; i < 4 * KEYS; i++) {
        uint64_t n = (uint64_t)i * 7919 % KEYS;
        CHECK_OK(kymo__map_set(&map, n * UINT64_C(0x100000001), i + 1));
        expected[n] = i + 1;
    }
    for (uint64_t n = 0; n < KEYS; n++)
        CHECK_EQ(kymo__map_find(&map, n * UINT64_C(0x100000001)), expected[n]);
    CHECK_EQ(map.count, KEYS);
    CHECK_LE(2 * map.count, map.slot_count);
    CHECK_EQ(kymo__map_find(&map, 3), 0);
    kymo__map_fini(&map);
}

static void values_of_equal_keys_are_all_found(void)
{
    enum { KEYS = 40, EACH = 50 };
    struct kymo_map map = {0};
    for (uint32_t i = 0; i < KEYS * EACH; i++)
        CHECK_OK(kymo__map_add(&map, i % KEYS, i + 1));
    for (uint64_t key = 0; key < KEYS; key++) {
        unsigned found = 0;
        uint32_t value;
        for (size_t at = 0; (value = kymo__map_next(&map, key, &at)) != 0; found++)
            CHECK_EQ((value - 1) % KEYS, key);
        CHECK_EQ(found, EACH);
    }
    kymo__map_fini(&map);
}

static void what_was_added_last_can_be_dropped(void)
{
    struct kymo_map map = {0};
    for (uint32_t i = 1; i <= 20; i++)
        CHECK_OK(kymo__map_add(&map, i % 3, i));
    kymo__map_drop_last(&map, 20 % 3, 20);
    CHECK_EQ(map.count, 19);
    uint32_t value, found = 0;
    for (size_t at = 0; (value = kymo__map_next(&map, 2, &at)) != 0; found++)
        CHECK(value != 20);
    CHECK_EQ(found, 6);
    kymo__map_fini(&map);
}

static void a_map_that_cannot_grow_is_as_before(void)
{
    struct kymo_map map = {0};
    uint32_t i = 0;
    kymo__alloc_fail_after(2);
    while (kymo__map_set(&map, i, i + 1) == 0)
        i++;
    kymo__alloc_fail_after(-1);
    CHECK_EQ(kymo__map_set(&map, i, i + 1), 0);
    for (uint32_t k = 0; k <= i; k++)
        CHECK_EQ(kymo__map_find(&map, k), k + 1);
    kymo__map_fini(&map);
}

static const struct check_case cases[] = {
    CHECK_CASE(an_empty_map_finds_nothing),          CHECK_CASE(keys_have_the_value_set_last),
    CHECK_CASE(values_of_equal_keys_are_all_found),  CHECK_CASE(what_was_added_last_can_be_dropped),
    CHECK_CASE(a_map_that_cannot_grow_is_as_before),
};
CHECK_MAIN(cases)
