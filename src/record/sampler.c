/* sampler.c — see sampler.h: the sampler's thread, and its life.

   The thread finds the threads of the process and gives them timers, and defines the stacks that
   their handlers recorded. It does this fifty times a second, or sooner when a handler or a
   thread that begins to record says so. */
#include "sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "interrupted.h"
#include "local.h"
#include "modules.h"
#include "sampler_parts.h"
#include "session.h"
#include "tick.h"

enum {
    LOOK_NS = 20 * 1000000,    /* between two looks at the threads */
    SHARE = 50,                /* or so many times as long as a look takes, if that is more */
    SETTLE_NS = 100 * 1000000, /* between two requests to the interpreter */
    PATIENCE_MS = 2000,        /* how long such a request may take when the thread is to end */
    AHEAD = 16,                /* chunks that should be free: handlers cannot make new ones */
};

sem_t kymo__sampler_wake;

/* Guards timers, definitions, and what the loader locks: whoever forks has it, so that the child
   does not inherit a lock that our thread holds. Nothing is waited for under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kymo_sampler *running; /* under the lock; NULL when no samples are taken */

/* This thread is forking and has the lock; what others do around fork may record. */
static _Thread_local bool forking __attribute__((tls_model("initial-exec")));

void kymo__sampler_before_fork(void)
{
    pthread_mutex_lock(&lock);
    forking = true;
}

void kymo__sampler_after_fork(void)
{
    forking = false;
    pthread_mutex_unlock(&lock);
}

void kymo__sampler_forked(void)
{
    forking = false;
    pthread_mutex_init(&lock, NULL);
    sem_init(&kymo__sampler_wake, 0, 0);
    if (running && running->signal)
        kymo__tick_forked(running->signal); /* timers are not inherited */
    if (running)
        kymo__timers_forked(&running->timers);
    running = NULL;
}

/* ---- the thread; what follows is done under the lock ---- */

/* Stop when the program has taken the signal for itself. */
static void check_signal(struct kymo_session *s)
{
    struct kymo_sampler *sampler = s->sampler;
    if (!sampler->signal || kymo__tick_ours(sampler->signal))
        return;
    kymo__timers_remove(&sampler->timers);
    char text[64];
    snprintf(text, sizeof(text), "the program handles signal %d itself", sampler->signal);
    kymo__names_meta(&s->names, "sample.ended", text);
    sampler->signal = 0;
}

/* Define the stacks that handlers have recorded. */
static void define_recorded(struct kymo_sampler *sampler)
{
    uint32_t stack;
    while (kymo__idring_take(&sampler->ring, &stack))
        kymo__stackbook_add(&sampler->book, stack);
}

static void look(struct kymo_session *s)
{
    struct kymo_sampler *sampler = s->sampler;
    uint32_t fresh = 0;
    check_signal(s);
    if (sampler->signal) {
        sampler->timers.own[1] = (uint32_t)kymo__load_relaxed(&s->writer_id);
        fresh = kymo__timers_look(&sampler->timers);
    }
    /* Each thread needs a chunk with its first sample; not all of them run at a time. */
    uint32_t wanted =
        AHEAD + (sampler->clock == KYMO_SAMPLED_WALL || fresh < AHEAD ? fresh : AHEAD);
    uint32_t there = kymo__load_relaxed(&s->free.count);
    if (there < wanted)
        kymo__pool_grow(s, wanted - there);
    if (fresh)
        kymo__timers_run(&sampler->timers);
}

/* ---- the thread itself ---- */

/* Have the interpreter name the functions in the stacks that wait. Not under the lock: it waits
   for whatever the interpreter is doing, which may be a fork. */
static void settle(struct kymo_sampler *sampler)
{
    const struct kymo_interpreter *interpreter = kymo__interpreter();
    if (interpreter && interpreter->settle)
        interpreter->settle();
    sampler->settled = kymo__clock_ns(CLOCK_MONOTONIC);
}

/* Wait for SEMAPHORE, but only until UNTIL. True when it was posted. */
static bool wait_for(sem_t *semaphore, int64_t until)
{
    const struct timespec t = {until / 1000000000, until % 1000000000};
    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &t) < 0)
        if (errno != EINTR)
            return false;
    return true;
}

static bool waits_for_names(struct kymo_sampler *sampler)
{
    pthread_mutex_lock(&lock);
    bool waiting = sampler->book.waiting_count != 0;
    pthread_mutex_unlock(&lock);
    return waiting;
}

static void *body(void *arg)
{
    struct kymo_session *s = arg;
    struct kymo_sampler *sampler = s->sampler;
    int64_t next = 0; /* look */
    kymo__store_relaxed(&sampler->timers.own[0], (uint32_t)syscall(SYS_gettid));
    while (!kymo__load_acquire(&sampler->ending)) {
        if (!kymo__load_acquire(&sampler->going)) {
            wait_for(&kymo__sampler_wake, kymo__clock_ns(CLOCK_MONOTONIC) + LOOK_NS);
            continue;
        }
        kymo__store_release(&sampler->hurried, 0u);
        pthread_mutex_lock(&lock);
        int64_t began = kymo__clock_ns(CLOCK_MONOTONIC);
        if (began >= next) {
            int64_t ran = kymo__clock_ns(CLOCK_THREAD_CPUTIME_ID);
            look(s);
            int64_t took = kymo__clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
            next = began + (took * SHARE > LOOK_NS ? took * SHARE : LOOK_NS);
        }
        kymo__lanes_tell(s);
        kymo__modules_refresh();
        define_recorded(sampler);
        pthread_mutex_unlock(&lock);
        if (began - sampler->settled >= SETTLE_NS && waits_for_names(sampler)) {
            kymo__store_release(&sampler->settling, (uint32_t)KYMO__SETTLING);
            settle(sampler);
            if (kymo__exchange(&sampler->settling, (uint32_t)KYMO__SETTLED) == KYMO__ABANDONED)
                return NULL;
            pthread_mutex_lock(&lock);
            kymo__stackbook_retry(&sampler->book, false);
            pthread_mutex_unlock(&lock);
        }
        int64_t soon = began + LOOK_NS; /* stacks are defined so often, however long looks take */
        wait_for(&kymo__sampler_wake, soon < next ? soon : next);
    }
    sem_post(&sampler->ended);
    return NULL;
}

static int thread_start(struct kymo_session *s)
{
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 * 1024);
    int rc = pthread_create(&s->sampler->thread, &attributes, body, s);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        pthread_setname_np(s->sampler->thread, "kymograph sampler");
    s->sampler->threaded = rc == 0;
    return -rc;
}

static void thread_end(struct kymo_sampler *sampler)
{
    if (!sampler->threaded)
        return;
    kymo__store_release(&sampler->ending, 1u);
    sem_post(&kymo__sampler_wake);
    int64_t until = kymo__clock_ns(CLOCK_MONOTONIC) + (int64_t)PATIENCE_MS * 1000000;
    uint32_t settling = KYMO__SETTLING;
    while (!wait_for(&sampler->ended, until)) {
        if (kymo__swap_if(&sampler->settling, &settling, (uint32_t)KYMO__ABANDONED)) {
            pthread_detach(sampler->thread);
            sampler->threaded = false;
            return;
        }
        settling = KYMO__SETTLING;
        until += LOOK_NS;
    }
    pthread_join(sampler->thread, NULL);
    sampler->threaded = false;
    kymo__store_relaxed(&sampler->timers.own[0], 0u);
}

void kymo__sampler_rest(struct kymo_session *s)
{
    struct kymo_sampler *sampler = s->sampler;
    if (!sampler || !sampler->threaded)
        return;
    pid_t id = (pid_t)kymo__load_relaxed(&sampler->timers.own[0]);
    thread_end(sampler);
    kymo__wait_for_end(id);
}

int kymo__sampler_work(struct kymo_session *s)
{
    if (!s->sampler || s->sampler->threaded || s->sampler->settling == KYMO__ABANDONED)
        return 0;
    kymo__store_release(&s->sampler->ending, 0u);
    return thread_start(s);
}

/* ---- the life of a session's samples ---- */

static void note(struct kymo_session *s, const char *key, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    kymo__names_meta(&s->names, key, text);
}

static void describe(struct kymo_session *s)
{
    note(s, "sample.period_ns", (uint64_t)s->sampler->timers.period);
    kymo__names_meta(&s->names, "sample.clock",
                     s->sampler->clock == KYMO_SAMPLED_WALL ? "wall" : "cpu");
    note(s, "sample.signal", (uint64_t)s->sampler->signal);
}

int kymo__sampler_new(struct kymo_session *s, const struct kymo_options *o)
{
    if (!o->sample_hz)
        return 0;
    struct kymo_sampler *sampler = s->sampler = kymo__alloc_zeroed(sizeof(*sampler));
    if (!sampler || kymo__timers_reserve() < 0)
        return -ENOMEM;
    sampler->clock = sampler->timers.clock = o->sample_clock;
    sampler->timers.period = 1000000000 / (int64_t)o->sample_hz;
    kymo__idring_init(&sampler->ring);
    if (kymo__stackbook_init(&sampler->book, &s->names, o->sample_root) < 0)
        return -ENOMEM;
    sem_init(&sampler->ended, 0, 0);
    /* What captures set up once is not left to handlers. */
    kymo__modules_refresh();
    kymo_stack_release(kymo_stack_capture(KYMO_STACK_NATIVE, 0));
    int signal = kymo__tick_install();
    if (signal < 0)
        return signal;
    sampler->signal = sampler->timers.signal = signal;
    int rc = kymo__timers_try(&sampler->timers);
    if (rc < 0)
        return rc;
    describe(s);
    return thread_start(s);
}

void kymo__sampler_go(struct kymo_session *s)
{
    if (!s->sampler)
        return;
    kymo__lanes_sweep(); /* of threads that have ended since an earlier session */
    pthread_mutex_lock(&lock);
    s->sampler->timers.session = s->number;
    kymo__store_relaxed(&running, s->sampler);
    pthread_mutex_unlock(&lock);
    kymo__store_release(&s->sampler->going, 1u);
    sem_post(&kymo__sampler_wake);
}

void kymo__sampler_pause(struct kymo_session *s, bool paused)
{
    if (!s->sampler)
        return;
    pthread_mutex_lock(&lock);
    kymo__timers_pause(&s->sampler->timers, paused);
    pthread_mutex_unlock(&lock);
}

void kymo__sampler_meet(void)
{
    if (!kymo__load_relaxed(&running) || forking)
        return; /* it is found later */
    pthread_mutex_lock(&lock);
    if (running && running->signal)
        kymo__timers_meet(&running->timers, kymo__tid_now());
    pthread_mutex_unlock(&lock);
}

void kymo__sampler_halt(struct kymo_session *s)
{
    struct kymo_sampler *sampler = s->sampler;
    if (!sampler)
        return;
    thread_end(sampler);
    pthread_mutex_lock(&lock);
    kymo__store_relaxed(&running, (struct kymo_sampler *)NULL);
    kymo__timers_remove(&sampler->timers);
    if (sampler->signal)
        kymo__tick_remove(sampler->signal);
    sampler->signal = 0;
    pthread_mutex_unlock(&lock);
}

void kymo__sampler_finish(struct kymo_session *s)
{
    struct kymo_sampler *sampler = s->sampler;
    if (!sampler)
        return;
    pthread_mutex_lock(&lock);
    kymo__modules_refresh();
    define_recorded(sampler);
    pthread_mutex_unlock(&lock);
    if (waits_for_names(sampler))
        settle(sampler);
    pthread_mutex_lock(&lock);
    kymo__stackbook_retry(&sampler->book, true);
    pthread_mutex_unlock(&lock);
    note(s, "sample.count", sampler->samples);
    if (sampler->timers.refused)
        note(s, "sample.threads_without", sampler->timers.refused);
}

void kymo__sampler_free(struct kymo_session *s)
{
    struct kymo_sampler *sampler = s->sampler;
    if (!sampler)
        return;
    kymo__sampler_halt(s);
    kymo__stackbook_fini(&sampler->book);
    if (kymo__load_acquire(&sampler->settling) != KYMO__ABANDONED) {
        sem_destroy(&sampler->ended);
        kymo__free(sampler);
    }
    s->sampler = NULL;
}
