/* Async spans are matched by name and id, on one thread or across threads, and waits count
   for what they lie in. */
#include "asyncs.h"

#include <errno.h>

#include "alloc.h"
#include "check.h"
#include "random.h"

enum { TASK, WAIT, OTHER, READY, CALLABLES };

static struct kymo_callable all[CALLABLES] = {
    [TASK] = {.name = "task", .file = "", .class = KYMO_CLASS_FUNCTION},
    [WAIT] = {.name = "await sleep", .file = "", .class = KYMO_CLASS_WAIT},
    [OTHER] = {.name = "other", .file = ""},
    [READY] = {.name = "ready", .file = "", .class = KYMO_CLASS_WAIT},
};
static const struct kymo_callables callables = {.all = all, .count = CALLABLES};
static struct kymo_asyncs asyncs;

static void begin(uint32_t callable, uint64_t id, kymo_ns time)
{
    CHECK_OK(kymo__asyncs_begin(&asyncs, callable, id, time));
}

static void end(uint32_t callable, uint64_t id, kymo_ns time)
{
    CHECK_OK(kymo__asyncs_end(&asyncs, callable, id, time));
}

static void start(void)
{
    CHECK_OK(kymo__asyncs_init(&asyncs, &callables));
}

static void waits_count_for_their_task(void)
{
    start();
    begin(TASK, 7, 0);
    begin(TASK, 8, 5);
    begin(WAIT, 7, 10);
    begin(WAIT, 8, 20);
    end(WAIT, 7, 40);
    end(WAIT, 8, 30);
    begin(WAIT, 7, 50);
    end(WAIT, 7, 60);
    end(TASK, 7, 100);
    end(TASK, 8, 45);
    CHECK_OK(kymo__asyncs_settle(&asyncs, 1000));

    CHECK_EQ(asyncs.of[TASK]->count, 2);
    CHECK_EQ(asyncs.of[TASK]->inside, 0);
    CHECK_EQ(asyncs.of[TASK]->time, 100 + 40);
    CHECK_EQ(asyncs.of[TASK]->waited, 40 + 10);
    CHECK_EQ(asyncs.of[TASK]->longest, 100);
    CHECK_EQ(asyncs.of[WAIT]->count, 3);
    CHECK_EQ(asyncs.of[WAIT]->inside, 3);
    CHECK(asyncs.of[OTHER] == NULL);
    CHECK_EQ(asyncs.unmatched, 0);
    kymo__asyncs_fini(&asyncs);
}

static void being_ready_is_not_waiting_and_counts_for_the_wait_before_it(void)
{
    start();
    begin(TASK, 7, 0);
    begin(READY, 7, 1);
    end(READY, 7, 4); /* before its first step: for no wait */
    begin(WAIT, 7, 10);
    end(WAIT, 7, 30);
    begin(READY, 7, 30);
    end(READY, 7, 35);
    begin(WAIT, 7, 40);
    end(WAIT, 7, 50);
    begin(READY, 7, 50);
    end(READY, 7, 57);
    end(TASK, 7, 100);
    CHECK_OK(kymo__asyncs_settle(&asyncs, 1000));

    CHECK_EQ(asyncs.of[TASK]->waited, 20 + 10);
    CHECK_EQ(asyncs.of[TASK]->ready, 3 + 5 + 7);
    CHECK_EQ(asyncs.of[TASK]->ready_longest, 7);
    CHECK_EQ(asyncs.of[WAIT]->ready, 5 + 7);
    CHECK_EQ(asyncs.of[WAIT]->ready_longest, 7);
    kymo__asyncs_fini(&asyncs);
}

static void callbacks_that_block_are_summed_over_threads(void)
{
    struct kymo_asyncs whole;
    start();
    CHECK_OK(kymo__asyncs_init(&whole, &callables));
    CHECK_OK(kymo__asyncs_blocked(&whole, OTHER, 1000, 20));
    CHECK_OK(kymo__asyncs_blocked(&asyncs, OTHER, 3000, 50));
    CHECK_OK(kymo__asyncs_merge(&whole, &asyncs));

    CHECK_EQ(whole.blocked[OTHER]->count, 2);
    CHECK_EQ(whole.blocked[OTHER]->time, 70);
    CHECK_EQ(whole.blocked[OTHER]->longest, 50);
    CHECK_EQ(whole.blocked[OTHER]->when, 2950);
    CHECK(whole.blocked[TASK] == NULL);
    kymo__asyncs_fini(&whole);
    kymo__asyncs_fini(&asyncs);
}

static void any_number_may_be_an_id(void)
{
    const uint64_t ids[] = {0, UINT64_MAX, UINT64_MAX - 1, 1};
    start();
    for (int i = 0; i < 4; i++)
        begin(TASK, ids[i], 10);
    for (int i = 0; i < 4; i++)
        end(TASK, ids[i], 20 + i);
    CHECK_EQ(asyncs.of[TASK]->count, 4);
    CHECK_EQ(asyncs.of[TASK]->longest, 13);
    CHECK_OK(kymo__asyncs_settle(&asyncs, 1000));
    CHECK_EQ(asyncs.of[TASK]->count, 4);
    CHECK_EQ(asyncs.of[TASK]->time, 10 + 11 + 12 + 13);
    CHECK_EQ(asyncs.unmatched, 0);
    kymo__asyncs_fini(&asyncs);
}

static void what_is_open_lasts_until_the_end(void)
{
    start();
    begin(TASK, 1, 10);
    begin(TASK, 2, 20);
    end(TASK, 3, 30); /* whose begin was not seen */
    struct kymo_asyncs whole;
    CHECK_OK(kymo__asyncs_init(&whole, &callables));
    CHECK_OK(kymo__asyncs_merge(&whole, &asyncs));
    CHECK_OK(kymo__asyncs_settle(&whole, 100));

    CHECK_EQ(whole.of[TASK]->count, 2);
    CHECK_EQ(whole.of[TASK]->open, 2);
    CHECK_EQ(whole.of[TASK]->time, 90 + 80);
    CHECK_EQ(whole.unmatched, 1);
    kymo__asyncs_fini(&whole);
    kymo__asyncs_fini(&asyncs);
}

static void a_span_may_end_on_another_thread(void)
{
    struct kymo_asyncs whole, other;
    start();
    CHECK_OK(kymo__asyncs_init(&other, &callables));
    CHECK_OK(kymo__asyncs_init(&whole, &callables));
    begin(TASK, 1, 10);
    begin(TASK, 1, 50);
    begin(OTHER, 1, 60);
    CHECK_OK(kymo__asyncs_end(&other, TASK, 1, 30));
    CHECK_OK(kymo__asyncs_end(&other, TASK, 1, 90));
    CHECK_OK(kymo__asyncs_end(&other, OTHER, 2, 90));
    CHECK_OK(kymo__asyncs_merge(&whole, &other));
    CHECK_OK(kymo__asyncs_merge(&whole, &asyncs));
    CHECK_OK(kymo__asyncs_settle(&whole, 100));

    CHECK_EQ(whole.of[TASK]->count, 2);
    CHECK_EQ(whole.of[TASK]->time, 20 + 40);
    CHECK_EQ(whole.of[TASK]->open, 0);
    CHECK_EQ(whole.of[OTHER]->open, 1);
    CHECK_EQ(whole.unmatched, 1);
    kymo__asyncs_fini(&whole);
    kymo__asyncs_fini(&other);
    kymo__asyncs_fini(&asyncs);
}

static void memory_follows_what_is_open_at_once(void)
{
    start();
    uint64_t state = 1;
    for (int i = 0; i < 200000; i++) {
        uint64_t id = random_next(&state); /* each another one */
        begin(TASK, id, i);
        end(TASK, id, i + 1);
    }
    CHECK_EQ(asyncs.of[TASK]->count, 200000);
    CHECK_EQ(asyncs.of[TASK]->time, 200000);
    CHECK_EQ(asyncs.open_count, 1);
    CHECK_LE(asyncs.slot_count, 1024);
    kymo__asyncs_fini(&asyncs);
}

static void memory_may_run_out_anywhere(void)
{
    int rc = -ENOMEM;
    for (long n = 0; rc == -ENOMEM; n++) {
        CHECK(n < 1000);
        kymo__alloc_fail_after(n);
        rc = kymo__asyncs_init(&asyncs, &callables);
        for (uint64_t id = 0; rc == 0 && id < 200; id++)
            rc = kymo__asyncs_begin(&asyncs, TASK, id, 0);
        for (uint64_t id = 100; rc == 0 && id < 300; id++)
            rc = kymo__asyncs_end(&asyncs, TASK, id, 1);
        if (rc == 0)
            rc = kymo__asyncs_settle(&asyncs, 5);
        kymo__alloc_fail_after(-1);
        kymo__asyncs_fini(&asyncs);
    }
    CHECK_OK(rc);
}

static const struct check_case cases[] = {
    CHECK_CASE(waits_count_for_their_task),
    CHECK_CASE(what_is_open_lasts_until_the_end),
    CHECK_CASE(a_span_may_end_on_another_thread),
    CHECK_CASE(memory_follows_what_is_open_at_once),
    CHECK_CASE(memory_may_run_out_anywhere),
    CHECK_CASE(any_number_may_be_an_id),
    CHECK_CASE(being_ready_is_not_waiting_and_counts_for_the_wait_before_it),
    CHECK_CASE(callbacks_that_block_are_summed_over_threads),
};

CHECK_MAIN(cases)
