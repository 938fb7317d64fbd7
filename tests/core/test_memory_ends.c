/* What is read of the memory events of a killed process, and of a flight recorder, is what the program
   did: from its beginning to its end, or from a later moment on, without a hole.

   Each worker allocates blocks 0, 1, 2, …, whose sizes tell which worker and about which number, and
   frees each when it has allocated HELD others. Where they were is written down in memory that
   outlives it. */
#include <fcntl.h>
#include <kymo/kymo.h>
#include <pthread.h>

#include "allocations.h"
#include "fault.h"
#include "format.h"
#include "heaped.h"
#include "shell.h"

enum {
    WORKERS = 2,
    HELD = 7,
    LEAST = 20000,   /* bytes */
    SIZES = 4093,    /* of a worker */
    NOTED = 1 << 21, /* blocks of a worker that can be written down */
    FLIGHT = 256 << 10
};

struct worker {
    uint64_t done; /* calls that have returned */
    uintptr_t block[NOTED];
};

static struct worker *workers; /* shared with the child */
static int ended;

/* Call NUMBER of a worker: first HELD blocks, then in turn a block and a free. */
static bool is_free(uint64_t call)
{
    return call >= HELD && (call - HELD) % 2;
}

static uint64_t block_of(uint64_t call)
{
    if (call < HELD)
        return call;
    return is_free(call) ? (call - HELD) / 2 : HELD + (call - HELD) / 2;
}

static size_t size_of(unsigned worker, uint64_t block)
{
    return LEAST + worker * SIZES + block % SIZES;
}

static void *work(void *arg)
{
    unsigned worker = (unsigned)(uintptr_t)arg;
    struct worker *w = &workers[worker];
    numbered_name_thread(worker);
    for (uint64_t call = 0; !__atomic_load_n(&ended, __ATOMIC_RELAXED); call++) {
        uint64_t block = block_of(call);
        if (block >= NOTED)
            break;
        if (is_free(call))
            allocations_free((void *)w->block[block]);
        else
            w->block[block] = (uintptr_t)allocations_one(size_of(worker, block));
        __atomic_store_n(&w->done, call + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void start(uint64_t budget, uint64_t flight_bytes)
{
    const struct kymo_options options = {.size = sizeof(options),
                                         .path = check_path("ended.kymo"),
                                         .budget = budget,
                                         .flight_bytes = flight_bytes,
                                         .sources = "memory=on"};
    CHECK_OK(kymo_start(&options));
}

static void start_workers(pthread_t *threads)
{
    for (uintptr_t i = 0; i < WORKERS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)i), 0);
}

/* Wait until each worker has made CALLS calls. CHILD: the process that they are in, or 0. */
static void await_calls(uint64_t calls, pid_t child)
{
    for (int i = 0; i < WORKERS; i++)
        while (__atomic_load_n(&workers[i].done, __ATOMIC_ACQUIRE) < calls) {
            if (child && waitpid(child, NULL, WNOHANG) == child)
                CHECK_FAIL("the child ended by itself");
            fault_sleep(100000);
        }
}

/* ---- what is read ---- */

struct ended {
    struct kymo_info info;
    struct heaped heaped;
    int32_t thread[WORKERS]; /* that is this worker's, or -1 */
    uint64_t expired[WORKERS], events[WORKERS];
};

static struct ended read_ended(void)
{
    struct ended e = {.heaped = heaped_read(check_path("ended.kymo"))};
    struct kymo_thread_info thread = {.size = sizeof(thread)};
    struct kymo_capture *capture;
    uint64_t count;
    uint32_t index;
    int reason;
    CHECK_OK(kymo_open(check_path("ended.kymo"), &capture));
    CHECK_EQ(kymo_capture_verify(capture), 0);
    e.info = fault_info(capture);
    for (int i = 0; i < WORKERS; i++)
        e.thread[i] = -1;
    for (uint32_t i = 0; kymo_capture_thread(capture, i, &thread) == 0; i++) {
        unsigned worker;
        if (sscanf(thread.name, "worker %u", &worker) != 1)
            continue;
        CHECK(worker < WORKERS && e.thread[worker] < 0);
        e.thread[worker] = (int32_t)i;
        e.events[worker] = thread.records;
    }
    for (uint64_t i = 0; !kymo_capture_gap(capture, i, &index, &reason, &count, NULL, NULL); i++) {
        CHECK_EQ(reason, KYMO_GAP_FLIGHT);
        for (int k = 0; k < WORKERS; k++)
            e.expired[k] += (int32_t)index == e.thread[k] ? count : 0;
    }
    CHECK_EQ(e.info.lost_records, 0);
    kymo_close(capture);
    return e;
}

/* Every event of WORKER is that of a call, from number FIRST on, one after the other. */
static void check_calls(const struct ended *e, unsigned worker, uint64_t first)
{
    const struct worker *w = &workers[worker];
    uint64_t call = first;
    for (size_t i = 0; i < e->heaped.count; i++) {
        const struct heaped_event *event = &e->heaped.all[i];
        if ((int32_t)event->thread != e->thread[worker])
            continue;
        const uint64_t block = block_of(call);
        CHECK_STR(event->kind, is_free(call) ? "memory.free" : "memory.alloc");
        /* The last of a killed process may not be written down yet. */
        if (call < w->done)
            CHECK_EQ(event->address, w->block[block]);
        if (!is_free(call)) {
            CHECK_EQ(event->size, size_of(worker, block));
            CHECK_STR(event->function, "malloc");
        }
        call++;
    }
    CHECK_EQ(call, first + e->events[worker]);
}

/* What is there and what expired are all calls, and a few events of other threads. */
static void check_made(const struct ended *e)
{
    uint64_t calls = 0;
    for (int i = 0; i < WORKERS; i++)
        calls += workers[i].done;
    CHECK_LE(calls, e->info.records + e->info.expired_records);
    CHECK_LE(e->info.records + e->info.expired_records, calls + 5000);
}

/* How many blocks of the capture have columns for notes. */
static unsigned count_columns(void)
{
    struct kymo_block_header header;
    off_t at = sizeof(struct kymo_file_header);
    unsigned count = 0;
    int fd = open(check_path("ended.kymo"), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    while (pread(fd, &header, sizeof(header), at) == (ssize_t)sizeof(header) &&
           header.magic == KYMO__BLOCK_MAGIC) {
        count += header.type == KYMO__BLOCK_NOTES;
        at += (off_t)((sizeof(header) + header.stored_bytes + 7) & ~UINT64_C(7));
    }
    close(fd);
    return count;
}

/* `kymograph report --memory --check` says that it is incomplete, and why. */
static void check_says(const char *why)
{
    const char *program = getenv("KYMO_PROGRAM"), *path = check_path("ended.kymo");
    if (!program)
        CHECK_SKIP("no KYMO_PROGRAM");
    CHECK_EQ(WEXITSTATUS(shell("'%s' report --memory --check '%s' 2>'%s.said' >/dev/null", program,
                               path, path)),
             1);
    CHECK_EQ(shell("grep -q 'incomplete: .*%s' '%s.said'", why, path), 0);
}

static void free_ended(struct ended *e)
{
    free(e->heaped.all);
}

/* ---- killed ---- */

static void record_until_killed(void *arg)
{
    const uint64_t *how = arg;
    pthread_t threads[WORKERS];
    start(how[0], how[1]);
    start_workers(threads);
    for (;;)
        pause();
}

/* Kill a process that recorded with this budget, as a flight recorder or not, when each worker has made
   CALLS calls. */
static void kill_after(uint64_t budget, uint64_t flight_bytes, uint64_t calls)
{
    uint64_t how[] = {budget, flight_bytes};
    memset(workers, 0, WORKERS * sizeof(*workers));
    pid_t pid = fault_child(record_until_killed, how);
    await_calls(calls, pid);
    kill(pid, SIGKILL);
    CHECK_EQ(WTERMSIG(fault_wait(pid)), SIGKILL);
}

static void check_killed(bool written)
{
    struct ended e = read_ended();
    CHECK_EQ(e.info.ending, KYMO_ENDED_KILLED);
    CHECK_EQ(e.info.expired_records, 0);
    CHECK(e.info.recovered_records > 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        CHECK_LE(workers[i].done, e.events[i]);
        CHECK_LE(e.events[i], workers[i].done + 1);
        check_calls(&e, i, 0);
    }
    if (written)
        CHECK(count_columns() > 0);
    free_ended(&e);
}

static void a_killed_process_leaves_every_call(void)
{
    workers = fault_shared(WORKERS * sizeof(*workers));
    for (int i = 0; i < 10; i++) {
        kill_after(0, 0, 1 + fault_random(UINT64_C(10) << i));
        check_killed(false);
    }
    check_says("the process ended before the recording stopped");
    munmap(workers, WORKERS * sizeof(*workers));
}

static void a_killed_process_leaves_every_call_when_chunks_are_reused(void)
{
    workers = fault_shared(WORKERS * sizeof(*workers));
    for (int i = 0; i < 5; i++) {
        kill_after(SMALL_BUDGET, 0, 100000 + fault_random(50000));
        check_killed(true);
    }
    munmap(workers, WORKERS * sizeof(*workers));
}

/* How many calls the last event of WORKER is that of; as many as it made, or one more. */
static uint64_t made_calls(const struct ended *e, unsigned worker)
{
    const uint64_t done = workers[worker].done;
    bool last_free = false;
    for (size_t i = 0; i < e->heaped.count; i++)
        if ((int32_t)e->heaped.all[i].thread == e->thread[worker])
            last_free = strcmp(e->heaped.all[i].kind, "memory.free") == 0;
    return done + (is_free(done - 1) != last_free);
}

/* What was packed is gone; what the live file has is the end of what it did. */
static void a_killed_flight_recorder_leaves_the_last_calls(void)
{
    workers = fault_shared(WORKERS * sizeof(*workers));
    for (int i = 0; i < 6; i++) {
        kill_after(i % 2 ? SMALL_BUDGET : 0, FLIGHT, 200000 + fault_random(200000));
        struct ended e = read_ended();
        CHECK_EQ(e.info.ending, KYMO_ENDED_KILLED);
        for (unsigned k = 0; k < WORKERS; k++)
            if (e.events[k])
                check_calls(&e, k, made_calls(&e, k) - e.events[k]);
        CHECK(e.info.expired_records > 0);
        check_made(&e);
        free_ended(&e);
    }
    check_says("the process ended before the recording stopped");
    check_says("the flight recorder dropped");
    munmap(workers, WORKERS * sizeof(*workers));
}

/* ---- flight recorders ---- */

static void stop_after(uint64_t calls)
{
    pthread_t threads[WORKERS];
    memset(workers, 0, WORKERS * sizeof(*workers));
    __atomic_store_n(&ended, 0, __ATOMIC_RELAXED);
    start_workers(threads);
    await_calls(calls, 0);
    __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
}

/* With a small budget, threads that record also pack, at the same time as kymograph's own. */
static void a_flight_recorder_keeps_the_last_calls(void)
{
    workers = fault_shared(WORKERS * sizeof(*workers));
    for (int i = 0; i < 4; i++) {
        start(i ? SMALL_BUDGET : 0, FLIGHT);
        stop_after(200000);
        CHECK_OK(kymo_stop());
        struct ended e = read_ended();
        CHECK_EQ(e.info.ending, KYMO_ENDED_CLEAN);
        CHECK(e.info.expired_records > 0);
        CHECK(count_columns() > 0);
        for (unsigned k = 0; k < WORKERS; k++) {
            CHECK_EQ(e.expired[k] + e.events[k], workers[k].done);
            check_calls(&e, k, e.expired[k]);
        }
        free_ended(&e);
    }
    check_says("the flight recorder dropped");
    munmap(workers, WORKERS * sizeof(*workers));
}

/* A chunk is then spread over several blocks. */
static void what_a_flight_recorder_writes_in_parts_has_no_hole(void)
{
    pthread_t threads[WORKERS];
    workers = fault_shared(WORKERS * sizeof(*workers));
    start(0, 64 << 20);
    __atomic_store_n(&ended, 0, __ATOMIC_RELAXED);
    start_workers(threads);
    for (uint64_t i = 1; i <= 20; i++) {
        await_calls(i * 1000, 0);
        CHECK_OK(kymo_flight_write("part"));
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_OK(kymo_stop());
    struct ended e = read_ended();
    CHECK_EQ(e.info.expired_records, 0);
    CHECK_LE(20, count_columns());
    for (unsigned k = 0; k < WORKERS; k++) {
        CHECK_EQ(e.events[k], workers[k].done);
        check_calls(&e, k, 0);
    }
    free_ended(&e);
    munmap(workers, WORKERS * sizeof(*workers));
}

static const struct check_case cases[] = {
    CHECK_CASE(a_killed_process_leaves_every_call),
    CHECK_CASE(a_killed_process_leaves_every_call_when_chunks_are_reused),
    CHECK_CASE(a_killed_flight_recorder_leaves_the_last_calls),
    CHECK_CASE(a_flight_recorder_keeps_the_last_calls),
    CHECK_CASE(what_a_flight_recorder_writes_in_parts_has_no_hole),
};

CHECK_MAIN(cases)
