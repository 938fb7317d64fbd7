/* A program whose allocator records every call of it. Here malloc and the others are this file's;
   the memory they give is that of the C library. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "fault.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *piece);

/* How an event is recorded: by the library that this program is linked with, or by one that it
   loads. */
static void (*instant)(const char *name);
static const char *(*intern)(const char *name) = kymo_intern;
static uint32_t calls[4]; /* recorded, of each function */
static __thread int depth __attribute__((unused));
static uint32_t deepest;

#if !FAULT_ASAN && !FAULT_TSAN /* they have allocators of their own */
static void record(int which, const char *name)
{
    if (!instant)
        return;
    depth++;
    if ((uint32_t)depth > __atomic_load_n(&deepest, __ATOMIC_RELAXED))
        __atomic_store_n(&deepest, (uint32_t)depth, __ATOMIC_RELAXED);
    __atomic_fetch_add(&calls[which], 1, __ATOMIC_RELAXED);
    instant(name);
    depth--;
}

void *malloc(size_t size)
{
    void *piece = __libc_malloc(size);
    record(0, "malloc");
    return piece;
}

void *calloc(size_t count, size_t size)
{
    void *piece = __libc_calloc(count, size);
    record(1, "calloc");
    return piece;
}

void *realloc(void *old, size_t size)
{
    void *piece = __libc_realloc(old, size);
    record(2, "realloc");
    return piece;
}

void free(void *piece)
{
    __libc_free(piece);
    record(3, "free");
}
#endif

static void instant_here(const char *name)
{
    kymo_instant(name);
}

static char names[4096][16];

enum { ROUNDS = 4, THREADS = 8, OWN_EVENTS = ROUNDS * THREADS * 4 };

static void *allocate(void *arg)
{
    char *volatile piece;
    char name[32];
    for (int i = 0; i < 200; i++) {
        piece = malloc(100);
        piece = realloc(piece, 5000);
        free(piece);
        piece = calloc(2, 50);
        free(piece);
        snprintf(name, sizeof(name), "name %d of %p", i, arg);
        if (i % 50 == 0)
            instant(intern(name)); /* one more that is not known */
    }
    return NULL;
}

static void allocate_on_threads(void)
{
    pthread_t threads[THREADS];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < THREADS; i++)
            CHECK_EQ(pthread_create(&threads[i], NULL, allocate, names[i]), 0);
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
}

/* How many of the events in the capture at PATH have NAME, or of all. */
static uint64_t events_of(const char *path, const char *name)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    uint64_t count = 0;
    CHECK_OK(kymo_open(path, &capture));
    CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0)
        count += event.kind != KYMO_GAP && event.kind != KYMO_SAMPLE &&
                 (!name || strcmp(event.name, name) == 0);
    kymo_cursor_free(cursor);
    kymo_close(capture);
    return count;
}

static void expect_sane(void)
{
#if FAULT_ASAN || FAULT_TSAN
    CHECK_SKIP("the sanitizer's allocator is not this program's");
#endif
    memset(calls, 0, sizeof(calls));
    deepest = 0;
    alarm(60); /* a call that waits for itself */
}

static void expect_all(const char *path, uint64_t lost)
{
    static const char *const functions[] = {"malloc", "calloc", "realloc", "free"};
    /* Those of allocate itself may be among the lost. */
    uint64_t wanted = OWN_EVENTS, found = events_of(path, NULL);
    for (int i = 0; i < 4; i++) {
        wanted += calls[i];
        CHECK(events_of(path, functions[i]) > 0);
    }
    alarm(0);
    CHECK(wanted > 8 * 200 * 5);
    CHECK_LE(found, wanted);
    CHECK(found + lost >= wanted); /* a sample may be among the lost, too */
    CHECK_LE(lost, wanted / 100);
    CHECK_LE(deepest, 2);
}

static uint64_t lost_in(const char *path)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(path, &capture));
    uint64_t lost = fault_info(capture).lost_records;
    kymo_close(capture);
    return lost;
}

static void record_all(const struct kymo_options *options)
{
    CHECK_OK(kymo_start(options));
    instant = instant_here;
    allocate_on_threads();
    instant = NULL;
    CHECK_OK(kymo_stop());
}

static void every_call_of_malloc_is_recorded_on_new_threads_too(void)
{
    expect_sane();
    const struct kymo_options options = {.size = sizeof(options), .path = check_path("calls")};
    record_all(&options);
    expect_all(check_path("calls"), lost_in(check_path("calls")));
}

static void a_small_budget_makes_threads_write_inside_malloc(void)
{
    expect_sane();
    const struct kymo_options options = {
        .size = sizeof(options), .path = check_path("small"), .budget = SMALL_BUDGET};
    record_all(&options);
    expect_all(check_path("small"), lost_in(check_path("small")));
}

static void samples_and_a_flight_recorder_do_not_allocate_either(void)
{
    expect_sane();
    const struct kymo_options options = {.size = sizeof(options),
                                         .path = check_path("both"),
                                         .flight_bytes = 64 << 20,
                                         .sample_hz = 1000};
    record_all(&options);
    expect_all(check_path("both"), lost_in(check_path("both")));
}

static void a_library_that_was_loaded_late_records_inside_malloc(void)
{
    expect_sane();
    const char *path = getenv("KYMO_LIBRARY");
    if (!path)
        CHECK_SKIP("KYMO_LIBRARY does not say where the library is");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        CHECK_FAIL("%s", dlerror());
    int (*start)(const struct kymo_options *) =
        (int (*)(const struct kymo_options *))dlsym(library, "kymo_start");
    int (*stop)(void) = (int (*)(void))dlsym(library, "kymo_stop");
    const struct kymo_options options = {.size = sizeof(options), .path = check_path("late")};
    CHECK_OK(start(&options));
    intern = (const char *(*)(const char *))dlsym(library, "kymo_intern");
    instant = (void (*)(const char *))dlsym(library, "kymo__instant");
    allocate_on_threads();
    instant = NULL;
    intern = kymo_intern;
    CHECK_OK(stop());
    expect_all(check_path("late"), lost_in(check_path("late")));
}

/* ---- signal handlers ---- */

static uint32_t handled;
static pthread_t target;
static uint32_t ended;

static void on_signal(int number)
{
    (void)number;
    uint32_t i = __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    kymo_instant(names[i % 4096]); /* most of them new */
    kymo_counter("handled", (double)i);
}

/* Starts, first events, new names, and ends of threads: everything that takes a lock. */
static void *come_and_go(void *arg)
{
    char name[32];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "own %d", i);
        kymo_instant(kymo_intern(name));
        free(malloc(64));
    }
    return arg;
}

static void *signal_often(void *arg)
{
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
        pthread_kill(target, SIGUSR1);
    return arg;
}

static void a_signal_handler_records_whatever_it_interrupts(void)
{
    expect_sane();
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    for (size_t i = 0; i < 4096; i++)
        snprintf(names[i], sizeof(names[i]), "handler %zu", i);
    target = pthread_self();
    pthread_t sender;
    const struct kymo_options options = {
        .size = sizeof(options), .path = check_path("signals"), .budget = SMALL_BUDGET};
    __atomic_store_n(&ended, 0, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_create(&sender, NULL, signal_often, NULL), 0);
    /* On a busy machine the sender may not run for a while. */
    for (int i = 0; i < 20 || __atomic_load_n(&handled, __ATOMIC_RELAXED) <= 100; i++) {
        CHECK_OK(kymo_start(&options));
        come_and_go(NULL);
        struct kymo_stats stats = {.size = sizeof(stats)};
        for (int turn = 0; turn < 100; turn++)
            kymo_stats(&stats);
        CHECK_OK(kymo_stop());
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    pthread_join(sender, NULL);
    signal(SIGUSR1, SIG_IGN);
    alarm(0);
    CHECK_EQ(events_of(check_path("signals"), "own 299"), 1);
}

static const struct check_case cases[] = {
    CHECK_CASE(every_call_of_malloc_is_recorded_on_new_threads_too),
    CHECK_CASE(a_small_budget_makes_threads_write_inside_malloc),
    CHECK_CASE(samples_and_a_flight_recorder_do_not_allocate_either),
    CHECK_CASE(a_library_that_was_loaded_late_records_inside_malloc),
    CHECK_CASE(a_signal_handler_records_whatever_it_interrupts),
};
CHECK_MAIN(cases)
