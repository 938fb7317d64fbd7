/* The session of a forked child, or of another process that may end soon, costs little until it
   records, and is as safe as any other. */
#include <string.h>
#include <sys/statvfs.h>

#define FAULT_MANY_SESSIONS
#include "fault.h"
#include "procid.h"

/* A child leaves the memory of its parent's session as it is, which looks like a leak. */
static pid_t first_process;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return getpid() != first_process;
}

__attribute__((constructor)) static void note_process(void)
{
    first_process = getpid();
}

/* Fork a child that starts a session and calls BODY, which ends the process. Returns how it
   ended. */
static int child_with_session(void (*body)(void))
{
    FAULT_NOT_EMULATED("memory that is wiped in children");
    if (FAULT_TSAN)
        CHECK_SKIP("the sanitizer allows no threads in a child of a program with threads");
    CHECK_OK(fault_start(check_path("parent"), 0, KYMO_HELP));
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (fault_start(check_path("child"), 0, KYMO_HELP) != 0)
            _exit(3);
        body();
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_OK(kymo_stop());
    return status;
}

/* How many KiB of the mapping of the file at PATH are in memory. */
static long resident(const char *path)
{
    char line[1024];
    unsigned long from, to;
    long kib, sum = 0;
    bool here = false;
    FILE *maps = fopen("/proc/self/smaps", "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx", &from, &to) == 2)
            here = strstr(line, path) != NULL;
        else if (here && sscanf(line, "Rss: %ld", &kib) == 1)
            sum += kib;
    }
    if (maps)
        fclose(maps);
    return sum;
}

static void look_at_pages(void)
{
    kymo_instant("child");
    long pages = resident("child.live") / 4;
    _exit(pages < 255 ? (int)pages : 255);
}

static void a_child_that_records_little_needs_few_pages(void)
{
    int pages = WEXITSTATUS(child_with_session(look_at_pages));

    CHECK(pages > 0); /* else they were not counted */
    CHECK_LE(pages, 24);
}

static void a_session_that_is_said_to_be_brief_needs_few_pages(void)
{
    FAULT_NOT_EMULATED("how much of a file is in memory");
    const struct kymo_options options = {
        .size = sizeof(options), .path = check_path("brief"), .brief = 1};
    CHECK_OK(kymo_start(&options));
    kymo_instant("brief");
    long pages = resident("brief.live") / 4;
    CHECK_OK(kymo_stop());

    CHECK(pages > 0);
    CHECK_LE(pages, 24);
}

static void mark_and_die(void)
{
    for (int i = 0; i < 3; i++)
        kymo_instant("child");
    kill(getpid(), SIGKILL);
}

static void a_child_that_is_killed_keeps_its_first_records(void)
{
    CHECK_EQ(child_with_session(mark_and_die), SIGKILL);

    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("child"), &capture));
    CHECK_EQ(fault_info(capture).records, 3);
    CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_KILLED);
    kymo_close(capture);
}

enum { MANY = 300000 };

static void mark_a_lot(void)
{
    for (int i = 0; i < MANY; i++)
        kymo_instant("child");
    _exit(kymo_stop() == 0 ? 0 : 4);
}

static void a_child_that_records_a_lot_gets_more_chunks(void)
{
    CHECK_EQ(child_with_session(mark_a_lot), 0);

    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("child"), &capture));
    CHECK_EQ(fault_info(capture).records, MANY);
    CHECK_EQ(fault_info(capture).lost_records, 0);
    CHECK_EQ(fault_info(capture).ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(kymo_capture_verify(capture), 0);
    kymo_close(capture);
}

/* With a budget of so few chunks, the thread has to write itself. */
static void mark_with_little_memory(void)
{
    struct kymo_stats stats = {.size = sizeof(stats)};
    if (kymo_stop() != 0 || fault_start(check_path("child"), 1 << 20, KYMO_HELP) != 0)
        _exit(5);
    for (int i = 0; i < MANY * 10; i++)
        kymo_instant("child");
    if (kymo_stats(&stats) != 0 || stats.dropped_records || !stats.helped_chunks)
        _exit(6);
    _exit(kymo_stop() == 0 ? 0 : 4);
}

static void a_child_whose_thread_helps_the_writer_loses_nothing(void)
{
    CHECK_EQ(child_with_session(mark_with_little_memory), 0);

    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("child"), &capture));
    CHECK_EQ(fault_info(capture).records, MANY * 10);
    CHECK_EQ(fault_info(capture).lost_records, 0);
    kymo_close(capture);
}

/* Start a brief session at PATH, after one that has shown that space can be reserved there. */
static void start_brief(const char *path)
{
    const struct kymo_options options = {.size = sizeof(options), .path = path, .brief = 1};
    CHECK_OK(fault_start(path, 0, KYMO_HELP));
    CHECK_OK(kymo_stop());
    CHECK_OK(kymo_start(&options));
}

static void a_brief_capture_has_its_name_from_the_start_and_takes_the_place_of_older_ones(void)
{
    const struct kymo_options options = {
        .size = sizeof(options), .path = check_path("again"), .brief = 1};
    struct kymo_capture *capture;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(kymo_start(&options));
        CHECK_EQ(access(check_path("again"), F_OK), 0);
        CHECK_EQ(access(check_path("again.live"), F_OK), 0);
        kymo_instant("once");
        if (i == 0) /* as if somebody had removed only one of the two files of a killed process */
            CHECK_EQ(link(check_path("again.live"), check_path("old.live")), 0);
        CHECK_OK(kymo_stop());
        CHECK_OK(kymo_open(check_path("again"), &capture));
        CHECK_EQ(fault_info(capture).records, 1);
        kymo_close(capture);
        if (i == 0) {
            CHECK_EQ(rename(check_path("old.live"), check_path("again.live")), 0);
            CHECK_EQ(unlink(check_path("again")), 0);
        }
    }
    CHECK_EQ(access(check_path("again.live"), F_OK), -1);
}

/* Make the tmpfs at PATH as small as what is in it. */
static void take_space_away(const char *path)
{
    struct statvfs disk;
    char size[64];
    int rc = -1;
    for (int i = 0; i < 1000 && rc < 0; i++) { /* the writer thread may take more meanwhile */
        CHECK_EQ(statvfs(path, &disk), 0);
        snprintf(size, sizeof(size), "size=%lluk",
                 (unsigned long long)(disk.f_blocks - disk.f_bfree) * disk.f_frsize / 1024);
        rc = mount("none", path, "tmpfs", MS_REMOUNT, size);
    }
    CHECK_EQ(rc, 0);
}

enum { AFTER = 100000 };

static void record_while_the_disk_fills_up(void *arg)
{
    (void)arg;
    fault_mount("tmpfs", check_path("filling"), "size=80m");
    start_brief(check_path("filling/capture"));
    kymo_instant("before");
    take_space_away(check_path("filling"));
    for (int i = 0; i < AFTER; i++)
        kymo_instant("after");
    const int stopped = kymo_stop();

    struct kymo_capture *capture;
    CHECK_OK(kymo_open(check_path("filling/capture"), &capture));
    struct kymo_info info = fault_info(capture);
    const char *key, *value, *ended = NULL;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &key, &value) == 0; i++)
        if (strcmp(key, "recording.ended") == 0)
            ended = value;
    CHECK(info.records > 0);
    if (stopped == 0) {
        CHECK_EQ(info.records, 1 + AFTER);
    } else {
        CHECK_EQ(stopped, -ENOSPC);
        CHECK(info.error == -ENOSPC || (ended && strcmp(ended, kymo_strerror(-ENOSPC)) == 0));
    }
    kymo_close(capture);
}

static void a_disk_that_fills_up_before_space_is_reserved_ends_the_recording_alone(void)
{
    CHECK_CHILD(fault_child(record_while_the_disk_fills_up, NULL));
}

static void wait_for_space(void *arg)
{
    (void)arg;
    fault_mount("tmpfs", check_path("later"), "size=80m");
    start_brief(check_path("later/capture"));
    struct stat live;
    for (int i = 0; i < 5000; i++) {
        CHECK_EQ(stat(check_path("later/capture.live"), &live), 0);
        if (live.st_blocks * 512 >= live.st_size)
            break;
        fault_sleep(1000000);
    }
    CHECK_LE(live.st_size, live.st_blocks * 512);
    CHECK_OK(kymo_stop());
}

static void a_process_that_goes_on_gets_its_space_reserved(void)
{
    CHECK_CHILD(fault_child(wait_for_space, NULL));
}

static void children_know_when_they_started(void)
{
    FAULT_NOT_EMULATED("start times of children: they have that of the first process");
    for (int i = 0; i < 200; i++) {
        kymo__process_before_fork();
        pid_t pid = fork();
        if (pid == 0) {
            kymo__process_forked();
            _exit(kymo__process_start_own() == kymo__process_start((uint32_t)getpid()) ? 0 : 1);
        }
        CHECK_EQ(fault_wait(pid), 0);
    }
}

static const struct check_case cases[] = {
    CHECK_CASE(a_child_that_records_little_needs_few_pages),
    CHECK_CASE(a_session_that_is_said_to_be_brief_needs_few_pages),
    CHECK_CASE(a_brief_capture_has_its_name_from_the_start_and_takes_the_place_of_older_ones),
    CHECK_CASE(a_child_that_is_killed_keeps_its_first_records),
    CHECK_CASE(a_child_that_records_a_lot_gets_more_chunks),
    CHECK_CASE(a_child_whose_thread_helps_the_writer_loses_nothing),
    CHECK_CASE(a_disk_that_fills_up_before_space_is_reserved_ends_the_recording_alone),
    CHECK_CASE(a_process_that_goes_on_gets_its_space_reserved),
    CHECK_CASE(children_know_when_they_started),
};
CHECK_MAIN(cases)
