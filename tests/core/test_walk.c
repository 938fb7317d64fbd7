/* Native stacks: what a walk finds, in quiet places and in difficult ones. */
#include "walk.h"

#include <kymo/kymo.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"
#include "elsewhere.h"
#include "mapped.h"
#include "mapping.h"
#include "oracle.h"
#include "walker.h"

#define NOINLINE __attribute__((noinline, unused))
#define AFTER_CALL __asm__ volatile("" ::: "memory") /* so that it is no tail call */

static uint64_t pcs[ORACLE_FRAMES];

/* The pc of the frame that is INNER frames further out than the innermost. */
static uint64_t pc_at(const struct kymo_walk *walk, size_t inner)
{
    return inner < walk->count ? walk->frames[walk->count - 1 - inner].pc : 0;
}

static uint64_t end_at(const struct kymo_walk *walk, size_t inner)
{
    return inner < walk->count ? walk->frames[walk->count - 1 - inner].end : 0;
}

static bool is_in(uint64_t pc, const void *function, size_t size)
{
    return pc - (uint64_t)(uintptr_t)function <= size;
}

static struct kymo_walk found;
static const void *returned_to[3];
static uint64_t local_at[3];

NOINLINE static void third(unsigned skip)
{
    volatile char local[32];
    local[0] = 1;
    local_at[0] = (uint64_t)(uintptr_t)local;
    returned_to[0] = __builtin_return_address(0);
    CHECK(kymo__walk(&found, skip));
    AFTER_CALL;
}

NOINLINE static void second(unsigned skip)
{
    volatile char local[100];
    local[0] = 1;
    local_at[1] = (uint64_t)(uintptr_t)local;
    returned_to[1] = __builtin_return_address(0);
    third(skip);
    AFTER_CALL;
}

NOINLINE static void first(unsigned skip)
{
    volatile char local[300];
    local[0] = 1;
    local_at[2] = (uint64_t)(uintptr_t)local;
    returned_to[2] = __builtin_return_address(0);
    second(skip);
    AFTER_CALL;
}

static void frames_are_the_callers_outermost_first(void)
{
    first(0);

    CHECK(found.count > 4);
    CHECK(!found.truncated);
    CHECK(is_in(pc_at(&found, 0), (const void *)third, 1000));
    for (int i = 0; i < 3; i++)
        CHECK(pc_at(&found, (size_t)i + 1) == (uint64_t)(uintptr_t)returned_to[i]);
}

static void a_frame_ends_above_its_locals(void)
{
#ifdef __SANITIZE_ADDRESS__
    CHECK_SKIP("the sanitizer puts locals elsewhere");
#endif
    first(0);

    for (size_t i = 0; i < 3; i++) {
        CHECK(local_at[i] < end_at(&found, i));
        CHECK(i == 0 || local_at[i] >= end_at(&found, i - 1));
    }
    CHECK(found.frames[0].end == UINT64_MAX);
}

static void skipped_frames_are_not_there(void)
{
    uint64_t hashes[2];
    size_t counts[2];
    for (unsigned skip = 1; skip < 3; skip++) {
        first(skip);
        CHECK(pc_at(&found, 0) == (uint64_t)(uintptr_t)returned_to[skip - 1]);
        hashes[skip - 1] = found.hash;
        counts[skip - 1] = found.count;
    }
    CHECK_EQ(counts[0], counts[1] + 1);
    CHECK(hashes[0] != hashes[1]);

    kymo__walk(&found, 100000);
    CHECK_EQ(found.count, 0);
}

static void equal_stacks_have_equal_hashes(void)
{
    uint64_t hashes[4];
    for (volatile int i = 0; i < 3; i++) { /* one place in the program, so one stack */
        if (i == 2)
            kymo__walker->usable = 0; /* nothing is taken over from last time */
        first(0);
        hashes[i] = found.hash;
    }
    second(0);
    hashes[3] = found.hash;
    CHECK(hashes[0] == hashes[1]);
    CHECK(hashes[0] == hashes[2]);
    CHECK(hashes[0] != hashes[3]);
}

NOINLINE static int recurse(int depth)
{
    volatile int here = depth;
    if (depth == 0)
        CHECK(kymo__walk(&found, 0));
    else
        here = recurse(depth - 1) & here;
    AFTER_CALL;
    return here;
}

static void the_innermost_frames_of_a_very_deep_stack_are_kept(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    recurse(limit.rlim_cur < (32u << 20) ? 20000 : 100000);
    CHECK_EQ(found.count, KYMO__WALK_MAX);
    CHECK(found.truncated);
    CHECK(is_in(pc_at(&found, 0), (const void *)recurse, 4000));
    uint64_t hash = found.hash;

    recurse(100);
    CHECK(!found.truncated);
    CHECK(found.count > 100 && found.count < 200);
    CHECK(found.hash != hash);
}

static void *deep_thread(void *arg)
{
    (void)arg;
    recurse(100000);
    return (void *)(uintptr_t)(found.truncated && found.count == KYMO__WALK_MAX);
}

static void a_hundred_thousand_frames_can_be_walked(void)
{
#ifdef __SANITIZE_THREAD__
    CHECK_SKIP("they are one for the sanitizer");
#endif
    pthread_attr_t attr;
    pthread_t thread;
    void *truncated;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (size_t)256 << 20);
    CHECK_EQ(pthread_create(&thread, &attr, deep_thread, NULL), 0);
    pthread_join(thread, &truncated);
    CHECK(truncated);
}

/* Handlers. */

static struct kymo_walk from_context;
static volatile bool context_walked, context_agreed, handler_agreed; /* raise() is a "leaf" */
static jmp_buf after_fault;

static void on_plain(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    handler_agreed = ORACLE_AGREES(pcs);
    context_walked = kymo__walk_context(&from_context, context);
    context_agreed = oracle_agrees(&from_context, pcs, oracle_context(context, pcs, ORACLE_FRAMES));
}

__attribute__((unused)) static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    static struct kymo_native kept[KYMO__WALK_MAX]; /* its thread may be gone when we look */
    context_walked = kymo__walk_context(&from_context, context);
    memcpy(kept, from_context.frames, from_context.count * sizeof(kept[0]));
    from_context.frames = kept;
    longjmp(after_fault, 1);
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler,
                               .sa_flags = SA_SIGINFO | SA_NODEFER | flags};
    sigaction(signal, &action, NULL);
    context_walked = context_agreed = handler_agreed = false;
}

static void a_handler_sees_what_it_interrupted(void)
{
    if (SIGNALS_ARE_LATE)
        CHECK_SKIP("this sanitizer delays signals");
    elsewhere_signals();
    for (int flags = 0; flags <= SA_ONSTACK; flags += SA_ONSTACK) {
        handle(SIGURG, on_plain, flags);
        raise(SIGURG);
        CHECK(context_walked);
        CHECK(context_agreed);
        CHECK(handler_agreed);
    }
}

NOINLINE static void call(void (*function)(void))
{
    function();
    AFTER_CALL;
}

static void a_call_to_nowhere_has_its_caller(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    CHECK_SKIP("the sanitizer handles such faults itself");
#else
    handle(SIGSEGV, on_fault, 0);
    void (*volatile nowhere)(void) = NULL;
    if (setjmp(after_fault) == 0)
        call(nowhere);
    signal(SIGSEGV, SIG_DFL);
    CHECK(context_walked);
    CHECK_EQ(pc_at(&from_context, 0), 1);
    CHECK(is_in(pc_at(&from_context, 1), (const void *)call, 100));
    CHECK(from_context.count > 5);
#endif
}

NOINLINE static int endless(volatile int *depth)
{
    volatile char frame[200];
    frame[0] = (char)*depth;
    *depth = *depth + 1;
    int sum = *depth >= 0 ? endless(depth) : 0;
    AFTER_CALL;
    return sum + frame[0];
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void *overflow(void *arg)
{
    volatile int depth = 0;
    elsewhere_signals();
    if (arg) /* it may be the first walk of the thread, or not */
        first(0);
    if (setjmp(after_fault) == 0)
        endless(&depth);
    return NULL;
}
#endif

static void a_stack_that_overflowed_can_be_walked_from_another(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    CHECK_SKIP("the sanitizer handles such faults itself");
#else
    for (int i = 0; i < 3; i++) {
        handle(SIGSEGV, on_fault, SA_ONSTACK);
        pthread_t thread;
        if (i < 2) {
            pthread_create(&thread, NULL, overflow, i ? &thread : NULL);
            pthread_join(thread, NULL);
        } else if (getauxval(AT_SYSINFO_EHDR)) { /* emulators have no such main thread */
            overflow(NULL);
        }
        signal(SIGSEGV, SIG_DFL);
        CHECK(context_walked || i == 2);
        CHECK_EQ(from_context.count, KYMO__WALK_MAX);
        CHECK(from_context.truncated);
        CHECK(is_in(pc_at(&from_context, 0), (const void *)endless, 4000));
        CHECK(is_in(pc_at(&from_context, 100), (const void *)endless, 4000));
    }
#endif
}

/* Code without tables. */

static bool leaf_agreed;

static void leaf_looks(struct trip *trip)
{
    (void)trip;
    leaf_agreed = ORACLE_KNOWS_JIT && ORACLE_AGREES(pcs);
    kymo__walk(&found, 0);
    AFTER_CALL;
}

static void code_made_at_run_time_is_passed_by_its_frame_pointer(void)
{
    struct trip trip = {.leaf = leaf_looks};
    in_jit(&trip);
    if (ORACLE_KNOWS_JIT)
        CHECK(leaf_agreed);
    CHECK(is_in(pc_at(&found, 1), (const void *)jit_callee, 400));
    CHECK(is_in(pc_at(&found, 3), (const void *)in_jit, 300));
}

static void code_without_tables_or_frame_pointer_is_harmless(void)
{
    struct trip trip = {.leaf = leaf_looks};
    jitted *bare = jit_make(jit_code_bare, sizeof(jit_code_bare));
    bare(&trip, jit_callee);
    CHECK(is_in(pc_at(&found, 1), (const void *)jit_callee, 400));
    CHECK(found.count >= 2);
}

/* Threads and processes. */

static void *walk_a_little(void *arg)
{
    struct kymo_walk walk;
    *(bool *)arg = kymo__walk(&walk, 0) && walk.count >= 3;
    return NULL;
}

static size_t mapped_pages(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages;
}

static void threads_leave_nothing_behind(void)
{
    __attribute__((unused)) size_t before = 0;
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        bool walked = false;
        pthread_create(&thread, NULL, walk_a_little, &walked);
        pthread_join(thread, NULL);
        CHECK(walked);
        if (i == 20)
            before = mapped_pages();
    }
#ifndef __SANITIZE_THREAD__
    if (getauxval(AT_SYSINFO_EHDR)) /* not an emulator, whose own memory this would be */
        CHECK_LE(mapped_pages(), before + 4 * sizeof(struct kymo_walker) / 4096);
#endif
}

static pthread_key_t late_key;
static int late_walks;

static void walk_late(void *arg)
{
    bool walked;
    walk_a_little(&walked);
    if (__atomic_add_fetch(&late_walks, walked, __ATOMIC_RELAXED) < 20)
        pthread_setspecific(late_key, arg); /* as often as the system allows */
}

static void *end_late(void *arg)
{
    bool walked;
    pthread_setspecific(late_key, arg);
    walk_a_little(&walked);
    return NULL;
}

static void a_thread_may_walk_while_it_ends(void)
{
    pthread_t thread;
    pthread_key_create(&late_key, walk_late);
    for (int i = 0; i < 3; i++) {
        __atomic_store_n(&late_walks, 0, __ATOMIC_RELAXED);
        pthread_create(&thread, NULL, end_late, &late_key);
        pthread_join(thread, NULL);
        CHECK(__atomic_load_n(&late_walks, __ATOMIC_RELAXED) >= 1);
    }
    pthread_key_delete(late_key);
}

static void a_forked_child_walks_on(void)
{
    bool walked;
    walk_a_little(&walked);
    pid_t child = fork();
    if (child == 0) {
        struct kymo_walk walk;
        pthread_t thread;
        bool ok = ORACLE_AGREES(pcs);
        walked = false;
        pthread_create(&thread, NULL, walk_a_little, &walked);
        pthread_join(thread, NULL);
        _exit(ok && walked && kymo__walk(&walk, 0) ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}

__attribute__((unused)) static int without_pthread(void *arg)
{
    struct kymo_walk walk;
    *(size_t *)arg = kymo__walk(&walk, 0) ? walk.count : 0;
    return 0;
}

static void a_thread_unknown_to_the_library_has_a_stack(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    CHECK_SKIP("the sanitizer has to know all threads");
#else
    const size_t size = 1 << 18;
    char *stack = kymo__pages_new(size);
    volatile size_t count = 0;
    pid_t child = clone(without_pthread, stack + size, CLONE_VM | SIGCHLD, (void *)&count);
    if (child < 0)
        CHECK_SKIP("no clone here");
    int status;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    CHECK(count >= 1);
#endif
}

/* What belongs to a walk that did not end. */

static void a_walk_in_a_walk_is_refused(void)
{
    first(0);
    struct kymo_walk walk;
    kymo__walker->busy = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 4096;
    bool walked = kymo__walk(&walk, 0);
    kymo__walker->busy = 0;
    CHECK(!walked);
}

static void a_walk_that_was_jumped_out_of_is_forgotten(void)
{
    first(0);
    kymo__walker->busy = (uint64_t)(uintptr_t)__builtin_frame_address(0) - 4096;
    CHECK(ORACLE_AGREES(pcs));
    CHECK_EQ(kymo__walker->busy, 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(frames_are_the_callers_outermost_first),
    CHECK_CASE(a_frame_ends_above_its_locals),
    CHECK_CASE(skipped_frames_are_not_there),
    CHECK_CASE(equal_stacks_have_equal_hashes),
    CHECK_CASE(the_innermost_frames_of_a_very_deep_stack_are_kept),
    CHECK_CASE(a_hundred_thousand_frames_can_be_walked),
    CHECK_CASE(a_handler_sees_what_it_interrupted),
    CHECK_CASE(a_call_to_nowhere_has_its_caller),
    CHECK_CASE(a_stack_that_overflowed_can_be_walked_from_another),
    CHECK_CASE(code_made_at_run_time_is_passed_by_its_frame_pointer),
    CHECK_CASE(code_without_tables_or_frame_pointer_is_harmless),
    CHECK_CASE(threads_leave_nothing_behind),
    CHECK_CASE(a_thread_may_walk_while_it_ends),
    CHECK_CASE(a_forked_child_walks_on),
    CHECK_CASE(a_thread_unknown_to_the_library_has_a_stack),
    CHECK_CASE(a_walk_in_a_walk_is_refused),
    CHECK_CASE(a_walk_that_was_jumped_out_of_is_forgotten),
};
CHECK_MAIN(cases)
