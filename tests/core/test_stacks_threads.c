/* All threads are asked where they are, and what they were doing goes on. */
#include "dumped.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>

#include "threads.h"

#define MS INT64_C(1000000)

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;

__attribute__((noinline)) static void *blocked_in_read(struct waiter *w)
{
    char c;
    w->result = (int)read(w->fds[0], &c, 1);
    w->error = errno;
    return NULL;
}

__attribute__((noinline)) static void *blocked_in_lock(struct waiter *w)
{
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    w->result = 0;
    return NULL;
}

__attribute__((noinline)) static void *asleep(struct waiter *w)
{
    int64_t began = fault_now();
    struct timespec left = {2, 0};
    w->result = nanosleep(&left, &left);
    w->error = errno;
    w->took = fault_now() - began;
    return NULL;
}

__attribute__((noinline)) static void *spinning(struct waiter *w)
{
    while (!stop)
        __asm__ volatile("" : : : "memory");
    w->result = 0;
    return NULL;
}

__attribute__((noinline)) static void *deaf(struct waiter *w)
{
    sigset_t all, before;
    char c;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    w->result = (int)read(w->fds[0], &c, 1);
    pthread_sigmask(SIG_SETMASK, &before, NULL); /* what the system holds for it comes now */
    return NULL;
}

static void threads_are_found_where_they_are(void)
{
    struct waiter reader = {0}, locker = {0}, sleeper = {0}, spinner = {0};
    stop = 0;
    pthread_mutex_lock(&held);
    waiter_start(&reader, blocked_in_read);
    waiter_start(&locker, blocked_in_lock);
    waiter_start(&sleeper, asleep);
    waiter_start(&spinner, spinning);
    fault_sleep(30 * MS);
    char *text = dump();
    stop = 1;
    pthread_mutex_unlock(&held);
    CHECK_PART(text, reader.tid, "native blocked_in_read");
    CHECK_PART(text, reader.tid, "native waiter_main");
    CHECK_PART(text, locker.tid, "native blocked_in_lock");
    CHECK_PART(text, sleeper.tid, "native asleep");
    CHECK_PART(text, spinner.tid, "native spinning");
    CHECK_PART(text, (uint32_t)getpid(), ", which asked");
    CHECK_PART(text, (uint32_t)getpid(), "native threads_are_found_where_they_are");
    CHECK(!part_has(text, (uint32_t)getpid(), "native kymo_"));
    CHECK(strstr(text, ". 5 threads, most recent call last.\n") != NULL);
    free(text);
    waiter_end(&reader);
    waiter_end(&locker);
    waiter_end(&sleeper);
    waiter_end(&spinner);
}

static void the_outermost_call_comes_first(void)
{
    struct waiter reader = {0};
    waiter_start(&reader, blocked_in_read);
    fault_sleep(20 * MS);
    char *text = dump();
    waiter_end(&reader);
    const char *outer = strstr(text, "native waiter_main");
    CHECK(outer && strstr(outer, "native blocked_in_read"));
    free(text);
}

static void a_thread_that_blocks_signals_is_reported_as_silent(void)
{
    struct waiter waiter = {0};
    waiter_start(&waiter, deaf);
    fault_sleep(20 * MS);
    int64_t began = fault_now();
    char *text = dump();
    CHECK_LE(fault_now() - began, 10000 * MS);
    CHECK_PART(text, waiter.tid, "It did not answer: it blocks signals. It is sleeping");
    free(text);
    waiter_end(&waiter);
    CHECK_EQ(waiter.result, 0);
}

static void late_signals_are_harmless(void)
{
    /* With SIGURG and SIGWINCH taken by the program, one that ends the process by default. */
    struct sigaction mine = {.sa_handler = SIG_DFL}, now;
    mine.sa_handler = (void (*)(int))(void (*)(void))fault_now;
    sigaction(SIGURG, &mine, NULL);
    sigaction(SIGWINCH, &mine, NULL);
    struct waiter waiter = {0}, reader = {0};
    waiter_start(&waiter, deaf);
    waiter_start(&reader, blocked_in_read);
    fault_sleep(20 * MS);
    char *text = dump();
    CHECK_PART(text, waiter.tid, "It did not answer");
    CHECK_PART(text, reader.tid, "native blocked_in_read");
    free(text);
    waiter_end(&waiter);
    waiter_end(&reader);
    sigaction(SIGURG, NULL, &now);
    CHECK(now.sa_handler == mine.sa_handler);
    signal(SIGURG, SIG_DFL);
    signal(SIGWINCH, SIG_DFL);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        sigaction(number, NULL, &now);
        CHECK(now.sa_handler == SIG_DFL);
    }
}

static void the_signal_is_unused_afterwards(void)
{
    struct sigaction now;
    free(dump());
    sigaction(SIGURG, NULL, &now);
    CHECK(now.sa_handler == SIG_DFL);
    signal(SIGURG, SIG_IGN);
    free(dump());
    sigaction(SIGURG, NULL, &now);
    signal(SIGURG, SIG_DFL);
    CHECK(now.sa_handler == SIG_IGN);
}

enum { MANY = 200 };

static void two_hundred_threads_all_answer(void)
{
    static struct waiter many[MANY];
    memset(many, 0, sizeof(many));
    for (int i = 0; i < MANY; i++)
        waiter_start(&many[i], blocked_in_read);
    fault_sleep(50 * MS);
    struct kymo_thread_stack stacks[MANY + 1];
    int count = kymo_stack_capture_threads(KYMO_STACK_NATIVE, stacks, MANY + 1);
    for (int i = 0; i < MANY; i++)
        waiter_end(&many[i]);
    CHECK_EQ(count, MANY + 1);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(stacks[i].answer, KYMO_THREAD_ANSWERED);
        CHECK(stacks[i].stack != 0);
        kymo_stack_release(stacks[i].stack);
    }
}

static void *short_life(void *arg)
{
    (void)arg;
    return NULL;
}

static void *starts_threads(struct waiter *w)
{
    while (!stop) {
        pthread_t thread[4];
        int made = 0;
        while (made < 4 && pthread_create(&thread[made], NULL, short_life, NULL) == 0)
            made++;
        for (int i = 0; i < made; i++)
            pthread_join(thread[i], NULL);
    }
    w->result = 0;
    return NULL;
}

static void threads_may_start_and_end_during_a_capture(void)
{
    struct waiter starter = {0}, reader = {0};
    stop = 0;
    waiter_start(&starter, starts_threads);
    waiter_start(&reader, blocked_in_read);
    for (int i = 0; i < FAULT_TIMES(200, 20); i++) {
        struct kymo_thread_stack stacks[64];
        int count = kymo_stack_capture_threads(KYMO_STACK_NATIVE, stacks, 64);
        bool found = false;
        CHECK_OK(count);
        for (int j = 0; j < count && j < 64; j++) {
            found = found || (stacks[j].tid == reader.tid && stacks[j].stack);
            kymo_stack_release(stacks[j].stack);
        }
        CHECK(found || (stop = 1, false));
    }
    stop = 1;
    waiter_end(&starter);
    waiter_end(&reader);
}

static int asks; /* that found everybody */
static int go;   /* 1: all are there; a thread that is being made blocks signals */

static void *asking(struct waiter *w)
{
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
        fault_sleep(MS);
    for (int i = 0; i < 20; i++) {
        struct kymo_thread_stack stacks[16];
        int count = kymo_stack_capture_threads(KYMO_STACK_NATIVE, stacks, 16), answered = 0;
        for (int j = 0; j < count; j++) {
            /* The system may still list a thread of another test that has been joined. */
            answered += stacks[j].answer == KYMO_THREAD_GONE ||
                        (stacks[j].answer == KYMO_THREAD_ANSWERED && stacks[j].stack);
            kymo_stack_release(stacks[j].stack);
        }
        if (answered == count)
            __atomic_fetch_add(&asks, 1, __ATOMIC_RELAXED);
    }
    char c;
    w->result = (int)read(w->fds[0], &c, 1);
    return NULL;
}

static void several_threads_may_ask_at_once(void)
{
    struct waiter askers[4] = {{0}};
    asks = go = 0;
    for (int i = 0; i < 4; i++)
        waiter_start(&askers[i], asking);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 4; i++)
        waiter_end(&askers[i]);
    CHECK_EQ(asks, 80);
}

static void asking_while_asking_is_refused(void)
{
    const struct kymo_thread_stack *asked;
    struct kymo_thread_stack stack;
    int count = kymo__threads_ask(KYMO_STACK_NATIVE, NULL, &asked);
    int again = kymo_stack_capture_threads(KYMO_STACK_NATIVE, &stack, 1);
    for (int i = 0; i < count; i++)
        kymo_stack_release(asked[i].stack);
    kymo__threads_done();
    CHECK_EQ(again, -EDEADLK);
    CHECK_EQ(kymo_stack_capture_threads(KYMO_STACK_NATIVE, &stack, 1), 1);
    kymo_stack_release(stack.stack);
}

static void a_forked_child_can_ask_too(void)
{
    struct waiter askers[2] = {{0}};
    go = 1;
    for (int i = 0; i < 2; i++)
        waiter_start(&askers[i], asking); /* a fork may come while somebody asks */
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct kymo_thread_stack stacks[2];
            int count = kymo_stack_capture_threads(KYMO_STACK_NATIVE, stacks, 2);
            _exit(count == 1 && stacks[0].stack && stacks[0].tid == (uint32_t)getpid() ? 0 : 1);
        }
        int status;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    for (int i = 0; i < 2; i++)
        waiter_end(&askers[i]);
}

/* ---- system calls that SA_RESTART does nothing for */

static sem_t never;

static void *in_poll(struct waiter *w)
{
    struct pollfd fd = {.fd = w->fds[0], .events = POLLIN};
    w->result = poll(&fd, 1, -1);
    w->error = errno;
    return NULL;
}

static void *in_epoll(struct waiter *w)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = epoll_create1(0);
    epoll_ctl(fd, EPOLL_CTL_ADD, w->fds[0], &event);
    w->result = epoll_wait(fd, &event, 1, -1);
    w->error = errno;
    close(fd);
    return NULL;
}

static void *in_select(struct waiter *w)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(w->fds[0], &set);
    struct timeval time = {60, 0};
    w->result = select(w->fds[0] + 1, &set, NULL, NULL, &time);
    w->error = errno;
    return NULL;
}

static void *until_a_time(struct waiter *w)
{
    struct timespec time;
    int64_t began = fault_now();
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += 2;
    w->result = -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    w->took = fault_now() - began;
    return NULL;
}

static void *in_semaphore(struct waiter *w)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 2;
    w->result = sem_timedwait(&never, &time);
    w->error = errno;
    return NULL;
}

static void system_calls_are_not_interrupted(void)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
    CHECK_SKIP("calls are made again on x86_64 and aarch64 only");
#endif
    static void *(*const calls[])(struct waiter *) = {
        blocked_in_read, in_poll, in_epoll, in_select, asleep, until_a_time, in_semaphore};
    enum { CALLS = sizeof(calls) / sizeof(*calls) };
    char text[8];
    int fd = open("/proc/self/syscall", O_RDONLY);
    bool tells = fd >= 0 && read(fd, text, sizeof(text)) > 0;
    close(fd);
    if (!tells)
        CHECK_SKIP("the system does not tell which call a thread is in");
    struct waiter waiters[CALLS];
    memset(waiters, 0, sizeof(waiters));
    sem_init(&never, 0, 0);
    for (int i = 0; i < CALLS; i++)
        waiter_start(&waiters[i], calls[i]);
    fault_sleep(50 * MS);
    for (int i = 0; i < 10; i++) {
        struct kymo_thread_stack stacks[CALLS + 1];
        int count = kymo_stack_capture_threads(KYMO_STACK_NATIVE, stacks, CALLS + 1);
        for (int j = 0; j < count; j++)
            kymo_stack_release(stacks[j].stack);
        fault_sleep(10 * MS);
    }
    for (int i = 0; i < CALLS; i++)
        CHECK_EQ(waiters[i].result, 1); /* none is back */
    for (int i = 0; i < CALLS; i++)
        waiter_end(&waiters[i]);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(waiters[i].result, i > 0); /* the end of the pipe */
    CHECK_EQ(waiters[4].result, 0);
    CHECK_LE(2000 * MS, waiters[4].took);
    CHECK_LE(waiters[4].took, 3500 * MS);
    CHECK_EQ(waiters[5].result, 0);
    CHECK_LE(2000 * MS, waiters[5].took);
    CHECK_EQ(waiters[6].result, -1);
    CHECK_EQ(waiters[6].error, ETIMEDOUT);
}

static const struct check_case cases[] = {
    CHECK_CASE(threads_are_found_where_they_are),
    CHECK_CASE(the_outermost_call_comes_first),
    CHECK_CASE(a_thread_that_blocks_signals_is_reported_as_silent),
    CHECK_CASE(late_signals_are_harmless),
    CHECK_CASE(the_signal_is_unused_afterwards),
    CHECK_CASE(two_hundred_threads_all_answer),
    CHECK_CASE(threads_may_start_and_end_during_a_capture),
    CHECK_CASE(several_threads_may_ask_at_once),
    CHECK_CASE(asking_while_asking_is_refused),
    CHECK_CASE(a_forked_child_can_ask_too),
    CHECK_CASE(system_calls_are_not_interrupted),
};
DUMPED_MAIN(cases)
