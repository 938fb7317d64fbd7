/* Captures from plain C: what they find, and that nothing can stop a thread from making more. */
#include <kymo/stack.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "check.h"
#include "fault.h"

static void equal_stacks_have_equal_ids_and_a_frame_each(void)
{
    kymo_stack stacks[100];
    struct kymo_frame frames[64];
    for (int i = 0; i < 100; i++)
        stacks[i] = kymo_stack_capture(KYMO_STACK_NATIVE | KYMO_STACK_MANAGED, 0);
    CHECK(stacks[0] != 0);
    size_t count = kymo_stack_frames(stacks[0], frames, 64);
    CHECK_LE(3, count);
    for (size_t i = 0; i < count && i < 64; i++)
        CHECK_EQ(frames[i].managed, 0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(stacks[i], stacks[0]);
        kymo_stack_release(stacks[i]);
    }
}

static void asking_for_nothing_gives_no_stack(void)
{
    CHECK_EQ(kymo_stack_capture(0, 0), 0);
    CHECK_EQ(kymo_stack_frames(0, NULL, 0), 0);
    kymo_stack_keep(0);
    kymo_stack_release(0);
}

static sigjmp_buf out;
static volatile sig_atomic_t jumps, may_jump;

static void jump(int number)
{
    (void)number;
    if (may_jump) {
        jumps++;
        siglongjmp(out, 1);
    }
}

static void *capture_and_be_thrown_out(void *arg)
{
    (void)arg;
    volatile int64_t end = fault_now() + INT64_C(300000000);
    sigsetjmp(out, 1);
    may_jump = 1;
    while (fault_now() < end)
        kymo_stack_release(kymo_stack_capture(KYMO_STACK_NATIVE, 0));
    may_jump = 0;
    kymo_stack after = kymo_stack_capture(KYMO_STACK_NATIVE, 0);
    kymo_stack_release(after);
    return after ? NULL : "there are no captures any more";
}

static void a_handler_that_jumps_out_of_a_capture_does_not_end_them(void)
{
    if (FAULT_TSAN)
        CHECK_SKIP("thread sanitizer delays signals");
    const struct sigaction action = {.sa_handler = jump};
    const struct itimerval often = {.it_interval = {.tv_usec = 500}, .it_value = {.tv_usec = 500}};
    const struct itimerval never = {0};
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    jumps = 0;
    CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
    const char *wrong = capture_and_be_thrown_out(NULL);
    CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
    signal(SIGALRM, SIG_DFL);
    CHECK_LE(20, jumps);
    if (wrong)
        CHECK_FAIL("%s", wrong);
}

static void *capture_once(void *arg)
{
    *(kymo_stack *)arg = kymo_stack_capture(KYMO_STACK_NATIVE, 0);
    return NULL;
}

static void threads_that_end_give_their_memory_to_others(void)
{
    struct kymo_stack_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    kymo_stack_stats(&before);
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        kymo_stack stack = 0;
        CHECK_EQ(pthread_create(&thread, NULL, capture_once, &stack), 0);
        pthread_join(thread, NULL);
        CHECK(stack != 0);
        kymo_stack_release(stack);
    }
    kymo_stack_stats(&after);
    CHECK_EQ(after.captures - before.captures, 500);
    CHECK_EQ(after.dropped, before.dropped);
}

static const struct check_case cases[] = {
    CHECK_CASE(equal_stacks_have_equal_ids_and_a_frame_each),
    CHECK_CASE(asking_for_nothing_gives_no_stack),
    CHECK_CASE(a_handler_that_jumps_out_of_a_capture_does_not_end_them),
    CHECK_CASE(threads_that_end_give_their_memory_to_others),
};
CHECK_MAIN(cases)
