/* Numbers for pairs of words, and ids on their way from many threads to one. */
#include "pairs.h"

#include <kymo/kymo.h>
#include <pthread.h>
#include <sched.h>

#include "alloc.h"
#include "check.h"
#include "idring.h"

static void what_was_added_is_found_and_nothing_else(void)
{
    struct kymo_pairs pairs = {0};
    CHECK_EQ(kymo__pairs_find(&pairs, 0, 0), 0);
    for (uint32_t i = 0; i < 10000; i++) {
        CHECK_OK(kymo__pairs_reserve(&pairs));
        kymo__pairs_add(&pairs, i % 100, i / 100, i + 1);
    }
    CHECK_EQ(pairs.count, 10000);
    for (uint32_t i = 0; i < 10000; i++)
        CHECK_EQ(kymo__pairs_find(&pairs, i % 100, i / 100), i + 1);
    CHECK_EQ(kymo__pairs_find(&pairs, 100, 0), 0);
    CHECK_EQ(kymo__pairs_find(&pairs, 0, 100), 0);
    kymo__pairs_fini(&pairs);
}

static void running_out_of_memory_changes_nothing(void)
{
    struct kymo_pairs pairs = {0};
    kymo__alloc_fail_after(10);
    uint32_t added = 0;
    while (kymo__pairs_reserve(&pairs) == 0) {
        kymo__pairs_add(&pairs, added, 7, added + 1);
        added++;
    }
    kymo__alloc_fail_after(-1);
    CHECK_LE(100, added);
    for (uint32_t i = 0; i < added; i++)
        CHECK_EQ(kymo__pairs_find(&pairs, i, 7), i + 1);
    CHECK_OK(kymo__pairs_reserve(&pairs));
    kymo__pairs_fini(&pairs);
}

static struct kymo_idring ring;

static void a_full_ring_takes_no_more_until_something_is_taken(void)
{
    uint32_t id;
    memset(&ring, 0, sizeof(ring));
    ring.given = ring.taken = 0;
    CHECK(!kymo__idring_take(&ring, &id));
    for (uint32_t i = 0; i < KYMO__IDRING_SIZE; i++) {
        CHECK_EQ(kymo__idring_half_full(&ring), i > KYMO__IDRING_SIZE / 2);
        CHECK(kymo__idring_give(&ring, i + 1));
    }
    CHECK(!kymo__idring_give(&ring, 1));
    for (uint32_t i = 0; i < 3 * KYMO__IDRING_SIZE; i++) {
        CHECK(kymo__idring_take(&ring, &id));
        CHECK_EQ(id, i + 1);
        CHECK(kymo__idring_give(&ring, i + 1 + KYMO__IDRING_SIZE));
    }
}

enum { GIVERS = 4, EACH = 200000 };

static void *give_in_order(void *arg)
{
    uint32_t giver = *(uint32_t *)arg;
    for (uint32_t i = 0; i < EACH;)
        if (kymo__idring_give(&ring, giver << 28 | i))
            i++;
        else
            sched_yield();
    return NULL;
}

static void nothing_is_lost_or_doubled_between_threads(void)
{
    pthread_t threads[GIVERS];
    uint32_t numbers[GIVERS], next[GIVERS] = {0}, id;
    ring.given = ring.taken = 0;
    memset(&ring, 0, sizeof(ring));
    for (uint32_t i = 0; i < GIVERS; i++) {
        numbers[i] = i;
        CHECK_EQ(pthread_create(&threads[i], NULL, give_in_order, &numbers[i]), 0);
    }
    for (uint32_t taken = 0; taken < GIVERS * EACH;) {
        if (!kymo__idring_take(&ring, &id)) {
            sched_yield();
            continue;
        }
        CHECK_EQ(id & 0xfffffff, next[id >> 28]++);
        taken++;
    }
    for (int i = 0; i < GIVERS; i++)
        pthread_join(threads[i], NULL);
    CHECK(!kymo__idring_take(&ring, &id));
}

static const struct check_case cases[] = {
    CHECK_CASE(what_was_added_is_found_and_nothing_else),
    CHECK_CASE(running_out_of_memory_changes_nothing),
    CHECK_CASE(a_full_ring_takes_no_more_until_something_is_taken),
    CHECK_CASE(nothing_is_lost_or_doubled_between_threads),
};
CHECK_MAIN(cases)
