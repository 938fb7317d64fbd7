/* Disks that are full, files in the way, directories that vanish: the program goes on,
   and the capture says what is missing. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#define FAULT_MANY_SESSIONS
#include "fault.h"
#include "format.h"

enum { WORKERS = 2 };

struct worker {
    unsigned index;
    uint64_t rounds, made;
    pthread_t thread;
};

struct result {
    uint64_t made;
    int stopped;  /* what kymo_stop returned */
    int64_t took; /* what was recorded when there was no more room */
    int64_t from, to;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    numbered_name_thread(worker->index);
    for (uint64_t i = 0; i < worker->rounds; i++) {
        struct kymo_span span = kymo_span_begin("span");
        kymo_counter("made", (double)(i * UINT64_C(0x9e3779b97f4a7c15))); /* hard to compress */
        kymo_span_end(span);
        worker->made += 2 + (span.key != 0);
    }
    return NULL;
}

/* Record ROUNDS rounds on each thread; what was made. */
static uint64_t record(uint64_t rounds)
{
    struct worker workers[WORKERS];
    uint64_t made = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.index = i, .rounds = rounds};
        CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        made += workers[i].made;
    }
    return made;
}

/* The capture at PATH failed with ERROR; what was made is there or counted. */
static struct kymo_info check_failed(const char *path, int error, const struct result *result)
{
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    uint64_t seen = 0, lost = 0;
    CHECK_EQ(result->stopped, error);
    CHECK_OK(kymo_open(path, &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.ending, KYMO_ENDED_FAILED);
    CHECK_EQ(info.error, error);
    CHECK_EQ(kymo_capture_verify(capture), 0);
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0) {
        CHECK(event.time >= result->from && event.time <= result->to);
        if (event.kind == KYMO_GAP) {
            lost += event.id;
            continue;
        }
        CHECK(strcmp(event.name, "span") == 0 || strcmp(event.name, "made") == 0);
        seen++;
    }
    CHECK_EQ(seen, info.records);
    CHECK_EQ(lost, info.lost_records);
    CHECK_EQ(seen + lost, result->made);
    kymo_cursor_free(cursor);
    kymo_close(capture);
    printf("# %" PRIu64 " in the file, %" PRIu64 " beside it, %" PRIu64 " lost, %" PRId64 " ms\n",
           info.records - info.recovered_records, info.recovered_records, info.lost_records,
           result->took / 1000000);
    return info;
}

/* ---- a limit on the size of files ---- */

static struct {
    int policy;
    struct result result;
} * limited;

static void limit_file_size(uint64_t bytes)
{
    const struct rlimit limit = {bytes, bytes};
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void record_beyond_the_limit(void *arg)
{
    (void)arg;
    limit_file_size(3 << 20);
    struct result *result = &limited->result;
    result->from = fault_now();
    CHECK_OK(fault_start(check_path("limited"), 0, limited->policy));
    for (int i = 0; i < 100 && !fault_stats().error; i++)
        result->made += record(20000);
    int64_t full = fault_now();
    result->made += record(FAULT_TIMES(500000, 100000));
    result->took = fault_now() - full;
    CHECK_EQ(fault_stats().error, -EFBIG);
    result->stopped = kymo_stop();
    result->to = fault_now();
}

static void a_file_size_limit(int policy)
{
    limited = fault_shared(sizeof(*limited));
    limited->policy = policy;
    CHECK_CHILD(fault_child(record_beyond_the_limit, NULL));
    struct kymo_info info = check_failed(check_path("limited"), -EFBIG, &limited->result);
    CHECK_LE(info.file_bytes, 3 << 20);
    CHECK(info.recovered_records > 0);
    CHECK(info.lost_records > 0);
    /* The threads do not wait for a disk that has no room. */
    CHECK_LE(limited->result.took, FAULT_TIMES(5, 20) * INT64_C(1000000000));
    munmap(limited, sizeof(*limited));
}

static void a_file_size_limit_neither_kills_nor_stalls_with_help(void)
{
    a_file_size_limit(KYMO_HELP);
}

static void a_file_size_limit_neither_kills_nor_stalls_with_drop(void)
{
    a_file_size_limit(KYMO_DROP);
}

/* The file's end is written in several steps; each of them may be the one that fails. */
static void stop_within_a_limit(void *arg)
{
    struct result *result = &limited->result;
    result->from = fault_now();
    CHECK_OK(fault_start(check_path("end"), SMALL_BUDGET, KYMO_HELP));
    result->made = record(100);
    limit_file_size(fault_stats().written_bytes + *(const uint64_t *)arg);
    result->stopped = kymo_stop();
    result->to = fault_now();
}

static void a_stop_that_fails_at_any_step_says_so(void)
{
    limited = fault_shared(sizeof(*limited));
    int failed = 0, clean = 0;
    for (uint64_t room = 0; clean < 3; room += FAULT_TIMES(40, 200)) {
        CHECK_CHILD(fault_child(stop_within_a_limit, &room));
        struct kymo_capture *capture;
        CHECK_OK(kymo_open(check_path("end"), &capture));
        struct kymo_info info = fault_info(capture);
        CHECK_EQ(info.records, limited->result.made);
        CHECK_EQ(info.lost_records, 0);
        CHECK_EQ(kymo_capture_verify(capture), 0);
        if (limited->result.stopped == 0) {
            CHECK_EQ(info.ending, KYMO_ENDED_CLEAN);
            CHECK_EQ(info.indexed, 1);
            clean++;
        } else {
            CHECK_EQ(limited->result.stopped, -EFBIG);
            CHECK_EQ(info.ending, KYMO_ENDED_FAILED);
            CHECK_EQ(info.error, -EFBIG);
            failed++;
        }
        kymo_close(capture);
        CHECK(room < 10000);
    }
    CHECK(failed > 2);
    munmap(limited, sizeof(*limited));
}

static void start_within_a_limit(void *arg)
{
    const uint64_t limit = *(const uint64_t *)arg;
    const struct kymo_options brief = {
        .size = sizeof(brief), .path = check_path("start"), .brief = 1};
    limit_file_size(limit);
    CHECK_EQ(fault_start(check_path("start"), 0, KYMO_HELP), -EFBIG);
    if (limit < sizeof(struct kymo_file_header))
        CHECK_EQ(kymo_start(&brief), -EFBIG);
    CHECK(!kymo_running());
}

static void a_start_that_has_no_room_leaves_nothing_behind(void)
{
    FAULT_NOT_EMULATED("limit on files that spares itself");
    const uint64_t limits[] = {0, 100, 128, 200, 20000, 100000};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        uint64_t limit = limits[i];
        CHECK_CHILD(fault_child(start_within_a_limit, &limit));
        CHECK(access(check_path("start"), F_OK) != 0);
        CHECK(access(check_path("start.live"), F_OK) != 0);
    }
}

/* ---- a file system of one's own ---- */

static void fill_a_disk(void *arg)
{
    int policy = *(const int *)arg;
    fault_mount("tmpfs", check_path("full"), "size=4m");
    struct result result = {.from = fault_now()};
    CHECK_OK(fault_start(check_path("full/capture"), 0, policy));
    for (int i = 0; i < 100 && !fault_stats().error; i++)
        result.made += record(20000);
    int64_t full = fault_now();
    result.made += record(FAULT_TIMES(500000, 100000));
    result.took = fault_now() - full;
    result.stopped = kymo_stop();
    result.to = fault_now();

    struct kymo_info info = check_failed(check_path("full/capture"), -ENOSPC, &result);
    CHECK(info.lost_records > 0);
    CHECK_LE(result.took, FAULT_TIMES(5, 20) * INT64_C(1000000000));
}

static void a_disk_that_fills_up_neither_kills_nor_stalls_with_help(void)
{
    int policy = KYMO_HELP;
    CHECK_CHILD(fault_child(fill_a_disk, &policy));
}

static void a_disk_that_fills_up_neither_kills_nor_stalls_with_drop(void)
{
    int policy = KYMO_DROP;
    CHECK_CHILD(fault_child(fill_a_disk, &policy));
}

static void record_on_a_small_disk(void *arg)
{
    (void)arg;
    fault_mount("tmpfs", check_path("small"), "size=8m");
    CHECK_OK(fault_start(check_path("small/capture"), 0, KYMO_HELP));
    uint64_t made = 0;
    for (int i = 0; i < 10; i++)
        made += record(20000); /* about 5 MB in the file */
    struct kymo_stats stats = fault_stats();
    CHECK_EQ(stats.error, 0);
    CHECK_OK(kymo_stop());
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("small/capture"), &capture));
    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.records, made);
    CHECK_EQ(info.lost_records, 0);
    kymo_close(capture);
}

static void the_live_file_leaves_a_small_disk_to_the_capture(void)
{
    CHECK_CHILD(fault_child(record_on_a_small_disk, NULL));
}

static void record_past_a_full_disk(void *arg)
{
    (void)arg;
    fault_mount("tmpfs", check_path("free"), "size=32m");
    struct result result = {.from = fault_now()};
    CHECK_OK(fault_start(check_path("free/capture"), 2 * SMALL_BUDGET, KYMO_HELP));
    result.made = record(1000);
    int ballast = open(check_path("free/ballast"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (off_t at = 0; fallocate(ballast, 0, at, 4096) == 0; at += 4096)
        continue;
    for (int i = 0; i < 100 && fault_stats().dropped_records == 0; i++)
        result.made += record(50000);
    CHECK(fault_stats().dropped_records > 0);
    CHECK_EQ(fault_stats().error, -ENOSPC);
    close(ballast);
    unlink(check_path("free/ballast"));
    uint64_t written = fault_stats().written_records;
    for (int i = 0; i < 1000 && fault_stats().written_records == written; i++)
        fault_sleep(1000000);
    CHECK(fault_stats().written_records > written);
    kymo_ns free_again = fault_now();
    uint64_t dropped = fault_stats().dropped_records, after = record(1000);
    result.made += after;
    CHECK_EQ(fault_stats().dropped_records, dropped);
    result.stopped = kymo_stop();
    result.to = fault_now();

    struct kymo_info info = check_failed(check_path("free/capture"), -ENOSPC, &result);
    CHECK_EQ(info.indexed, 1);
    CHECK_EQ(info.recovered_records, 0);
    CHECK_EQ(info.live_bytes, 0);
    CHECK(info.gaps > 0);
    struct kymo_capture *capture;
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    uint64_t seen = 0;
    CHECK_OK(kymo_open(check_path("free/capture"), &capture));
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0) {
        seen += event.time > free_again;
        if (event.kind == KYMO_GAP)
            CHECK_EQ(event.detail, KYMO_GAP_DISK);
    }
    CHECK_EQ(seen, after);
    kymo_cursor_free(cursor);
    kymo_close(capture);
}

static void recording_continues_when_the_disk_has_room_again(void)
{
    CHECK_CHILD(fault_child(record_past_a_full_disk, NULL));
}

static void record_without_reservation(void *arg)
{
    (void)arg;
    fault_mount("ramfs", check_path("ramfs"), NULL);
    int fd = open(check_path("ramfs/probe"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fallocate(fd, 0, 0, 4096) == 0)
        CHECK_SKIP("this file system can reserve room");
    close(fd);
    CHECK_OK(fault_start(check_path("ramfs/capture"), SMALL_BUDGET, KYMO_HELP));
    CHECK(access(check_path("ramfs/capture.live"), F_OK) != 0);
    uint64_t made = record(20000);
    CHECK_OK(kymo_stop());

    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("ramfs/capture"), &capture));
    CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(fault_info(capture).records, made);
    const char *key, *value, *reason = NULL;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        if (strcmp(key, "live_file") == 0)
            reason = value;
    CHECK(reason != NULL);
    CHECK_STR(reason, kymo_strerror(-EOPNOTSUPP));
    kymo_close(capture);
}

static void a_file_system_that_reserves_nothing_is_good_enough_and_the_capture_says_so(void)
{
    CHECK_CHILD(fault_child(record_without_reservation, NULL));
}

/* ---- places where there cannot be a capture ---- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    CHECK(f != NULL);
    fputs(text, f);
    CHECK_EQ(fclose(f), 0);
}

static void start_in_an_unwritable_directory(void *arg)
{
    (void)arg;
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        CHECK_SKIP("root may write anywhere, and we cannot become somebody else");
    CHECK_EQ(fault_start(check_path("closed/capture"), 0, KYMO_HELP), -EACCES);
    CHECK(!kymo_running());
}

static void an_unwritable_directory_is_reported(void)
{
    CHECK_EQ(chmod(check_dir, 0755), 0);
    CHECK_EQ(mkdir(check_path("closed"), 0555), 0);
    pid_t pid = fault_child(start_in_an_unwritable_directory, NULL);
    CHECK_CHILD(pid);
    CHECK_EQ(rmdir(check_path("closed")), 0);
}

static void a_missing_directory_is_reported(void)
{
    CHECK_EQ(fault_start(check_path("nowhere/capture"), 0, KYMO_HELP), -ENOENT);
    CHECK(!kymo_running());
}

static void a_directory_at_the_path_is_reported(void)
{
    CHECK_EQ(mkdir(check_path("directory"), 0777), 0);
    CHECK_EQ(fault_start(check_path("directory"), 0, KYMO_HELP), -EISDIR);
    CHECK(!kymo_running());
    CHECK_EQ(rmdir(check_path("directory")), 0); /* and nothing was put into it */
}

static void a_path_that_is_too_long_is_reported(void)
{
    char path[5000];
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    CHECK_EQ(fault_start(path, 0, KYMO_HELP), -ENAMETOOLONG);
    CHECK(!kymo_running());
}

static void a_directory_that_vanishes_stops_nothing(void)
{
    CHECK_EQ(mkdir(check_path("gone"), 0777), 0);
    CHECK_OK(fault_start(check_path("gone/capture"), SMALL_BUDGET, KYMO_HELP));
    record(10000);
    unlink(check_path("gone/capture"));
    unlink(check_path("gone/capture.live"));
    CHECK_EQ(rmdir(check_path("gone")), 0);
    record(10000);
    CHECK_EQ(kymo_stop(), KYMO_EDELETED);

    CHECK(access(check_path("gone"), F_OK) != 0);
    CHECK_OK(fault_start(check_path("next"), 0, KYMO_HELP));
    CHECK_OK(kymo_stop());
}

/* ---- files in the way ---- */

static uint64_t records_in(const char *path)
{
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(path, &capture));
    CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
    uint64_t records = fault_info(capture).records;
    kymo_close(capture);
    return records;
}

static void record_one(const char *path)
{
    CHECK_OK(fault_start(path, 0, KYMO_HELP));
    kymo_instant("one");
    CHECK_OK(kymo_stop());
}

static void an_older_capture_is_replaced(void)
{
    CHECK_OK(fault_start(check_path("older"), 0, KYMO_HELP));
    uint64_t made = record(100);
    CHECK_OK(kymo_stop());
    CHECK_EQ(records_in(check_path("older")), made);
    record_one(check_path("older"));
    CHECK_EQ(records_in(check_path("older")), 1);
}

static void an_empty_file_is_replaced(void)
{
    write_text(check_path("empty"), "");
    record_one(check_path("empty"));
    CHECK_EQ(records_in(check_path("empty")), 1);
}

static void any_other_file_is_left_alone(void)
{
    const char *texts[] = {"x", "a text that somebody needs", "\x89KYMO but no capture"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char text[100] = "";
        write_text(check_path("text"), texts[i]);
        CHECK_EQ(fault_start(check_path("text"), 0, KYMO_HELP), KYMO_EOCCUPIED);
        FILE *f = fopen(check_path("text"), "re");
        CHECK(f && fread(text, 1, sizeof(text) - 1, f) > 0);
        fclose(f);
        CHECK_STR(text, texts[i]);
        CHECK(access(check_path("text.live"), F_OK) != 0);
    }
    CHECK_EQ(mkfifo(check_path("pipe"), 0600), 0);
    CHECK_EQ(fault_start(check_path("pipe"), 0, KYMO_HELP), KYMO_EOCCUPIED);
    CHECK_EQ(fault_start("/dev/null", 0, KYMO_HELP), KYMO_EOCCUPIED);
}

static void a_symbolic_link_to_a_capture_stays_a_link(void)
{
    struct stat st;
    record_one(check_path("target"));
    CHECK_EQ(symlink("target", check_path("link")), 0);
    CHECK_OK(fault_start(check_path("link"), 0, KYMO_HELP));
    uint64_t made = record(10);
    CHECK_OK(kymo_stop());
    CHECK_EQ(lstat(check_path("link"), &st), 0);
    CHECK(S_ISLNK(st.st_mode));
    CHECK_EQ(lstat(check_path("target"), &st), 0);
    CHECK(S_ISREG(st.st_mode));
    CHECK_EQ(records_in(check_path("target")), made);
    CHECK_EQ(records_in(check_path("link")), made);
}

static void a_live_file_without_its_capture_is_replaced(void)
{
    /* Its capture was removed by hand after a kill. */
    CHECK_OK(fault_start(check_path("left"), 0, KYMO_HELP));
    CHECK_EQ(link(check_path("left.live"), check_path("kept.live")), 0);
    CHECK_OK(kymo_stop());
    CHECK_OK(fault_start(check_path("kept"), 0, KYMO_HELP));
    kymo_instant("one");
    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("kept"), &capture));
    CHECK_EQ(fault_info(capture).recovered_records, 1); /* by a live file of its own */
    kymo_close(capture);
    CHECK_OK(kymo_stop());
    CHECK(access(check_path("kept.live"), F_OK) != 0);
}

/* ---- a file that is in use ---- */

static uint32_t *stage; /* 1: the child records; 2: it may stop */

static void record_until_told(void *arg)
{
    (void)arg;
    CHECK_OK(fault_start(check_path("busy"), 0, KYMO_HELP));
    kymo_instant("one");
    __atomic_store_n(stage, 1u, __ATOMIC_RELEASE);
    while (__atomic_load_n(stage, __ATOMIC_ACQUIRE) < 2)
        fault_sleep(1000000);
    kymo_instant("two");
    CHECK_OK(kymo_stop());
}

static void a_file_another_process_records_into_is_left_alone(void)
{
    FAULT_NOT_EMULATED("locks of open files");
    stage = fault_shared(4096);
    pid_t pid = fault_child(record_until_told, NULL);
    while (!__atomic_load_n(stage, __ATOMIC_ACQUIRE))
        fault_sleep(1000000);
    CHECK_EQ(fault_start(check_path("busy"), 0, KYMO_HELP), KYMO_EBUSYFILE);
    CHECK(!kymo_running());
    __atomic_store_n(stage, 2u, __ATOMIC_RELEASE);
    CHECK_CHILD(pid);
    CHECK_EQ(records_in(check_path("busy")), 2);
    record_one(check_path("busy"));
    CHECK_EQ(records_in(check_path("busy")), 1);
    munmap(stage, 4096);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_file_size_limit_neither_kills_nor_stalls_with_help),
    CHECK_CASE(a_file_size_limit_neither_kills_nor_stalls_with_drop),
    CHECK_CASE(a_stop_that_fails_at_any_step_says_so),
    CHECK_CASE(a_start_that_has_no_room_leaves_nothing_behind),
    CHECK_CASE(a_disk_that_fills_up_neither_kills_nor_stalls_with_help),
    CHECK_CASE(a_disk_that_fills_up_neither_kills_nor_stalls_with_drop),
    CHECK_CASE(the_live_file_leaves_a_small_disk_to_the_capture),
    CHECK_CASE(recording_continues_when_the_disk_has_room_again),
    CHECK_CASE(a_file_system_that_reserves_nothing_is_good_enough_and_the_capture_says_so),
    CHECK_CASE(an_unwritable_directory_is_reported),
    CHECK_CASE(a_missing_directory_is_reported),
    CHECK_CASE(a_directory_at_the_path_is_reported),
    CHECK_CASE(a_path_that_is_too_long_is_reported),
    CHECK_CASE(a_directory_that_vanishes_stops_nothing),
    CHECK_CASE(an_older_capture_is_replaced),
    CHECK_CASE(an_empty_file_is_replaced),
    CHECK_CASE(any_other_file_is_left_alone),
    CHECK_CASE(a_symbolic_link_to_a_capture_stays_a_link),
    CHECK_CASE(a_live_file_without_its_capture_is_replaced),
    CHECK_CASE(a_file_another_process_records_into_is_left_alone),
};
CHECK_MAIN(cases)
