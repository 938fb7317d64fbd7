/* Random ways through functions of all shapes, compared with another unwinder frame by frame.
   KYMO_CAPTURES says how many captures; without it few, so that the tests stay quick. */
#include <kymo/kymo.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/time.h>

#include "check.h"
#include "elsewhere.h"
#include "oracle.h"
#include "reread.h"
#include "trip.h"

static trip_shape *shapes[64];
static unsigned shape_count;
static long captures, differences, reread; /* by all threads, atomic */

static long wanted(void)
{
    const char *text = getenv("KYMO_CAPTURES");
    return text ? atol(text) : 20000;
}

static uint32_t id_of(const struct kymo_walk *walk)
{
    uint64_t id = walk->count;
    for (size_t i = 0; i < walk->count; i++)
        id = kymo__hash_word(id ^ walk->frames[i].pc);
    return (uint32_t)(id >> 32);
}

__attribute__((noinline)) static void look(struct trip *trip)
{
    static _Thread_local uint64_t pcs[ORACLE_FRAMES];
    struct kymo_reread_key key = {.frame = (uint64_t)(uintptr_t)__builtin_frame_address(0),
                                  .version = kymo__modules_version()};
    kymo_stack found = 0;
    bool again = kymo__walker && kymo__reread_find(kymo__walker, &key, &found);
    if (!ORACLE_AGREES(pcs))
        __atomic_add_fetch(&differences, 1, __ATOMIC_RELAXED);
    struct kymo_walk walk;
    CHECK(kymo__walk(&walk, 1));
    if (!again)
        kymo__reread_keep(kymo__walker, &key, id_of(&walk));
    else if (found != id_of(&walk))
        __atomic_add_fetch(&differences, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&reread, again, __ATOMIC_RELAXED);
    __atomic_add_fetch(&captures, 1, __ATOMIC_RELAXED);
    if (trip->back && trip_chance(trip, 8) == 0)
        longjmp(*trip->back, 1);
}

/* RARE: 0 only ordinary functions, 1 signals and such too, 2 also libraries. */
static void gather_shapes(unsigned rare)
{
    shape_count = 0;
    for (unsigned i = 0; i < TRIP_SHAPES; i++) {
        /* What gcc tells of the last instruction of an aligned one is wrong, and in the middle of
           longjmp the oracle reads a stack that is half another one: only a signal finds out. */
        if (!rare && (i == TRIP_ALIGNED || i == TRIP_ALIGNED_DYNAMIC || i == TRIP_JUMP))
            continue;
        for (unsigned k = 0; k < 2; k++) { /* the others are rarer */
#if defined(__x86_64__) /* elsewhere, functions without frame pointers are passed over */
            shapes[shape_count++] = trip_shapes_nofp[i];
#endif
            if (k == 0)
                shapes[shape_count++] = trip_shapes_fp[i];
        }
    }
    if (rare) {
        if (ORACLE_KNOWS_JIT)
            shapes[shape_count++] = in_jit;
        if (!SIGNALS_ARE_LATE) {
            shapes[shape_count++] = in_handler;
            shapes[shape_count++] = in_handler_on_its_stack;
        }
#ifndef __SANITIZE_ADDRESS__ /* it does not follow stacks that come and go */
        shapes[shape_count++] = in_coroutine;
#endif
    }
    if (rare > 1)
        shapes[shape_count++] = in_library;
}

static void travel(uint64_t seed, long count)
{
    struct trip trip = {.random = seed, .leaf = look, .shapes = shapes, .shape_count = shape_count};
    long end = __atomic_load_n(&captures, __ATOMIC_RELAXED) + count;
    while (__atomic_load_n(&captures, __ATOMIC_RELAXED) < end) {
        trip.depth = trip_chance(&trip, trip_chance(&trip, 4) ? 12 : 60);
        unsigned same = trip_chance(&trip, 3); /* the same way again, or one like it */
        uint64_t random = trip.random;
        for (unsigned i = 0; i <= same; i++) {
            trip.random = random;
            trip.back = NULL;
            trip_on(&trip);
        }
        trip.random ^= seed;
    }
}

/* All that were looked at since the last call of this were as they should be. */
static void check_differences(void)
{
    static long before;
    printf("# %ld captures compared, %ld of them found again\n", captures - before, reread);
    CHECK_EQ(differences, 0);
    CHECK_LE((captures - before) / 20, reread);
    before = captures;
    reread = 0;
}

static void random_walks_agree_with_the_oracle(void)
{
    elsewhere_signals();
    gather_shapes(1);
    differences = 0;
    travel(12345, wanted() / 2);
    check_differences();
}

static void libraries_that_come_and_go_do_not_confuse(void)
{
    elsewhere_signals();
    gather_shapes(2);
    differences = 0;
    travel(999, wanted() / 20);
    check_differences();
}

static void *travel_on_thread(void *arg)
{
    elsewhere_signals();
    travel((uint64_t)(uintptr_t)arg, wanted() / 4);
    return NULL;
}

static void threads_do_not_disturb_each_other(void)
{
    /* Signals to threads are too much for an emulator, which is known by having no vDSO. */
    gather_shapes(getauxval(AT_SYSINFO_EHDR) ? 1 : 0);
    differences = 0;
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, travel_on_thread, (void *)(i + 7));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    check_differences();
}

static long interruptions, refused;

static void on_timer(int signal, siginfo_t *info, void *context)
{
    static uint64_t pcs[ORACLE_FRAMES];
    (void)signal, (void)info;
    struct kymo_walk walk;
    if (!kymo__walk_context(&walk, context)) {
        refused++; /* it came in the middle of a walk */
        return;
    }
    if (!oracle_agrees(&walk, pcs, oracle_context(context, pcs, ORACLE_FRAMES)))
        differences++;
    interruptions++;
}

__attribute__((noinline)) static void glance(struct trip *trip)
{
    struct kymo_walk walk;
    struct timespec now;
    kymo__walk(&walk, 0);
    for (int i = 0; i < 50; i++)
        clock_gettime(CLOCK_MONOTONIC, &now); /* in the kernel's own library, mostly */
    if (trip->back && trip_chance(trip, 8) == 0)
        longjmp(*trip->back, 1);
}

static void a_signal_at_any_place_finds_the_stack_it_came_to(void)
{
    if (SIGNALS_ARE_LATE)
        CHECK_SKIP("this sanitizer delays signals");
    gather_shapes(0);
    differences = 0;
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
    setitimer(ITIMER_REAL, &often, NULL);
    struct trip trip = {
        .random = 4711, .leaf = glance, .shapes = shapes, .shape_count = shape_count};
    for (long i = 0; interruptions < wanted() / 40 && i < wanted() * 1000; i++) {
        trip.depth = trip_chance(&trip, 30);
        trip.back = NULL;
        trip_on(&trip);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("# %ld interruptions, %ld of them in a walk\n", interruptions, refused);
    CHECK(interruptions > 0);
    CHECK_EQ(differences, 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(random_walks_agree_with_the_oracle),
    CHECK_CASE(libraries_that_come_and_go_do_not_confuse),
    CHECK_CASE(threads_do_not_disturb_each_other),
    CHECK_CASE(a_signal_at_any_place_finds_the_stack_it_came_to),
};
CHECK_MAIN(cases)
