/* Stacks as a tree: one node for equal stacks, from any thread, and what is used is found once. */
#include <pthread.h>
#include <string.h>

#include "atomic.h"
#include "check.h"
#include "fault.h"
#include "random.h"
#include "stacktree.h"

enum {
    DEPTH = 6,
    FANOUT = 8,
    THREADS = 4,
    ROUNDS = FAULT_TIMES(20000, 5000),
    NODES_MOST = 1 << 20
};
enum { NEIGHBOURS = 4 << 20 };

/* The node of DEPTH frames that depend on SEED alone. */
static kymo_stack node_of(uint64_t seed)
{
    kymo_stack node = 0;
    for (int i = 0; i < DEPTH; i++, seed /= FANOUT)
        node = kymo__stacktree_child(node, 1 + seed % FANOUT);
    return node;
}

static bool is_path(kymo_stack node, uint64_t seed)
{
    uint64_t words[DEPTH];
    for (int i = DEPTH - 1; i >= 0; i--) {
        if (!node)
            return false;
        words[i] = kymo__stacktree_word(node);
        node = kymo__stacktree_parent(node);
    }
    for (int i = 0; i < DEPTH; i++, seed /= FANOUT)
        if (words[i] != 1 + seed % FANOUT)
            return false;
    return node == 0;
}

static void equal_stacks_have_one_node(void)
{
    kymo__stacktree_begin();
    for (uint64_t seed = 0; seed < 5000; seed++) {
        kymo_stack node = node_of(seed);
        CHECK(kymo__stacktree_has(node));
        CHECK(is_path(node, seed));
        CHECK_EQ(node_of(seed), node);
    }
    CHECK_EQ(node_of(0), kymo__stacktree_child(kymo__stacktree_parent(node_of(0)), 1));
}

static void what_is_used_is_found_once(void)
{
    kymo__stacktree_begin();
    kymo_stack one = node_of(1), two = node_of(2);
    CHECK(!kymo__stacktree_has_used());
    CHECK(kymo__stacktree_use(one));
    CHECK(kymo__stacktree_use(two));
    CHECK(!kymo__stacktree_use(one));
    CHECK_EQ(kymo__stacktree_used(), two);
    CHECK_EQ(kymo__stacktree_used(), one);
    CHECK_EQ(kymo__stacktree_used(), 0);
    CHECK(!kymo__stacktree_use(two));
    CHECK(!kymo__stacktree_has_used());
}

static uint32_t wrong, first_uses;

static void *add_and_use(void *arg)
{
    uint64_t state = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t seed = random_next(&state) % 4000;
        kymo_stack node = node_of(seed);
        if (!is_path(node, seed))
            kymo__add_relaxed(&wrong, 1u);
        if (kymo__stacktree_use(node))
            kymo__add_relaxed(&first_uses, 1u);
    }
    return NULL;
}

static void threads_add_the_same_stacks_at_the_same_time(void)
{
    pthread_t threads[THREADS];
    static uint8_t seen[NODES_MOST];
    uint32_t taken = 0;
    kymo__stacktree_begin();
    wrong = first_uses = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, add_and_use, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (kymo_stack node; (node = kymo__stacktree_used()); taken++) {
        CHECK_LE(node, kymo__stacktree_last());
        CHECK_EQ(seen[node / 2]++, 0);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(taken, first_uses);
    /* A node is lost only if two threads add different ones to a slot at the same moment. */
    CHECK_LE(taken, 4400);
}

static void a_parent_comes_before_its_children(void)
{
    for (kymo_stack node = 1; node <= kymo__stacktree_last(); node += 2)
        CHECK_LE(kymo__stacktree_parent(node) + 1, node);
}

static void a_full_tree_refuses(void)
{
    const uint32_t most = kymo__stacktree_most;
    kymo__stacktree_most = 10;
    kymo__stacktree_begin();
    for (uint64_t word = 1; word <= 10; word++)
        CHECK(kymo__stacktree_child(0, word) != 0);
    CHECK_EQ(kymo__stacktree_child(0, 11), 0);
    CHECK(kymo__stacktree_child(0, 10) != 0); /* it is known */
    kymo__stacktree_most = most;
}

static void more_stacks_than_the_first_tables_hold_are_found(void)
{
    kymo__stacktree_begin();
    for (uint64_t word = 1; word <= 200000; word++)
        CHECK(kymo__stacktree_child(0, word) != 0);
    CHECK_EQ(kymo__stacktree_last(), 2 * 199999 + 1);
    for (uint64_t word = 1; word <= 200000; word++)
        CHECK_EQ(kymo__stacktree_word(kymo__stacktree_child(0, word)), word);
    CHECK_EQ(kymo__stacktree_last(), 2 * 199999 + 1);
}

/* Every word below one node: as many nodes in a few lines of the tables as there can be. */
static void a_tree_of_neighbours_holds_as_many_as_any(void)
{
    kymo__stacktree_begin();
    for (uint64_t word = 1; word <= NEIGHBOURS; word++)
        CHECK(kymo__stacktree_child(0, word) != 0);
    CHECK_EQ(kymo__stacktree_last(), 2 * (NEIGHBOURS - 1) + 1);
    for (uint64_t word = 1; word <= NEIGHBOURS; word += 97)
        CHECK_EQ(kymo__stacktree_word(kymo__stacktree_child(0, word)), word);
    CHECK_EQ(kymo__stacktree_last(), 2 * (NEIGHBOURS - 1) + 1);
    kymo__stacktree_begin();
}

static const struct check_case cases[] = {
    CHECK_CASE(equal_stacks_have_one_node),
    CHECK_CASE(what_is_used_is_found_once),
    CHECK_CASE(threads_add_the_same_stacks_at_the_same_time),
    CHECK_CASE(a_parent_comes_before_its_children),
    CHECK_CASE(a_full_tree_refuses),
    CHECK_CASE(more_stacks_than_the_first_tables_hold_are_found),
    CHECK_CASE(a_tree_of_neighbours_holds_as_many_as_any),
};
CHECK_MAIN(cases)
