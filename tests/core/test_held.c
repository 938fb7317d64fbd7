/* The tables of live blocks, used by several threads at once: for sanitizers, too, since nothing is
   patched here. */
#include <pthread.h>

#include "blocks.h"
#include "check.h"
#include "live_held.h"
#include "random.h"
#include "sampled.h"

enum { THREADS = 4, ROUNDS = 20000, ALIVE = 500, STACKS = 5, FUNCTION = 9 };

static struct kymo_blocks blocks;

/* Every thread owns addresses of its own, as with an allocator. */
static uintptr_t address_of(uintptr_t thread, uint64_t number)
{
    return (thread << 32 | number << 4) + 0x10000;
}

static void *use_blocks(void *arg)
{
    uintptr_t thread = (uintptr_t)arg;
    uint64_t seed = thread, value, wrong = 0;
    bool alive[ALIVE] = {false};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t number = random_next(&seed) % ALIVE;
        uintptr_t at = address_of(thread, number);
        if (alive[number])
            wrong += !kymo__blocks_take(&blocks, at, &value) || value != (number ^ thread);
        else
            wrong += kymo__blocks_take(&blocks, at, &value) ||
                     !kymo__blocks_add(&blocks, at, number ^ thread);
        alive[number] = !alive[number];
    }
    for (uint64_t number = 0; number < ALIVE; number++)
        wrong += kymo__blocks_take(&blocks, address_of(thread, number), &value) != alive[number];
    return (void *)(uintptr_t)wrong;
}

static void *hold(void *arg)
{
    uintptr_t thread = (uintptr_t)arg;
    uint64_t seed = thread, size, wrong = 0;
    uint32_t stack, function;
    bool alive[ALIVE] = {false};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t number = random_next(&seed) % ALIVE;
        uintptr_t at = address_of(thread, number);
        if (alive[number])
            wrong += !kymo__held_take(at, &size, &stack, &function) || size != 100 + number ||
                     stack != 1 + number % STACKS || function != FUNCTION;
        else
            kymo__held_add(at, 100 + number, (uint32_t)(1 + number % STACKS), FUNCTION);
        alive[number] = !alive[number];
    }
    /* Leave the first ten. */
    for (uint64_t number = 0; number < ALIVE; number++) {
        uintptr_t at = address_of(thread, number);
        if (alive[number] && number >= 10)
            wrong += !kymo__held_take(at, &size, &stack, &function);
        else if (!alive[number] && number < 10)
            kymo__held_add(at, 100 + number, (uint32_t)(1 + number % STACKS), FUNCTION);
    }
    return (void *)(uintptr_t)wrong;
}

static uint64_t on_threads(void *(*body)(void *arg))
{
    pthread_t threads[THREADS];
    uint64_t wrong = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, body, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (uintptr_t)result;
    }
    return wrong;
}

static void blocks_of_several_threads_are_found_again(void)
{
    CHECK_OK(kymo__blocks_begin(&blocks));
    CHECK_EQ(on_threads(use_blocks), 0);
    CHECK_OK(kymo__blocks_begin(&blocks)); /* again, in tables that were used */
    CHECK_EQ(on_threads(use_blocks), 0);
}

static void more_blocks_than_the_first_table_has_places_are_kept(void)
{
    enum { MANY = 100000 };
    uint64_t value, wrong = 0;
    CHECK_OK(kymo__blocks_begin(&blocks));
    for (uint64_t i = 0; i < MANY; i++)
        wrong += !kymo__blocks_add(&blocks, address_of(1, i), i);
    for (uint64_t i = 0; i < MANY; i++)
        wrong += !kymo__blocks_take(&blocks, address_of(1, i), &value) || value != i;
    CHECK_EQ(wrong, 0);
    CHECK(!kymo__blocks_take(&blocks, address_of(1, 0), &value));
}

struct sums {
    uint64_t bytes, count, rows;
};

static void add_row(void *arg, uint64_t bytes, uint64_t count, uint32_t stack, uint32_t function)
{
    struct sums *sums = arg;
    sums->bytes += bytes;
    sums->count += count;
    sums->rows += stack >= 1 && stack <= STACKS && function == FUNCTION;
}

static void what_threads_hold_is_summed_up_by_stack(void)
{
    struct sums now = {0}, peak = {0};
    CHECK_OK(kymo__live_held_begin(0));
    CHECK_EQ(on_threads(hold), 0);
    kymo__held_rows(false, add_row, &now);
    CHECK_EQ(now.bytes, THREADS * (10 * 100 + 45));
    CHECK_EQ(now.count, THREADS * 10);
    CHECK_EQ(now.rows, STACKS);
    kymo__held_rows(true, add_row, &peak);
    CHECK(peak.bytes >= now.bytes);
    CHECK_EQ(kymo__held_lost(), 0);
}

static void the_peak_is_what_was_held_then(void)
{
    struct sums peak = {0};
    uint64_t size;
    uint32_t stack, function;
    CHECK_OK(kymo__live_held_begin(0));
    kymo__held_add(0x1000, 100, 1, FUNCTION);
    kymo__held_add(0x2000, 300, 2, FUNCTION); /* 400: the peak */
    CHECK(kymo__held_take(0x2000, &size, &stack, &function));
    kymo__held_add(0x3000, 200, 3, FUNCTION);
    kymo__held_rows(true, add_row, &peak);
    CHECK_EQ(peak.bytes, 400);
    CHECK_EQ(peak.count, 2);
}

static const struct check_case cases[] = {
    CHECK_CASE(blocks_of_several_threads_are_found_again),
    CHECK_CASE(more_blocks_than_the_first_table_has_places_are_kept),
    CHECK_CASE(what_threads_hold_is_summed_up_by_stack),
    CHECK_CASE(the_peak_is_what_was_held_then),
};

CHECK_MAIN(cases)
