/* fault.h — what the tests of faults share: time, children, and numbered events.

   A thread that records numbered events records five to a round: a span, a span in
   it, a counter that says which round it is, and the two ends. What a reader gets of
   such a thread can be compared event by event, so that a hole or a repeat shows. */
#ifndef KYMO_FAULT_H
#define KYMO_FAULT_H

#include <dirent.h>
#include <errno.h>
#include <kymo/kymo.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define FAULT_TSAN 1
#else
#define FAULT_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FAULT_ASAN 1
#else
#define FAULT_ASAN 0
#endif

/* Skip the case in an emulator of user programs (tools/cross.sh tells), which has no WHAT. */
#define FAULT_NOT_EMULATED(what)                                                                   \
    do {                                                                                           \
        if (getenv("KYMO_EMULATED"))                                                               \
            CHECK_SKIP("the emulator has no " what);                                               \
    } while (0)

/* How often to do something: less often where a sanitizer makes it slow. */
#define FAULT_TIMES(plain, sanitized) (FAULT_TSAN || FAULT_ASAN ? (sanitized) : (plain))

#define SMALL_BUDGET (1u << 20) /* the least there is: 16 chunks */

/* meson has malloc fill whatever it gives. A recorder's buffers are large and mostly never
   touched, so that programs that start very many sessions would do nothing else. */
#ifdef FAULT_MANY_SESSIONS
__attribute__((constructor)) static void fault_do_not_fill(void)
{
    mallopt(M_PERTURB, 0);
}
#endif

static inline int64_t fault_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void fault_sleep(int64_t ns)
{
    const struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

/* A number below LIMIT. The same ones in every run unless KYMO_TEST_SEED says so. */
static inline uint64_t fault_random(uint64_t limit)
{
    static uint64_t state;
    if (!state) {
        const char *seed = getenv("KYMO_TEST_SEED");
        state = seed ? strtoull(seed, NULL, 0) | 1 : UINT64_C(0x243f6a8885a308d3);
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

/* How many entries directory PATH has, "." and ".." too. */
static inline int fault_entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;
    CHECK(dir != NULL);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* Bytes of memory that this process has in use. */
static inline long fault_resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f && fscanf(f, "%*d %ld", &pages) == 1);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static inline int fault_start(const char *path, uint64_t budget, int policy)
{
    return kymo_start(&(struct kymo_options){
        .size = sizeof(struct kymo_options), .path = path, .budget = budget, .policy = policy});
}

static inline struct kymo_stats fault_stats(void)
{
    struct kymo_stats stats = {.size = sizeof(stats)};
    CHECK_OK(kymo_stats(&stats));
    return stats;
}

static inline struct kymo_info fault_info(const struct kymo_capture *capture)
{
    struct kymo_info info = {.size = sizeof(info)};
    CHECK_OK(kymo_capture_info(capture, &info));
    return info;
}

/* ---- children ---- */

/* Memory that a child shares with its parent, all zero. */
static inline void *fault_shared(size_t size)
{
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}

static inline bool fault_others_rest(void)
{
    DIR *dir = opendir("/proc/self/task");
    bool rest = true;
    CHECK(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char path[64], stat[128] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", entry->d_name);
        int tid = atoi(entry->d_name); /* 0 for . and .. */
        FILE *f = tid && tid != getpid() ? fopen(path, "re") : NULL;
        if (!f)
            continue;
        rest = fgets(stat, sizeof(stat), f) && strstr(stat, ") S ") && rest;
        fclose(f);
    }
    closedir(dir);
    return rest;
}

/* fork. What another thread has locked of address sanitizer's allocator, as it does when it begins,
   nobody unlocks in the child; so that first they have to come to rest. */
static inline pid_t fault_fork(void)
{
    for (int i = 0, calm = 0; FAULT_ASAN && i < 1000 && calm < 3; i++) {
        calm = fault_others_rest() ? calm + 1 : 0;
        fault_sleep(1000000);
    }
    return fork();
}

/* Run BODY in a child, which ends when it returns. A check that fails in it ends it
   with status 1. */
static inline pid_t fault_child(void (*body)(void *arg), void *arg)
{
    fflush(stdout);
    pid_t pid = fault_fork();
    if (pid != 0) {
        CHECK(pid > 0);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a parent that fails does not leave it behind */
    int how = setjmp(check_out);
    if (how == 0)
        body(arg);
    else if (how == 2)
        printf("# not done: %s\n", check_skip_reason);
    fflush(stdout);
    _exit(how == 2 ? 77 : how);
}

static inline int fault_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/* The child ends by itself and finds nothing wrong. */
#define CHECK_CHILD(pid)                                                                           \
    do {                                                                                           \
        int check_status = fault_wait(pid);                                                        \
        if (WIFEXITED(check_status) && WEXITSTATUS(check_status) == 77)                            \
            CHECK_SKIP("it cannot be done here, as said above");                                   \
        if (!WIFEXITED(check_status) || WEXITSTATUS(check_status) != 0)                            \
            CHECK_FAIL(                                                                            \
                "the child ended with %s %d", WIFSIGNALED(check_status) ? "signal" : "status",     \
                WIFSIGNALED(check_status) ? WTERMSIG(check_status) : WEXITSTATUS(check_status));   \
    } while (0)

/* Mount a new file system of TYPE at DIR, for this process alone, or skip. */
static inline void fault_mount(const char *type, const char *dir, const char *options)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        CHECK_SKIP("no mount namespace of our own: needs root");
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        CHECK_FAIL("mkdir %s: %s", dir, strerror(errno));
    if (mount(type, dir, type, 0, options) != 0)
        CHECK_SKIP("this file system cannot be mounted");
}

/* ---- numbered events ---- */

#define NUMBERED_NAMES 100 /* of outer spans; new ones come up as recording goes on */

struct numbered {
    uint64_t next; /* number of the next event */
    struct kymo_span outer, inner;
};

static inline const char *numbered_name(uint64_t number)
{
    static char names[NUMBERED_NAMES][16];
    char *name = names[number / 5 / 50 % NUMBERED_NAMES];
    if (!names[NUMBERED_NAMES - 1][0]) /* the first call is made before there are threads */
        for (int i = 0; i < NUMBERED_NAMES; i++)
            snprintf(names[i], sizeof(names[i]), "outer %d", i);
    return name;
}

/* Record one event. */
static inline void numbered_record(struct numbered *self)
{
    switch (self->next % 5) {
    case 0:
        self->outer = kymo_span_begin(numbered_name(self->next));
        break;
    case 1:
        self->inner = kymo_span_begin("inner");
        break;
    case 2:
        kymo_counter("round", (double)(self->next / 5));
        break;
    case 3:
        kymo_span_end(self->inner);
        break;
    case 4:
        kymo_span_end(self->outer);
        break;
    }
    self->next++;
}

/* EVENT is event NUMBER of its thread. */
static inline void numbered_check(const struct kymo_event *event, uint64_t number)
{
    static const uint16_t kinds[] = {KYMO_ENTER, KYMO_ENTER, KYMO_COUNTER, KYMO_LEAVE, KYMO_LEAVE};
    unsigned step = (unsigned)(number % 5);
    const char *name = step == 2                ? "round"
                       : step == 1 || step == 3 ? "inner"
                                                : numbered_name(number);
    if (event->kind != kinds[step] || strcmp(event->name, name) != 0 ||
        (step == 2 && event->value != (double)(number / 5)))
        CHECK_FAIL("event %" PRIu64 " of thread %u is kind %u, \"%s\", value %.17g, id %" PRIu64,
                   number, event->thread, event->kind, event->name, event->value, event->id);
}

/* Which of the threads that are named "worker 0", "worker 1", … INDEX is. */
static inline unsigned numbered_worker(const struct kymo_capture *capture, uint32_t index,
                                       unsigned workers)
{
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    unsigned worker = 0;
    CHECK_OK(kymo_capture_thread(capture, index, &thread));
    if (sscanf(thread.name, "worker %u", &worker) != 1 || worker >= workers)
        CHECK_FAIL("thread %u is called \"%s\"", index, thread.name);
    return worker;
}

static inline void numbered_name_thread(unsigned worker)
{
    char name[32];
    snprintf(name, sizeof(name), "worker %u", worker);
    kymo_thread_name(name);
}

/* Read everything: each of WORKERS threads is a whole beginning of its numbered
   events, and COUNTS tells how many there are. */
static inline void numbered_read(struct kymo_capture *capture, unsigned workers, uint64_t *counts)
{
    struct kymo_event event = {.size = sizeof(event)};
    struct kymo_cursor *cursor;
    uint32_t threads = (uint32_t)fault_info(capture).threads;
    unsigned *worker_of = calloc(threads + 1, sizeof(*worker_of));
    bool *known = calloc(threads + 1, sizeof(*known));
    kymo_ns last = INT64_MIN;
    int rc;
    memset(counts, 0, workers * sizeof(*counts));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while ((rc = kymo_cursor_next(cursor, &event)) > 0) {
        if (!known[event.thread]) {
            worker_of[event.thread] = numbered_worker(capture, event.thread, workers);
            known[event.thread] = true;
        }
        CHECK_LE(last, event.time);
        last = event.time;
        numbered_check(&event, counts[worker_of[event.thread]]++);
    }
    CHECK_OK(rc);
    kymo_cursor_free(cursor);
    free(worker_of);
    free(known);
}

#endif
