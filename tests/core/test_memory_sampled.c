/* The sampled mode: every block is counted once, whatever allocators lie below each other. */
#include <dlfcn.h>
#include <kymo/kymo.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocations.h"
#include "fault.h"
#include "heaped.h"

enum { RATE = 10000, MANY = 300000, SIZE = 100 };

static void *volatile sink;
static volatile size_t huge = (size_t)-1 / 4;
static volatile size_t many = (size_t)1 << 40;

static void start_sampled(const char *path)
{
    const struct kymo_memory_options options = {
        .size = sizeof(options), .mode = KYMO_MEMORY_SAMPLED, .rate = RATE, .no_stacks = 1};
    heaped_start(path, &options);
}

/* Allocations of SIZE bytes, of FUNCTION or of any, if NULL. */
static size_t count_of(const struct heaped *heaped, const char *function, uint64_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < heaped->count; i++) {
        const struct heaped_event *event = &heaped->all[i];
        count += (strcmp(event->kind, "memory.alloc") == 0 ||
                  strcmp(event->kind, "memory.realloc") == 0) &&
                 event->size == size && (!function || strcmp(event->function, function) == 0);
    }
    return count;
}

static size_t count_kind(const struct heaped *heaped, const char *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < heaped->count; i++)
        count += strcmp(heaped->all[i].kind, kind) == 0;
    return count;
}

/* MANY blocks of SIZE bytes with a chance of 0.00995 each: 2985, with a standard deviation of 54. */
static void check_many(size_t samples)
{
    CHECK_LE(2985 - 6 * 54, samples);
    CHECK_LE(samples, 2985 + 6 * 54);
}

/* What is recorded is in functions of its own: a function may read the address of malloc once, before
   it starts the session. */
#define RECORDED __attribute__((noinline)) static

RECORDED void call_and_fail(void)
{
    for (int i = 0; i < MANY; i++) {
        if (i % 3 == 0) {
            CHECK(!(sink = malloc(huge)));
            CHECK(!(sink = malloc(huge * 3)));
            CHECK(!(sink = calloc(huge, 3)));
            CHECK(!(sink = calloc(many, many)));
        }
        void *block = sink = malloc(SIZE);
        if (i % 3 == 0)
            CHECK(!(sink = realloc(block, huge)));
        free(block);
    }
}

static void calls_that_fail_are_not_recorded_and_change_nothing(void)
{
    const char *path = check_path("failing");
    start_sampled(path);
    call_and_fail();
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    size_t samples = count_of(&heaped, "malloc", SIZE);
    check_many(samples);
    CHECK_LE(count_kind(&heaped, "memory.alloc"), samples + 20);
    CHECK_LE(samples, count_kind(&heaped, "memory.free"));
    CHECK_EQ(count_kind(&heaped, "memory.realloc"), 0);
    free(heaped.all);
}

RECORDED void resize_blocks(void)
{
    for (int i = 0; i < MANY; i++) {
        void *block = sink = malloc(40);
        block = sink = realloc(block, SIZE);
        free(block);
    }
}

static void resized_blocks_have_the_chance_of_their_new_size(void)
{
    const char *path = check_path("resized");
    start_sampled(path);
    resize_blocks();
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    size_t frees = count_kind(&heaped, "memory.free"),
           all = count_kind(&heaped, "memory.alloc") + count_kind(&heaped, "memory.realloc");
    check_many(count_of(&heaped, "realloc", SIZE));
    /* 300000 times a chance of 0.003992: 1198, with a standard deviation of 35. */
    CHECK_LE(1198 - 6 * 35, count_of(&heaped, "malloc", 40));
    CHECK_LE(count_of(&heaped, "malloc", 40), 1198 + 6 * 35);
    CHECK_LE(all, frees + 20); /* nothing of ours is held */
    CHECK_LE(frees, all + 20);
    free(heaped.all);
}

#ifdef HAVE_NEW
static void operator_new_counts_once_although_it_calls_malloc(void)
{
    if (SANITIZED)
        CHECK_SKIP("with a sanitizer, operator new ends the program where it should throw");
    const char *path = check_path("operators");
    start_sampled(path);
    allocations_churn(MANY, SIZE); /* also one that throws, now and then */
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    size_t samples = count_of(&heaped, "operator new", SIZE);
    check_many(samples);
    CHECK_EQ(count_of(&heaped, NULL, SIZE), samples);
    free(heaped.all);
}
#endif

static void mappings_of_an_allocator_are_not_the_programs(void)
{
    if (SANITIZED)
        CHECK_SKIP("sanitizers refuse RTLD_DEEPBIND");
    const char *path = check_path("mapping");
    void *library = dlopen(MAPPING_ALLOCATOR, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library)
        CHECK_FAIL("%s", dlerror());
    void (*churn)(int, size_t) = (void (*)(int, size_t))dlsym(library, "mapping_churn");
    void (*ranges)(int, size_t) = (void (*)(int, size_t))dlsym(library, "mapping_ranges");

    start_sampled(path);
    churn(20000, 1000);
    ranges(7, 1 << 20);
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    /* 20000 times a chance of 0.0952: 1903, with a standard deviation of 41. */
    CHECK_LE(1903 - 6 * 41, count_of(&heaped, "malloc", 1000));
    CHECK_LE(count_of(&heaped, "malloc", 1000), 1903 + 6 * 41);
    CHECK_EQ(heaped_count(&heaped, "memory.map", 1 << 16), 0);
    CHECK_EQ(heaped_count(&heaped, "memory.unmap", 1 << 16), 0);
    CHECK_EQ(heaped_count(&heaped, "memory.map", 1 << 20), 7);
    CHECK_EQ(heaped_count(&heaped, "memory.unmap", 1 << 20), 7);
    free(heaped.all);
    dlclose(library);
}

/* ---- what libraries report ---- */

enum { NUMPY = 389047, DEVICE = 7 };

enum { LARGE = 70000 };

RECORDED void report_blocks(void)
{
    for (int i = 0; i < MANY; i++) {
        void *block = sink = malloc(SIZE);
        PyTraceMalloc_Track(NUMPY, (uintptr_t)block, SIZE);
        PyTraceMalloc_Untrack(NUMPY, (uintptr_t)block);
        free(block);
    }
    for (int i = 0; i < 1000; i++) { /* of another object, as an allocator may be */
        void *block = allocations_one(i % 2 ? LARGE : 200);
        PyTraceMalloc_Track(NUMPY, (uintptr_t)block, i % 2 ? LARGE : 200);
        PyTraceMalloc_Untrack(NUMPY, (uintptr_t)block);
        allocations_free(block);
    }
    for (int i = 0; i < MANY; i++) { /* no allocator's */
        PyTraceMalloc_Track(DEVICE, UINT64_C(0x7e0000000000), 99);
        PyTraceMalloc_Untrack(DEVICE, UINT64_C(0x7e0000000000));
    }
}

static void blocks_that_a_library_reports_count_once(void)
{
    const char *path = check_path("reported");
    start_sampled(path);
    report_blocks();
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    size_t samples = count_of(&heaped, "malloc", SIZE);
    check_many(samples);
    CHECK_EQ(count_of(&heaped, "tracked numpy", SIZE), samples);
    CHECK_EQ(count_of(&heaped, "tracked numpy", 200), count_of(&heaped, "malloc", 200));
    CHECK_EQ(count_of(&heaped, "tracked numpy", LARGE), count_of(&heaped, "malloc", LARGE));
    CHECK_LE(490, count_of(&heaped, "malloc", LARGE)); /* of 500, with a chance of 0.999 */
    check_many(count_of(&heaped, "tracked 7", 99));    /* one percent less, which is half of 54 */
    free(heaped.all);
}

/* ---- other sessions ---- */

static void functions_that_were_kept_report_to_a_session_of_another_mode(void)
{
    const char *path = check_path("kept");
    start_sampled(check_path("keeping"));
    void *(*volatile make)(size_t) = malloc; /* the hooks, as the slots have them now */
    void (*volatile release)(void *) = free;
    void *(*volatile resize)(void *, size_t) = realloc;
    for (int i = 0; i < MANY; i++)
        release(make(SIZE));
    CHECK_OK(kymo_stop());

    heaped_start(path, NULL);
    for (int i = 0; i < 2000; i++) {
        void *block = make(5003);
        release(resize(block, 5009));
    }
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    CHECK_EQ(count_of(&heaped, "malloc", 5003), 2000);
    CHECK_EQ(count_of(&heaped, "realloc", 5009), 2000);
    CHECK_LE(4000, count_kind(&heaped, "memory.free"));
    free(heaped.all);
}

static void a_forked_child_records_in_its_own_mode(void)
{
    FAULT_NOT_EMULATED("children that make threads");
    const char *path = check_path("parent"), *other = check_path("child");
    start_sampled(path);
    pid_t pid = fork();
    if (pid == 0) {
        const struct kymo_options options = {
            .size = sizeof(options), .path = other, .sources = "memory=on"};
        int rc = kymo_start(&options);
        for (int i = 0; i < 1000; i++)
            allocations_free(allocations_one(6011));
        _exit(rc < 0 || kymo_stop() < 0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(other);
    CHECK_EQ(count_of(&heaped, "malloc", 6011), 1000);
    free(heaped.all);
}

static const struct check_case cases[] = {
    CHECK_CASE(calls_that_fail_are_not_recorded_and_change_nothing),
    CHECK_CASE(resized_blocks_have_the_chance_of_their_new_size),
#ifdef HAVE_NEW
    CHECK_CASE(operator_new_counts_once_although_it_calls_malloc),
#endif
    CHECK_CASE(mappings_of_an_allocator_are_not_the_programs),
    CHECK_CASE(blocks_that_a_library_reports_count_once),
    CHECK_CASE(functions_that_were_kept_report_to_a_session_of_another_mode),
    CHECK_CASE(a_forked_child_records_in_its_own_mode),
};

CHECK_MAIN(cases)
