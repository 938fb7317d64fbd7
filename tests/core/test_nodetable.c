/* Ids for nodes of stacks: each pair of parent and frame has one, found again after the table grew. */
#include "nodetable.h"

#include <errno.h>
#include <kymo/kymo.h>

#include "alloc.h"
#include "check.h"
#include "random.h"

static uint32_t add_node(struct kymo_nodetable *table, uint32_t parent, uint32_t frame)
{
    CHECK_EQ(kymo__nodetable_find(table, parent, frame), 0);
    CHECK_OK(kymo__nodetable_reserve(table));
    return kymo__nodetable_add(table, parent, frame);
}

static void what_was_added_is_found_and_nothing_else(void)
{
    struct kymo_nodetable table = {0};
    CHECK_EQ(kymo__nodetable_find(&table, 0, 0), 0);
    /* Neighbouring frames below one node, and the same frame below neighbouring nodes. */
    for (uint32_t i = 0; i < 20000; i++)
        CHECK_EQ(add_node(&table, i / 100, i % 100), i + 1);
    for (uint32_t i = 0; i < 20000; i++)
        CHECK_EQ(kymo__nodetable_find(&table, i / 100, i % 100), i + 1);
    CHECK_EQ(kymo__nodetable_find(&table, 0, 100), 0);
    CHECK_EQ(kymo__nodetable_find(&table, 200, 0), 0);
    kymo__nodetable_fini(&table);
}

static void any_parents_and_frames_are_told_apart(void)
{
    enum { NODES = 5000 };
    static struct kymo_nodetable_node given[NODES];
    struct kymo_nodetable table = {0};
    uint64_t state = 1;
    uint32_t count = 0;
    while (count < NODES) {
        /* Few values of each, so that many nodes differ in one of them. */
        uint32_t parent = (uint32_t)random_next(&state) & 0x8000007f;
        uint32_t frame = (uint32_t)random_next(&state) & 0xc00000ff;
        uint32_t known = kymo__nodetable_find(&table, parent, frame);
        if (known) {
            CHECK_EQ(given[known - 1].parent, parent);
            CHECK_EQ(given[known - 1].frame, frame);
            continue;
        }
        given[count++] = (struct kymo_nodetable_node){parent, frame};
        CHECK_EQ(add_node(&table, parent, frame), count);
    }
    for (uint32_t i = 0; i < NODES; i++)
        CHECK_EQ(kymo__nodetable_find(&table, given[i].parent, given[i].frame), i + 1);
    kymo__nodetable_fini(&table);
}

static void running_out_of_memory_changes_nothing(void)
{
    struct kymo_nodetable table = {0};
    kymo__alloc_fail_after(10);
    uint32_t added = 0;
    while (kymo__nodetable_reserve(&table) == 0) {
        CHECK_EQ(kymo__nodetable_add(&table, 7, added), added + 1);
        added++;
    }
    CHECK_EQ(kymo__nodetable_reserve(&table), -ENOMEM);
    kymo__alloc_fail_after(-1);
    CHECK_LE(100, added);
    for (uint32_t i = 0; i < added; i++)
        CHECK_EQ(kymo__nodetable_find(&table, 7, i), i + 1);
    CHECK_OK(kymo__nodetable_reserve(&table));
    kymo__nodetable_fini(&table);
}

static void a_full_table_refuses(void)
{
    struct kymo_nodetable table = {0};
    for (uint32_t i = 0; i < KYMO__NODETABLE_MOST; i++) {
        CHECK_OK(kymo__nodetable_reserve(&table));
        kymo__nodetable_add(&table, i / 3, i);
    }
    CHECK_EQ(kymo__nodetable_reserve(&table), -ENOSPC);
    const uint32_t last = KYMO__NODETABLE_MOST - 1;
    CHECK_EQ(kymo__nodetable_find(&table, last / 3, last), KYMO__NODETABLE_MOST);
    kymo__nodetable_fini(&table);
}

static const struct check_case cases[] = {
    CHECK_CASE(what_was_added_is_found_and_nothing_else),
    CHECK_CASE(any_parents_and_frames_are_told_apart),
    CHECK_CASE(running_out_of_memory_changes_nothing),
    CHECK_CASE(a_full_table_refuses),
};
CHECK_MAIN(cases)
