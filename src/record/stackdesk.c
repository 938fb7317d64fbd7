/* stackdesk.c — see stackdesk.h. */
#include "stackdesk.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "interrupted.h"
#include "lock.h"
#include "mapped.h"
#include "modules.h"
#include "pool.h"
#include "running.h"
#include "stacktree.h"
#include "thread.h"
#include "trail.h"

enum {
    PERIOD_NS = 100 * 1000000, /* between two rounds without a sampler or new stacks */
    PAUSE_NS = 5 * 1000000,    /* between two rounds for new stacks */
    SETTLE_NS = 100 * 1000000, /* between two requests to the interpreter */
    PATIENCE_MS = 2000,        /* limit for such a request when the thread must end */
    RETRY_NS = 20 * 1000000,
};

sem_t kymo__desk_wake;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Other fork handlers may record. */
static _Thread_local bool forking __attribute__((tls_model("initial-exec")));

void kymo__desk_lock(void)
{
    kymo__lock(&lock);
}

void kymo__desk_unlock(void)
{
    kymo__unlock(&lock);
}

bool kymo__desk_forking(void)
{
    return forking;
}

void kymo__desk_before_fork(void)
{
    pthread_mutex_lock(&lock);
    forking = true;
}

void kymo__desk_after_fork(void)
{
    forking = false;
    pthread_mutex_unlock(&lock);
}

void kymo__desk_forked(void)
{
    if (forking)
        kymo__desk_after_fork();
    else /* a raw fork: somebody else may have held it */
        pthread_mutex_init(&lock, NULL);
    sem_init(&kymo__desk_wake, 0, 0);
}

/* ---- giving ---- */

static uint32_t *known_place(struct kymo_stackdesk *desk, kymo_stack stack)
{
    return &desk->known[kymo__hash_word(stack) >> 32 & (KYMO__DESK_KNOWN - 1)];
}

void kymo__desk_hurry(struct kymo_stackdesk *desk)
{
    if (!kymo__exchange(&desk->hurried, 1u))
        sem_post(&kymo__desk_wake);
}

/* The writer thread starts the desk's thread. */
static inline void want_thread(struct kymo_stackdesk *desk)
{
    if (!kymo__load_relaxed(&desk->wanted) && !kymo__exchange(&desk->wanted, 1u))
        sem_post(&kymo__wake);
}

bool kymo__desk_give(struct kymo_stackdesk *desk, kymo_stack stack)
{
    uint32_t *known = known_place(desk, stack);
    if (kymo__load_acquire(known) == stack) {
        kymo_stack_release(stack); /* the desk already holds it */
        return true;
    }
    if (!kymo__idring_give(&desk->ring, stack)) {
        kymo__add_relaxed(&desk->missing, UINT64_C(1));
        kymo_stack_release(stack);
        return false;
    }
    kymo__store_release(known, stack);
    if (kymo__idring_half_full(&desk->ring))
        kymo__desk_hurry(desk);
    want_thread(desk);
    return true;
}

kymo_stack kymo_stack_define(kymo_stack stack)
{
    struct kymo_lane *lane;
    if (!stack || !kymo_running())
        return 0;
    struct kymo_record *at = kymo_lane_claim(&lane, 0);
    if (!at)
        return 0;
    /* Claimed: kymo_stop leaves the session in place until it is released. */
    const struct kymo_running *running = kymo__running_now();
    bool kept = false;
    if (running) {
        kymo_stack_keep(stack);
        kept = kymo__desk_give(running->desk, stack);
    }
    kymo_lane_release(lane, at);
    return kept ? stack : 0;
}

/* There is a stack in the tree that is not defined. What a killed process leaves should explain its
   last records, too, so this is soon; but the thread is woken only once for many stacks. */
static void serve_new(struct kymo_stackdesk *desk)
{
    want_thread(desk);
    /* If it was 1, the thread has yet to look at what is in the tree by now. */
    if (!kymo__exchange(&desk->attentive, 1u))
        sem_post(&kymo__desk_wake);
}

/* Add the stack that was looked for to the tree. */
static __attribute__((noinline)) kymo_stack record_new(struct kymo_pending *pending)
{
    struct kymo_lane *lane;
    kymo_stack stack = 0;
    struct kymo_record *at = kymo_lane_claim(&lane, 0);
    if (at) {
        /* Claimed: the session, and with it the tree, stays until the release. */
        const struct kymo_running *running = kymo__running_now();
        if (running && running->number == pending->session) {
            if (!kymo__stack_plant(pending, &stack))
                kymo__add_relaxed(&running->desk->missing, UINT64_C(1));
            else if (stack && kymo__stacktree_use(stack))
                serve_new(running->desk);
        }
        kymo_lane_release(lane, at);
    }
    kymo__stack_looked(pending);
    return stack;
}

/* The same for a stack of the interpreter's frames alone. */
static __attribute__((noinline)) kymo_stack record_trail(uint32_t session)
{
    struct kymo_lane *lane;
    kymo_stack stack = 0;
    bool planted = false;
    struct kymo_record *at = kymo_lane_claim(&lane, 0);
    if (at) {
        const struct kymo_running *running = kymo__running_now();
        if (running && running->number == session) {
            bool fresh, room = kymo__trail_plant(session, &stack, &fresh);
            planted = true;
            if (!room)
                kymo__add_relaxed(&running->desk->missing, UINT64_C(1));
            else if (fresh)
                serve_new(running->desk);
        }
        kymo_lane_release(lane, at);
    }
    if (!planted)
        kymo__trail_drop();
    return stack;
}

/* Inlined: SKIP counts from the frame of kymo_stack_record. */
static inline __attribute__((always_inline)) kymo_stack record_walked(unsigned parts, unsigned skip,
                                                                      uint32_t session)
{
    const uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    kymo_stack stack = 0;
    if (parts & KYMO_STACK_NATIVE &&
        kymo__likely(kymo__stack_again(parts, skip, session, frame, &stack)))
        return stack;
    struct kymo_pending pending;
    return kymo__stack_look(parts, skip, session, frame, &pending, &stack) ? stack
                                                                           : record_new(&pending);
}

/* A stack of the interpreter's frames alone that is not known by its hash. */
static __attribute__((noinline)) kymo_stack record_frames(uint32_t session, bool deep)
{
    kymo_stack stack;
    enum kymo_trail_found found = deep ? kymo__trail_look(session, &stack) : KYMO__TRAIL_NONE;
    if (kymo__likely(found == KYMO__TRAIL_KNOWN))
        return stack;
    return found == KYMO__TRAIL_NEW ? record_trail(session)
                                    : record_walked(KYMO_STACK_MANAGED, 0, session);
}

/* The most frequent case keeps nothing in registers or on the stack that the others need. */
static __attribute__((noinline)) kymo_stack record_managed(uint32_t session)
{
    kymo_stack stack;
    enum kymo_recalled recalled = kymo__stack_recall(session, &stack);
    return kymo__likely(recalled == KYMO__RECALL_KNOWN)
               ? stack
               : record_frames(session, recalled == KYMO__RECALL_DEEP);
}

__attribute__((noinline)) kymo_stack kymo_stack_record(unsigned parts, unsigned skip)
{
    uint32_t session = kymo__switch_now();
    if (!session)
        return 0;
    if (kymo__likely(parts == KYMO_STACK_MANAGED && !skip))
        return record_managed(session);
    return record_walked(parts, skip, session);
}

/* ---- defining ---- */

/* Define the stacks that were given. Under the lock. */
static void define_given(struct kymo_stackdesk *desk)
{
    uint32_t stack;
    while (kymo__idring_take(&desk->ring, &stack)) {
        uint32_t known = stack;
        if (!kymo__stackbook_add(&desk->book, stack))
            kymo__swap_if(known_place(desk, stack), &known, 0u);
    }
    kymo__treebook_add(&desk->tree, false);
}

/* Ask the interpreter to name the functions in the waiting stacks. Not under the lock: this
   waits for whatever the interpreter is doing, which may be a fork. */
static void ask_for_names(struct kymo_stackdesk *desk)
{
    const struct kymo_interpreter *interpreter = kymo__interpreter();
    if (interpreter && interpreter->settle)
        interpreter->settle();
    desk->settled = kymo__clock_ns(CLOCK_MONOTONIC);
}

/* Ask it to name threads, likewise. */
static void ask_for_threads(struct kymo_stackdesk *desk)
{
    const struct kymo_interpreter *interpreter = kymo__interpreter();
    kymo__desk_lock();
    bool strangers = desk->strangers != 0;
    desk->strangers -= strangers;
    kymo__desk_unlock();
    if (strangers && interpreter && interpreter->name_threads)
        interpreter->name_threads(desk->name_thread);
}

static bool waits_for_names(struct kymo_stackdesk *desk)
{
    kymo__desk_lock();
    bool waiting =
        desk->book.waiting_count != 0 || kymo__treebook_waits(&desk->tree) || desk->strangers != 0;
    kymo__desk_unlock();
    return waiting;
}

/* ---- the thread ---- */

/* Wait for SEMAPHORE until UNTIL at most. True when it was posted. */
static bool wait_for(sem_t *semaphore, int64_t until)
{
    const struct timespec t = {until / 1000000000, until % 1000000000};
    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &t) < 0)
        if (errno != EINTR)
            return false;
    return true;
}

/* Wait until NEXT, or until there is something to do. Stacks that come within PAUSE_NS of the
   beginning of a round wait for each other. */
static void wait_for_work(struct kymo_stackdesk *desk, int64_t began, int64_t next)
{
    if (kymo__load_relaxed(&desk->attentive)) {
        int64_t rested = began + PAUSE_NS;
        if (wait_for(&kymo__desk_wake, next < rested ? next : rested) || next <= rested)
            return;
        kymo__exchange(&desk->attentive, 0u);
        if (kymo__stacktree_has_used()) {
            kymo__exchange(&desk->attentive, 1u);
            return;
        }
    }
    wait_for(&kymo__desk_wake, next);
}

static void *desk_body(void *arg)
{
    struct kymo_stackdesk *desk = arg;
    kymo__inside_add(1);
    kymo__store_relaxed(&desk->tid, (uint32_t)syscall(SYS_gettid));
    while (!kymo__load_acquire(&desk->ending)) {
        kymo__store_release(&desk->hurried, 0u);
        kymo__desk_lock();
        int64_t began = kymo__clock_ns(CLOCK_MONOTONIC);
        int64_t next = desk->duty ? desk->duty(desk->duty_arg, began) : began + PERIOD_NS;
        if (!kymo__idring_empty(&desk->ring) || kymo__stacktree_has_used()) {
            kymo__modules_refresh();
            define_given(desk);
        }
        kymo__desk_unlock();
        if (began - desk->settled >= SETTLE_NS && waits_for_names(desk)) {
            kymo__store_release(&desk->settling, (uint32_t)KYMO__SETTLING);
            ask_for_threads(desk);
            ask_for_names(desk);
            if (kymo__exchange(&desk->settling, (uint32_t)KYMO__SETTLED) == KYMO__ABANDONED)
                return NULL;
            kymo__desk_lock();
            kymo__stackbook_retry(&desk->book, false);
            kymo__treebook_add(&desk->tree, false);
            kymo__desk_unlock();
        }
        wait_for_work(desk, began, next);
    }
    sem_post(&desk->ended);
    return NULL;
}

/* Record what the interpreter wants readers to know. */
static void describe_interpreter(struct kymo_stackdesk *desk)
{
    const struct kymo_interpreter *interpreter = kymo__interpreter();
    if (!interpreter || desk->described)
        return;
    const char *const facts[][2] = {{"interpreter.files", interpreter->files},
                                    {"interpreter.evaluator", interpreter->evaluator},
                                    {"interpreter.machinery", interpreter->machinery},
                                    {"interpreter.collector", interpreter->collector}};
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        if (facts[i][1])
            kymo__names_meta(desk->book.names, facts[i][0], facts[i][1]);
    desk->described = true;
}

int kymo__desk_begin(struct kymo_stackdesk *desk)
{
    int rc = 0;
    kymo__desk_lock();
    describe_interpreter(desk);
    if (!desk->threaded && !desk->closed) {
        rc = kymo__thread_start(&desk->thread, "kymo stacks", KYMO__SMALL_STACK, desk_body, desk);
        desk->threaded = rc == 0;
    }
    kymo__desk_unlock();
    return rc;
}

void kymo__desk_serve(struct kymo_stackdesk *desk)
{
    if (kymo__load_relaxed(&desk->wanted))
        kymo__desk_begin(desk);
}

void kymo__desk_halt(struct kymo_stackdesk *desk)
{
    if (!desk)
        return;
    kymo__desk_lock();
    bool threaded = desk->threaded;
    desk->threaded = false;
    desk->closed = true;
    kymo__desk_unlock();
    if (!threaded)
        return;
    kymo__store_release(&desk->ending, 1u);
    sem_post(&kymo__desk_wake);
    int64_t until = kymo__clock_ns(CLOCK_MONOTONIC) + (int64_t)PATIENCE_MS * 1000000;
    uint32_t settling = KYMO__SETTLING;
    while (!wait_for(&desk->ended, until)) {
        if (kymo__swap_if(&desk->settling, &settling, (uint32_t)KYMO__ABANDONED)) {
            pthread_detach(desk->thread);
            return;
        }
        settling = KYMO__SETTLING;
        until += RETRY_NS;
    }
    pthread_join(desk->thread, NULL);
}

void kymo__desk_rest(struct kymo_stackdesk *desk)
{
    kymo__desk_halt(desk);
    if (kymo__load_acquire(&desk->settling) != KYMO__ABANDONED)
        kymo__thread_wait_gone((pid_t)kymo__load_relaxed(&desk->tid));
    kymo__store_relaxed(&desk->tid, 0u);
}

int kymo__desk_work(struct kymo_stackdesk *desk)
{
    if (kymo__load_acquire(&desk->settling) == KYMO__ABANDONED)
        return 0;
    kymo__desk_lock();
    if (!desk->threaded)
        kymo__store_release(&desk->ending, 0u);
    desk->closed = false;
    kymo__desk_unlock();
    return desk->duty || kymo__load_relaxed(&desk->wanted) ? kymo__desk_begin(desk) : 0;
}

/* ---- starting and stopping ---- */

int kymo__desk_new(struct kymo_stackdesk **made, struct kymo_names *names, const char *root)
{
    /* Most of it is not touched before there are stacks. */
    struct kymo_stackdesk *desk = *made = kymo__pages_new(sizeof(*desk));
    if (!desk)
        return -ENOMEM;
    sem_init(&desk->ended, 0, 0);
    kymo__stacktree_begin();
    kymo__treebook_init(&desk->tree, &desk->book);
    return kymo__stackbook_init(&desk->book, names, root);
}

void kymo__desk_finish(struct kymo_stackdesk *desk, bool ask)
{
    if (!kymo__load_relaxed(&desk->wanted))
        return;
    kymo__desk_lock();
    describe_interpreter(desk);
    kymo__modules_refresh();
    define_given(desk);
    kymo__desk_unlock();
    if (ask && waits_for_names(desk))
        ask_for_names(desk);
    kymo__desk_lock();
    kymo__stackbook_retry(&desk->book, true);
    kymo__treebook_add(&desk->tree, true);
    kymo__desk_unlock();
    uint64_t missing = desk->missing + desk->book.given_up + desk->tree.given_up;
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)missing);
    if (missing)
        kymo__names_meta(desk->book.names, "stacks.missing", text);
}

void kymo__desk_free(struct kymo_stackdesk *desk)
{
    if (!desk)
        return;
    kymo__desk_halt(desk);
    kymo__treebook_fini(&desk->tree);
    kymo__stackbook_fini(&desk->book);
    if (kymo__load_acquire(&desk->settling) != KYMO__ABANDONED) {
        sem_destroy(&desk->ended);
        kymo__pages_free(desk, sizeof(*desk));
    }
}
