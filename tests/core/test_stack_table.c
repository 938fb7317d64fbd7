/* Stacks by content: one id for equal ones, bounded memory, no lock. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "atomic.h"
#include "bycontent.h"
#include "check.h"
#include "fault.h"
#include "random.h"

#define DEPTH_MAX 64
#define FIRSTS 8

/* Stack N: some words that depend on N alone. */
static size_t words_of(uint64_t n, uint64_t *words)
{
    size_t depth = 1 + n % DEPTH_MAX;
    for (size_t i = 0; i < depth; i++)
        words[i] = n * 1000 + i;
    return depth;
}

static uint64_t hash_of(uint64_t n)
{
    return kymo_stack_hash(kymo_stack_hash(77, n), n >> 7);
}

static kymo_stack take(uint64_t n)
{
    uint64_t words[DEPTH_MAX];
    kymo_stack stack = kymo__table_find(hash_of(n));
    return stack ? stack : kymo__table_add(hash_of(n), words, words_of(n, words));
}

static bool is(kymo_stack stack, uint64_t n)
{
    uint64_t wanted[DEPTH_MAX], found[DEPTH_MAX];
    size_t depth = words_of(n, wanted);
    return kymo__table_words(stack, found, DEPTH_MAX) == depth &&
           memcmp(wanted, found, depth * sizeof *found) == 0;
}

static struct kymo_stack_stats stats(void)
{
    struct kymo_stack_stats now = {.size = sizeof now};
    kymo_stack_stats(&now);
    return now;
}

static void an_invalid_limit_is_refused(void)
{
    CHECK_EQ(kymo_stack_limit(1000), -EINVAL);
    CHECK_EQ(kymo_stack_limit(4 << 20), 0);
}

static pthread_barrier_t start;

static void *takes_first(void *number)
{
    pthread_barrier_wait(&start);
    kymo_stack stack = take((uint64_t)(uintptr_t)number);
    return (void *)(uintptr_t)(stack && is(stack, (uint64_t)(uintptr_t)number));
}

/* For a process without a table: how many of its threads got a stack in the one they all made. */
static int first_takes(void)
{
    pthread_t threads[FIRSTS];
    int got = 0;
    pthread_barrier_init(&start, NULL, FIRSTS);
    for (uintptr_t i = 0; i < FIRSTS; i++)
        pthread_create(&threads[i], NULL, takes_first, (void *)i);
    for (int i = 0; i < FIRSTS; i++) {
        void *has;
        pthread_join(threads[i], &has);
        got += has != NULL;
    }
    return got;
}

static void threads_that_come_first_at_once_all_get_a_stack(void)
{
    for (int i = 0; i < FAULT_TIMES(300, 100); i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(first_takes());
        int status;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, FIRSTS << 8);
    }
}

static void equal_stacks_have_equal_ids_and_keep_their_frames(void)
{
    kymo_stack stacks[500];
    for (uint64_t n = 0; n < 500; n++)
        stacks[n] = take(n);
    for (uint64_t n = 0; n < 500; n++) {
        CHECK(stacks[n] != 0);
        CHECK(is(stacks[n], n));
        kymo_stack again = take(n);
        CHECK_EQ(again, stacks[n]);
        kymo_stack_release(again);
        kymo_stack_release(stacks[n]);
    }
}

static void the_limit_cannot_be_changed_later(void)
{
    CHECK_EQ(kymo_stack_limit(8 << 20), -EBUSY);
}

static void unheld_stacks_make_room_and_held_ones_stay(void)
{
    enum { HELD = 1000 };
    kymo_stack held[HELD];
    for (uint64_t n = 0; n < HELD; n++)
        CHECK((held[n] = take(1000000 + n)) != 0);
    for (uint64_t n = 0; n < 300000; n++) {
        kymo_stack stack = take(2000000 + n);
        CHECK(stack != 0);
        CHECK(is(stack, 2000000 + n));
        kymo_stack_release(stack);
    }
    CHECK(stats().bytes <= stats().limit);
    for (uint64_t n = 0; n < HELD; n++) {
        CHECK(is(held[n], 1000000 + n));
        CHECK_EQ(take(1000000 + n), held[n]);
        kymo_stack_release(held[n]);
        kymo_stack_release(held[n]);
    }
}

static void a_full_table_has_room_again_after_a_release(void)
{
    static kymo_stack held[200000];
    uint64_t dropped = stats().dropped, none = 0;
    for (uint64_t n = 0; n < 200000; n++)
        none += !(held[n] = take(5000000 + n));
    CHECK(none > 100000);
    CHECK_EQ(stats().dropped - dropped, none);
    CHECK(stats().bytes <= stats().limit);
    for (uint64_t n = 0; n < 200000; n++) {
        CHECK(!held[n] || is(held[n], 5000000 + n));
        kymo_stack_release(held[n]);
    }
    kymo_stack stack = take(6000000);
    CHECK(stack != 0);
    kymo_stack_release(stack);
}

enum { THREADS = 4, ROUNDS = 60000, RANGE = 30000, HOLD = 64 };

static void *hammer(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg + 1;
    struct {
        kymo_stack stack;
        uint64_t n;
    } held[HOLD] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t n = 9000000 + random_next(&seed) % RANGE, at = random_next(&seed) % HOLD;
        if (held[at].stack && !is(held[at].stack, held[at].n))
            return "a stack that is held has changed";
        kymo_stack_release(held[at].stack);
        held[at].stack = take(n);
        held[at].n = n;
    }
    for (int i = 0; i < HOLD; i++) {
        if (held[i].stack && !is(held[i].stack, held[i].n))
            return "a stack that is held has changed";
        kymo_stack_release(held[i].stack);
    }
    return NULL;
}

static void threads_that_take_and_release_never_see_another_stack(void)
{
    pthread_t threads[THREADS];
    const char *wrong[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], (void **)&wrong[i]);
    for (int i = 0; i < THREADS; i++)
        if (wrong[i])
            CHECK_FAIL("%s", wrong[i]);
}

static const struct check_case cases[] = {
    CHECK_CASE(an_invalid_limit_is_refused),
    CHECK_CASE(threads_that_come_first_at_once_all_get_a_stack),
    CHECK_CASE(equal_stacks_have_equal_ids_and_keep_their_frames),
    CHECK_CASE(the_limit_cannot_be_changed_later),
    CHECK_CASE(unheld_stacks_make_room_and_held_ones_stay),
    CHECK_CASE(a_full_table_has_room_again_after_a_release),
    CHECK_CASE(threads_that_take_and_release_never_see_another_stack),
};
CHECK_MAIN(cases)
