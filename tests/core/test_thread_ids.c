/* The system reuses the ids of threads that have ended. The sampler learns of an end late, and must
   not free what a new thread of the same id has just taken over. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"
#include "local.h"
#include "local_parts.h"

static uint32_t tid_now(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static _Thread_local bool armed;
static int noticed;

/* Called between a thread's decision to take over a prepared lane and its last step of doing so:
   the moment at which the sampler notices the end of the earlier thread. ThreadSanitizer calls it on
   threads of its own, which must not be instrumented. */
__attribute__((no_sanitize("thread"))) int pthread_setspecific(pthread_key_t key, const void *value)
{
    static int (*next)(pthread_key_t, const void *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_setspecific");
    if (armed) {
        armed = false;
        noticed++;
        kymo__lane_ended(tid_now());
    }
    return next(key, value);
}

static void *begin_with_a_used_id(void *arg)
{
    struct kymo_lane **lanes = arg;
    lanes[0] = kymo__lane_prepare(tid_now()); /* for the earlier thread */
    armed = true;
    kymo_instant("first");
    armed = false;
    lanes[1] = kymo__lane;
    lanes[2] = kymo__lane_prepare(tid_now()); /* NULL: this thread's lane is still known */
    kymo_instant("second");
    return NULL;
}

static void a_lane_that_a_new_thread_takes_over_is_not_freed(void)
{
    struct kymo_lane *lanes[3] = {0};
    pthread_t thread;
    CHECK_OK(fault_start(check_path("taken"), 0, KYMO_HELP));
    CHECK_EQ(pthread_create(&thread, NULL, begin_with_a_used_id, lanes), 0);
    pthread_join(thread, NULL);
    CHECK_OK(kymo_stop());

    CHECK_EQ(noticed, 1);
    CHECK(lanes[0] != NULL);
    CHECK(lanes[0] == lanes[1]);
    CHECK(lanes[2] == NULL);
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("taken"), &capture));
    CHECK_EQ(fault_info(capture).records, 2);
    kymo_close(capture);
}

static void *sampled_alone(void *arg)
{
    /* A signal handler records on the prepared lane; the thread ends without any other record. */
    *(uint32_t *)arg = tid_now();
    CHECK(kymo__lane_in_signal(kymo__lane_prepare(tid_now())) != NULL);
    kymo__lane = NULL;
    return NULL;
}

static void *begin_after_the_sampled(void *arg)
{
    /* A thread that finds the lane of an earlier one with records does not continue it. */
    struct kymo_lane *stale = kymo__lane_prepare(tid_now());
    kymo__lane_in_signal(stale);
    kymo__lane = NULL;
    kymo_instant("own");
    *(bool *)arg = kymo__lane != NULL && kymo__lane_prepare(tid_now()) == NULL;
    return NULL;
}

static void a_lane_with_records_of_an_earlier_thread_is_not_continued(void)
{
    pthread_t thread;
    uint32_t tid = 0;
    bool own = false;
    CHECK_OK(fault_start(check_path("stale"), 0, KYMO_HELP));
    CHECK_EQ(pthread_create(&thread, NULL, sampled_alone, &tid), 0);
    pthread_join(thread, NULL);
    kymo__lane_ended(tid);
    CHECK_EQ(pthread_create(&thread, NULL, begin_after_the_sampled, &own), 0);
    pthread_join(thread, NULL);
    CHECK_OK(kymo_stop());
    CHECK(own);
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("stale"), &capture));
    CHECK_EQ(fault_info(capture).records, 1);
    kymo_close(capture);
}

static void *sampled_while_it_begins(void *arg)
{
    struct kymo_lane **lanes = arg;
    lanes[0] = kymo__lane_prepare(tid_now());
    /* The thread has seen that it has no lane; a signal handler records before it takes the lock. */
    kymo__lane_in_signal(lanes[0]);
    struct kymo_local *local = kymo__local_mine();
    lanes[1] = kymo__lane;
    if (local)
        kymo_lane_release(&local->lane, local->lane.next);
    return NULL;
}

static void a_lane_that_a_signal_has_just_begun_is_its_threads_own(void)
{
    struct kymo_lane *lanes[2] = {0};
    pthread_t thread;
    CHECK_OK(fault_start(check_path("begun"), 0, KYMO_HELP));
    CHECK_EQ(pthread_create(&thread, NULL, sampled_while_it_begins, lanes), 0);
    pthread_join(thread, NULL);
    CHECK_OK(kymo_stop());
    CHECK(lanes[0] != NULL);
    CHECK(lanes[1] == lanes[0]);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_lane_that_a_new_thread_takes_over_is_not_freed),
    CHECK_CASE(a_lane_with_records_of_an_earlier_thread_is_not_continued),
    CHECK_CASE(a_lane_that_a_signal_has_just_begun_is_its_threads_own),
};

CHECK_MAIN(cases)
