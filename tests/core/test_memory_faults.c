/* The memory tracer where programs are difficult: signals, libraries that come and go, full disks. */
#include <dlfcn.h>
#include <kymo/kymo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "allocations.h"
#include "fault.h"
#include "heaped.h"

static size_t count_of(const struct heaped *heaped, const char *kind, uint64_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < heaped->count; i++)
        count += strcmp(heaped->all[i].kind, kind) == 0 && heaped->all[i].size == size;
    return count;
}

/* ---- signals ---- */

static void allocate_in_handler(int number)
{
    (void)number;
    allocations_free(allocations_one(9001));
}

static void a_handler_that_interrupts_no_allocator_is_recorded(void)
{
    const char *path = check_path("raised");
    signal(SIGUSR1, allocate_in_handler);
    heaped_start(path, NULL);
    for (int i = 0; i < 100; i++)
        raise(SIGUSR1);
    CHECK_OK(kymo_stop());
    signal(SIGUSR1, SIG_DFL);

    struct heaped heaped = heaped_read(path);
    CHECK_EQ(count_of(&heaped, "memory.alloc", 9001), 100);
    free(heaped.all);
}

static int handled;

/* malloc must not be called in a handler that may interrupt it; mmap may. */
static void map_in_handler(int number)
{
    (void)number;
    void *at = mmap(NULL, 5 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at, 5 * 4096);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void handlers_interrupt_the_recorder_anywhere(void)
{
    const char *path = check_path("interrupted");
    const struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    size_t blocks = 0, mapped = 0, unmapped = 0;
    handled = 0;
    signal(SIGALRM, map_in_handler);
    heaped_start(path, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    while (__atomic_load_n(&handled, __ATOMIC_RELAXED) < 50 || blocks < 20000) {
        allocations_free(allocations_one(9007));
        blocks++;
        if (blocks >= 2000000)
            break;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK_OK(kymo_stop());
    signal(SIGALRM, SIG_DFL);

    struct heaped heaped = heaped_read(path);
    for (size_t i = 0; i < heaped.count; i++) {
        mapped += strcmp(heaped.all[i].kind, "memory.map") == 0;
        unmapped += strcmp(heaped.all[i].kind, "memory.unmap") == 0;
    }
    /* None of the interrupted calls is lost; the handler's may be. */
    CHECK_EQ(count_of(&heaped, "memory.alloc", 9007), blocks);
    CHECK_LE(mapped, (size_t)handled);
    CHECK_LE(unmapped, (size_t)handled);
    free(heaped.all);
}

/* ---- libraries ---- */

static int ended;

static void *load_and_unload(void *arg)
{
    size_t *loads = arg;
    while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
        void *library = dlopen(ALLOCATIONS_MODULE, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            CHECK_FAIL("%s", dlerror());
        void *(*one)(size_t) = (void *(*)(size_t))dlsym(library, "allocations_one");
        void (*release)(void *) = (void (*)(void *))dlsym(library, "allocations_free");
        release(one(5003));
        dlclose(library);
        ++*loads;
    }
    return NULL;
}

static void *churn(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 20; i++)
            allocations_free(allocations_one(700));
        fault_sleep(100000);
    }
    return NULL;
}

static void libraries_come_and_go_while_recording_starts_and_stops(void)
{
    const char *path = check_path("loads");
    pthread_t loading[2], churning;
    size_t loads[2] = {0, 0};
    ended = 0;
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&loading[i], NULL, load_and_unload, &loads[i]), 0);
    CHECK_EQ(pthread_create(&churning, NULL, churn, NULL), 0);
    for (int round = 0; round < 10; round++) {
        heaped_start(path, NULL);
        fault_sleep(5000000);
        allocations_free(allocations_one(5011));
        CHECK_OK(kymo_stop());
        struct heaped heaped = heaped_read(path);
        CHECK_EQ(count_of(&heaped, "memory.alloc", 5011), 1);
        CHECK_STR(heaped.missed, "");
        free(heaped.all);
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(loading[i], NULL);
    pthread_join(churning, NULL);
    CHECK(loads[0] > 0 && loads[1] > 0);
}

/* ---- disks ---- */

static void a_full_disk_stops_the_recording_but_not_the_program(void)
{
    const char *path = check_path("full");
    struct rlimit before, little = {.rlim_cur = 20000};
    getrlimit(RLIMIT_FSIZE, &before);
    little.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    heaped_start(path, NULL);
    setrlimit(RLIMIT_FSIZE, &little);
    for (int i = 0; i < 300000; i++)
        allocations_free(allocations_one(1000 + (size_t)i % 977));
    int rc = kymo_stop();
    setrlimit(RLIMIT_FSIZE, &before);

    CHECK_EQ(rc, -EFBIG);
    struct kymo_memory_stats stats = {.size = sizeof(stats)};
    CHECK_OK(kymo_memory_stats(&stats));
    CHECK(stats.patched_slots > 0);
    struct heaped heaped = heaped_read(path); /* what there is can be read */
    free(heaped.all);
    heaped_start(path, NULL); /* and the next recording is complete */
    allocations_free(allocations_one(5021));
    CHECK_OK(kymo_stop());
    heaped = heaped_read(path);
    CHECK_EQ(count_of(&heaped, "memory.alloc", 5021), 1);
    free(heaped.all);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_handler_that_interrupts_no_allocator_is_recorded),
    CHECK_CASE(handlers_interrupt_the_recorder_anywhere),
    CHECK_CASE(libraries_come_and_go_while_recording_starts_and_stops),
    CHECK_CASE(a_full_disk_stops_the_recording_but_not_the_program),
};

CHECK_MAIN(cases)
