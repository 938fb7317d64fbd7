/* Events of several threads within one tick of a slow counter, in every order of the threads. */
#include <kymo/heap.h>

#include "check.h"
#include "heapmade.h"
#include "random.h"

enum { THREADS = 3, EVENTS = 8, X = 0x1000, Y = 0x2000 };

/* What a thread does at one time: it allocates at an address, or frees it, which is negative. */
struct script {
    double time;
    int64_t event[EVENTS + 1]; /* up to 0 */
};

static void *play_script(void *arg)
{
    const struct script *script = arg;
    for (const int64_t *e = script->event; *e; e++) {
        if (*e < 0)
            heapmade_free(script->time, (uint64_t) - *e);
        else
            heapmade_alloc(script->time, "malloc", (uint64_t)*e, 1, 0);
    }
    return NULL;
}

static struct kymo_heap_info info_of(const char *name)
{
    struct kymo_capture *capture;
    struct kymo_heap *heap;
    struct kymo_heap_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_open(check_path(name), &capture));
    CHECK_OK(kymo_heap_new(capture, NULL, &heap));
    CHECK_OK(kymo_heap_info(heap, &info));
    kymo_heap_free(heap);
    kymo_close(capture);
    return info;
}

/* Record the scripts of three threads in each of their orders; X is alive before if it says so. All can
   have happened, and ALIVE blocks are left. */
static void check_orders(const struct script *scripts, bool x_is_alive, uint64_t alive)
{
    static const int orders[][THREADS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        heapmade_begin(check_path("ties"), "exact");
        if (x_is_alive)
            heapmade_alloc(10, "malloc", X, 1, 0);
        for (int k = 0; k < THREADS; k++) {
            struct script script = scripts[orders[i][k]];
            script.time = 50;
            heapmade_thread(play_script, &script);
        }
        struct kymo_heap_info info = info_of("ties");
        CHECK_EQ(info.disorder, 0);
        CHECK_EQ(info.unknown_frees, 0);
        CHECK_EQ(info.set[KYMO_HEAP_AT_END].count, alive);
    }
}

static void an_address_that_is_alive_is_freed_first(void)
{
    check_orders((struct script[]){{.event = {-X}}, {.event = {X}}, {.event = {Y}}}, true, 2);
}

static void an_address_that_is_not_alive_is_allocated_first(void)
{
    check_orders((struct script[]){{.event = {-X}}, {.event = {X}}, {.event = {Y}}}, false, 1);
}

static void a_block_may_be_freed_between_two_allocations_of_another_thread(void)
{
    check_orders((struct script[]){{.event = {X, X}}, {.event = {-X}}, {.event = {0}}}, false, 1);
}

static void a_block_may_pass_through_three_threads(void)
{
    check_orders((struct script[]){{.event = {-X}}, {.event = {X, -X}}, {.event = {X}}}, true, 1);
}

static void a_free_may_have_to_wait_for_another_thread(void)
{
    check_orders((struct script[]){{.event = {-X, X}}, {.event = {-X}}, {.event = {0}}}, true, 0);
}

static void threads_may_free_the_blocks_of_each_other(void)
{
    check_orders((struct script[]){{.event = {X, -Y}}, {.event = {Y, -X}}, {.event = {0}}}, false,
                 0);
}

static void what_cannot_have_happened_is_still_disorder(void)
{
    struct script script = {.time = 50, .event = {X}};
    heapmade_begin(check_path("impossible"), "exact");
    heapmade_thread(play_script, &script);
    heapmade_thread(play_script, &script);
    struct kymo_heap_info info = info_of("impossible");
    CHECK_EQ(info.disorder, 1);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].count, 1);
}

enum { ROUNDS = 300, ADDRESSES = 4 };

static void *play_rounds(void *arg)
{
    struct script *scripts = arg;
    for (int i = 0; i < ROUNDS; i++)
        play_script(&scripts[i]);
    return NULL;
}

static void random_programs_on_a_slow_counter_are_in_order(void)
{
    static struct script scripts[THREADS][ROUNDS];
    bool alive[ADDRESSES] = {false};
    uint64_t seed = 7, left = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int count[THREADS] = {0};
        for (int i = 0; i < THREADS; i++)
            scripts[i][round].time = 10 + round;
        for (int i = 0; i < 8; i++) {
            uint64_t number = random_next(&seed);
            int thread = (int)(number % THREADS), at = (int)(number / 64 % ADDRESSES);
            if (count[thread] == EVENTS)
                continue;
            alive[at] = !alive[at];
            scripts[thread][round].event[count[thread]++] =
                alive[at] ? X * (at + 1) : -X * (at + 1);
        }
    }
    heapmade_begin(check_path("random"), "exact");
    for (int i = 0; i < THREADS; i++)
        heapmade_thread(play_rounds, scripts[i]);
    for (int i = 0; i < ADDRESSES; i++)
        left += alive[i];
    struct kymo_heap_info info = info_of("random");
    CHECK_EQ(info.disorder, 0);
    CHECK_EQ(info.unknown_frees, 0);
    CHECK_EQ(info.set[KYMO_HEAP_AT_END].count, left);
}

static const struct check_case cases[] = {
    CHECK_CASE(an_address_that_is_alive_is_freed_first),
    CHECK_CASE(an_address_that_is_not_alive_is_allocated_first),
    CHECK_CASE(a_block_may_be_freed_between_two_allocations_of_another_thread),
    CHECK_CASE(a_block_may_pass_through_three_threads),
    CHECK_CASE(a_free_may_have_to_wait_for_another_thread),
    CHECK_CASE(threads_may_free_the_blocks_of_each_other),
    CHECK_CASE(what_cannot_have_happened_is_still_disorder),
    CHECK_CASE(random_programs_on_a_slow_counter_are_in_order),
};

CHECK_MAIN(cases)
