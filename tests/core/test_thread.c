/* Threads of our own do not disturb the program. */
#include "thread.h"

#include <kymo/kymo.h>
#include <signal.h>
#include <sys/prctl.h>

#include "check.h"

struct seen {
    char name[16];
    sigset_t blocked;
    int cancel;
    size_t stack;
};

static void *look_around(void *arg)
{
    struct seen *seen = arg;
    pthread_attr_t attributes;
    prctl(PR_GET_NAME, seen->name);
    pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &seen->cancel);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &seen->stack);
    pthread_attr_destroy(&attributes);
    return seen;
}

static void a_thread_has_a_name_no_signals_and_cannot_be_cancelled(void)
{
    struct seen seen = {.cancel = -1};
    sigset_t before, after;
    pthread_t thread;
    void *result;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    CHECK_OK(kymo__thread_start(&thread, "kymo test", KYMO__SMALL_STACK, look_around, &seen));
    CHECK_EQ(pthread_join(thread, &result), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);

    CHECK(result == &seen);
    CHECK_STR(seen.name, "kymo test");
    CHECK_EQ(seen.cancel, PTHREAD_CANCEL_DISABLE);
    const int theirs[] = {SIGINT, SIGTERM, SIGCHLD, SIGALRM, SIGPROF, SIGUSR1, SIGRTMIN + 3};
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
        CHECK(sigismember(&seen.blocked, theirs[i]) == 1);
    CHECK(!sigismember(&seen.blocked, SIGBUS) && !sigismember(&seen.blocked, SIGSEGV));
    for (int i = 1; i < SIGRTMIN; i++)
        CHECK_EQ(sigismember(&after, i), sigismember(&before, i));
}

static void a_thread_has_the_stack_that_was_asked_for(void)
{
    struct seen small, usual;
    pthread_t thread;
    CHECK_OK(kymo__thread_start(&thread, "small", KYMO__SMALL_STACK, look_around, &small));
    pthread_join(thread, NULL);
    CHECK_OK(kymo__thread_start(&thread, "usual", 0, look_around, &usual));
    pthread_join(thread, NULL);
    CHECK_LE(KYMO__SMALL_STACK, small.stack);
    CHECK_LE(small.stack, 2 * KYMO__SMALL_STACK);
    CHECK_LE(small.stack + 1, usual.stack);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_thread_has_a_name_no_signals_and_cannot_be_cancelled),
    CHECK_CASE(a_thread_has_the_stack_that_was_asked_for),
};
CHECK_MAIN(cases)
