/* The memory tracer's other modes, and the tracer without a session. */
#include <errno.h>
#include <kymo/kymo.h>
#include <pthread.h>
#include <sys/stat.h>

#include "allocations.h"
#include "fault.h"
#include "heaped.h"

static void *volatile sink;

static void sum_rows(const struct heaped *heaped, uint64_t number, uint64_t least, uint64_t *bytes,
                     uint64_t *count)
{
    *bytes = *count = 0;
    for (size_t i = 0; i < heaped->count; i++) {
        const struct heaped_event *row = &heaped->all[i];
        if (strcmp(row->kind, "memory.held") == 0 && row->number == number && row->size >= least) {
            *bytes += row->size;
            *count += row->count;
        }
    }
}

static void live_mode_writes_what_is_held_at_the_end_and_at_the_peak(void)
{
    static void *blocks[20000];
    const char *path = check_path("live");
    const struct kymo_memory_options options = {
        .size = sizeof(options), .mode = KYMO_MEMORY_LIVE, .no_stacks = 1};
    uint64_t bytes, count;
    heaped_start(path, &options);
    for (int i = 0; i < 20000; i++)
        blocks[i] = allocations_one(1000);
    int number = kymo_memory_snapshot("full");
    for (int i = 0; i < 15000; i++)
        allocations_free(blocks[i]);
    sink = realloc(blocks[15000], 2000);
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    CHECK_EQ(number, 2);
    sum_rows(&heaped, 2, 1000000, &bytes, &count);
    CHECK_LE(20000 * 1000, bytes);
    CHECK_LE(bytes, 20000 * 1000 + 100000); /* whatever the C library allocated meanwhile */
    sum_rows(&heaped, 0, 1000000, &bytes, &count);
    CHECK_LE(4999 * 1000, bytes);
    CHECK_LE(bytes, 4999 * 1000 + 100000);
    sum_rows(&heaped, 1, 1000000, &bytes, &count);
    CHECK_LE(20000 * 1000, bytes);
    CHECK_LE(20000, count);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 1000), 0);
    CHECK_STR(heaped.mode, "live");
    free(heaped.all);
    free(sink);
    for (int i = 15001; i < 20000; i++)
        allocations_free(blocks[i]);
}

static void samples_estimate_what_was_allocated(void)
{
    const char *path = check_path("sampled");
    const struct kymo_memory_options options = {
        .size = sizeof(options), .mode = KYMO_MEMORY_SAMPLED, .rate = 10000, .no_stacks = 1};
    enum { MANY = 300000, SIZE = 100 };
    heaped_start(path, &options);
    for (int i = 0; i < MANY; i++)
        allocations_free(allocations_one(SIZE));
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    size_t samples = heaped_count(&heaped, "memory.alloc", SIZE), frees = 0;
    for (size_t i = 0; i < heaped.count; i++)
        frees += strcmp(heaped.all[i].kind, "memory.free") == 0;
    /* 300000 times a chance of 0.00995: 2985, with a standard deviation of 54. */
    CHECK_LE(2985 - 6 * 54, samples);
    CHECK_LE(samples, 2985 + 6 * 54);
    CHECK_LE(samples, frees);
    CHECK_LE(frees, samples + 20);
    CHECK_STR(heaped.mode, "sampled");
    free(heaped.all);
}

/* Wait until one of our threads has taken the snapshot that was requested: a number is then missing
   between two of ours. LAST is the number of the one before; returns that of the last one. */
static int await_snapshot(int last)
{
    int now = last + 1;
    for (int i = 0; i < 60000; i++, last = now) {
        now = kymo_memory_snapshot("another");
        CHECK(now > last);
        if (now > last + 1)
            break;
        usleep(1000);
    }
    CHECK_EQ(now, last + 2);
    return now;
}

static void snapshots_are_numbered_and_taken_on_request(void)
{
    const char *path = check_path("snapshots");
    heaped_start(path, NULL);
    int first = kymo_memory_snapshot("first");
    CHECK_EQ(first, 2);
    kymo_memory_snapshot_request();
    int now = await_snapshot(first);
    CHECK_OK(kymo_stop());

    struct heaped heaped = heaped_read(path);
    size_t snapshots = 0, resident = 0;
    for (size_t i = 0; i < heaped.count; i++) {
        snapshots += strcmp(heaped.all[i].kind, "memory.snapshot") == 0;
        resident += strcmp(heaped.all[i].kind, "memory.resident") == 0 && heaped.all[i].size > 4096;
    }
    CHECK_EQ(snapshots, now - 1);
    CHECK_LE(snapshots + 2, resident); /* also at the start and at the end */
    free(heaped.all);
}

static void *nothing(void *arg)
{
    return arg;
}

static void the_thread_for_resident_memory_rests_with_the_others(void)
{
    /* A sanitizer starts a thread of its own with the first there is, and may be slow. */
    pthread_t first;
    CHECK_EQ(pthread_create(&first, NULL, nothing, NULL), 0);
    pthread_join(first, NULL);
    fault_sleep(FAULT_TIMES(1000000, 200000000));
    const int before = fault_entries("/proc/self/task");
    heaped_start(check_path("rests"), NULL);
    CHECK_LE(before + 2, fault_entries("/proc/self/task"));

    /* When it rests, what is asked for waits. */
    kymo_writer_rest();
    kymo_writer_rest();
    CHECK_EQ(fault_entries("/proc/self/task"), before);
    kymo_memory_snapshot_request();
    int last = kymo_memory_snapshot("resting");
    CHECK_EQ(last, 2);
    CHECK_EQ(kymo_memory_snapshot("still resting"), 3);
    CHECK_OK(kymo_writer_work());
    CHECK_OK(kymo_writer_work());
    await_snapshot(3);

    kymo_writer_rest();
    CHECK_EQ(fault_entries("/proc/self/task"), before);
    CHECK_OK(kymo_stop());
    heaped_start(check_path("rests"), NULL);
    CHECK_OK(kymo_writer_work());
    CHECK_OK(kymo_stop());
}

/* ---- without a session ---- */

static void memory_is_recorded_without_a_session_and_exported(void)
{
    const char *path = check_path("history.kymo");
    CHECK_STR(kymo_memory_tracer_name(), "memory");
    CHECK_EQ(kymo_memory_stop(), KYMO_EIDLE);
    CHECK_EQ(kymo_memory_export(path), -ENOENT);
    CHECK_OK(kymo_memory_start());
    CHECK_EQ(kymo_memory_start(), KYMO_ERUNNING);
    CHECK_EQ(kymo_memory_export(path), KYMO_ERUNNING);
    allocations_free(allocations_one(7001));
    CHECK_OK(kymo_memory_stop());
    CHECK_OK(kymo_memory_export(path));
    struct stat status;
    CHECK_OK(stat(path, &status));
    CHECK_EQ(status.st_mode & 0777, 0600); /* as captures are */
    CHECK_EQ(kymo_memory_export("x.nothing"), KYMO_EFORMAT);
    struct heaped heaped = heaped_read(path);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 7001), 1);
    free(heaped.all);
}

static void memory_joins_a_running_session_and_leaves_it(void)
{
    const char *path = check_path("joined");
    const struct kymo_options options = {.size = sizeof(options), .path = path};
    CHECK_OK(kymo_start(&options));
    allocations_free(allocations_one(7013));
    CHECK_OK(kymo_memory_start());
    CHECK_EQ(kymo_memory_start(), KYMO_ERUNNING);
    allocations_free(allocations_one(7019));
    CHECK_OK(kymo_memory_stop());
    CHECK_EQ(kymo_memory_stop(), KYMO_EIDLE);
    allocations_free(allocations_one(7027));
    CHECK_OK(kymo_stop());
    struct heaped heaped = heaped_read(path);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 7013), 0);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 7019), 1);
    CHECK_EQ(heaped_count(&heaped, "memory.alloc", 7027), 0);
    free(heaped.all);
}

static void options_out_of_range_are_refused(void)
{
    struct kymo_memory_options options = {.size = sizeof(options), .mode = 3};
    CHECK_EQ(kymo_memory_configure(&options), -EINVAL);
    CHECK_OK(kymo_memory_configure(NULL));
    CHECK_EQ(kymo_memory_snapshot("idle"), KYMO_EIDLE);
}

static const struct check_case cases[] = {
    CHECK_CASE(live_mode_writes_what_is_held_at_the_end_and_at_the_peak),
    CHECK_CASE(samples_estimate_what_was_allocated),
    CHECK_CASE(snapshots_are_numbered_and_taken_on_request),
    CHECK_CASE(the_thread_for_resident_memory_rests_with_the_others),
    CHECK_CASE(memory_is_recorded_without_a_session_and_exported),
    CHECK_CASE(memory_joins_a_running_session_and_leaves_it),
    CHECK_CASE(options_out_of_range_are_refused),
};

CHECK_MAIN(cases)
