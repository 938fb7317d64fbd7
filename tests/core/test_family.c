/* A capture and those of its child processes are opened under one name, and a broken one costs
   only itself. */
#include "family.h"

#include <errno.h>
#include <sys/stat.h>

#include "alloc.h"
#include "check.h"
#include "fault.h"

/* Record a capture with one instant called MARK; KEYS are pairs of metadata. */
static void record(const char *name, const char *mark, const char *const *keys)
{
    const struct kymo_options options = {.size = sizeof(options), .path = check_path(name)};
    CHECK_OK(kymo_start(&options));
    for (; *keys; keys += 2)
        kymo_metadata(keys[0], keys[1]);
    kymo_instant(kymo_intern(mark));
    kymo_flow_out(kymo_intern("process start"), 77);
    kymo_flow_out(kymo_intern("other"), 77);
    CHECK_OK(kymo_stop());
}

static void make_family(const char *name)
{
    char folder[64], child[80];
    snprintf(folder, sizeof(folder), "%s.d", name);
    mkdir(check_path(folder), 0777);
    record(name, "first", (const char *const[]){"family", "f1", "process_name", "parent", NULL});
    snprintf(child, sizeof(child), "%s/9-1.kymo", folder);
    record(child, "second",
           (const char *const[]){"family", "f1", "process.parent", "1", "process_name", "worker",
                                 "rank", "4", NULL});
    snprintf(child, sizeof(child), "%s/8-1.kymo", folder);
    record(child, "third",
           (const char *const[]){"family", "f1", "process.parent", "1", "process_name", "worker",
                                 "rank", "5", NULL});
    snprintf(child, sizeof(child), "%s/7-1.kymo", folder);
    record(child, "of an earlier run",
           (const char *const[]){"family", "f0", "process.parent", "1", NULL});
}

/* Is there an event called NAME? Its id goes to *ID. */
static int count_of(struct kymo_capture *capture, const char *name, uint64_t *id)
{
    struct kymo_cursor *cursor;
    struct kymo_event event = {.size = sizeof(event)};
    int found = 0;
    CHECK_OK(kymo_cursor_new(capture, NULL, &cursor));
    while (kymo_cursor_next(cursor, &event) > 0)
        if (strcmp(event.name, name) == 0) {
            found++;
            if (id)
                *id ^= event.id;
        }
    kymo_cursor_free(cursor);
    return found;
}

static void a_family_is_opened_as_one_capture(void)
{
    make_family("a.kymo");
    struct kymo_capture *capture;

    CHECK_OK(kymo_open_family(check_path("a.kymo"), NULL, &capture));

    struct kymo_info info = fault_info(capture);
    CHECK_EQ(info.processes, 3);
    CHECK_EQ(info.ending, KYMO_ENDED_CLEAN);
    CHECK_EQ(count_of(capture, "first", NULL), 1);
    CHECK_EQ(count_of(capture, "second", NULL), 1);
    CHECK_EQ(count_of(capture, "third", NULL), 1);
    CHECK_EQ(count_of(capture, "of an earlier run", NULL), 0);
    struct kymo_process_info process = {.size = sizeof(process)};
    CHECK_OK(kymo_capture_process(capture, 1, &process));
    CHECK_STR(process.name, "worker");
    kymo_close(capture);
}

static void arrows_between_processes_keep_their_ids(void)
{
    make_family("b.kymo");
    struct kymo_capture *capture;
    uint64_t between = 0, others = 0;

    CHECK_OK(kymo_open_family(check_path("b.kymo"), NULL, &capture));

    CHECK_EQ(count_of(capture, "process start", &between), 3);
    CHECK_EQ(count_of(capture, "other", &others), 3);
    CHECK_EQ(between, 77); /* of three equal numbers */
    CHECK(others != 77);
    kymo_close(capture);
}

static void processes_are_chosen_by_index_pid_rank_and_name(void)
{
    make_family("c.kymo");
    const char *path = check_path("c.kymo");
    struct kymo_capture *capture;
    char pid[24];
    snprintf(pid, sizeof(pid), "pid:%d", (int)getpid());
    static const struct {
        const char *wanted;
        int first, second, third;
    } choices[] = {{"0", 1, 0, 0},      {"1", 0, 1, 0},      {"2", 0, 0, 1},
                   {"rank:4", 0, 1, 0}, {"rank:5", 0, 0, 1}, {"worker", 0, 1, 1},
                   {"parent", 1, 0, 0}};
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        CHECK_OK(kymo_open_family(path, choices[i].wanted, &capture));
        CHECK_EQ(count_of(capture, "first", NULL), choices[i].first);
        CHECK_EQ(count_of(capture, "second", NULL), choices[i].second);
        CHECK_EQ(count_of(capture, "third", NULL), choices[i].third);
        kymo_close(capture);
    }
    CHECK_OK(kymo_open_family(path, pid, &capture)); /* this process recorded them all */
    CHECK_EQ(fault_info(capture).processes, 3);
    kymo_close(capture);
    static const char *const missing[] = {"3", "nobody", "rank:6", "pid:0", "pid:x", ""};
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
        CHECK_EQ(kymo_open_family(path, missing[i], &capture), -ESRCH);
}

static void a_broken_child_is_left_out_and_counted(void)
{
    make_family("d.kymo");
    FILE *file = fopen(check_path("d.kymo.d/9-1.kymo"), "w");
    CHECK(file);
    fputs("nonsense", file);
    fclose(file);
    struct kymo_family family;

    CHECK_OK(kymo__family_open(check_path("d.kymo"), &family));

    CHECK_EQ(family.count, 2);
    CHECK_EQ(family.unreadable, 1);
    kymo__family_close(&family);
}

static void a_capture_without_children_is_opened_as_it_is(void)
{
    record("e.kymo", "alone", (const char *const[]){"family", "f1", NULL});
    struct kymo_capture *capture;

    CHECK_OK(kymo_open_family(check_path("e.kymo"), NULL, &capture));
    CHECK_EQ(count_of(capture, "alone", NULL), 1);
    kymo_close(capture);
    CHECK_EQ(kymo_open_family(check_path("missing"), NULL, &capture), -ENOENT);
    CHECK_EQ(kymo_open_family(check_path("e.kymo"), "nobody", &capture), -ESRCH);
}

static void a_process_of_a_merged_capture_is_chosen(void)
{
    make_family("g.kymo");
    struct kymo_capture *capture;
    struct kymo_family family;
    CHECK_OK(kymo__family_open(check_path("g.kymo"), &family));
    struct kymo_part parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] =
            (struct kymo_part){.capture = family.captures[i], .from = INT64_MIN, .to = INT64_MAX};
    const struct kymo_rewrite_options plain = {0};
    CHECK_OK(kymo__rewrite(parts, 3, check_path("merged.kymo"), &plain));
    kymo__family_close(&family);

    CHECK_OK(kymo_open_family(check_path("merged.kymo"), "1", &capture));

    CHECK_EQ(count_of(capture, "first", NULL), 0);
    CHECK_EQ(count_of(capture, "second", NULL), 1);
    kymo_close(capture);
    CHECK_EQ(kymo_open_family(check_path("merged.kymo"), "nobody", &capture), -ESRCH);
}

static void opening_fails_cleanly_at_every_allocation(void)
{
    make_family("h.kymo");
    const char *path = check_path("h.kymo");
    int files = fault_entries("/proc/self/fd"), failed = 0;
    for (long n = 0;; n++) {
        struct kymo_capture *capture;
        CHECK(n < 100000);
        kymo__alloc_fail_after(n);
        int rc = kymo_open_family(path, NULL, &capture);
        kymo__alloc_fail_after(-1);
        if (rc == 0) {
            bool whole = fault_info(capture).processes == 3;
            kymo_close(capture);
            if (whole)
                break;
            continue;
        }
        failed++;
        CHECK_EQ(fault_entries("/proc/self/fd"), files);
    }
    CHECK(failed > 20);
    CHECK_EQ(fault_entries("/proc/self/fd"), files);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_family_is_opened_as_one_capture),
    CHECK_CASE(arrows_between_processes_keep_their_ids),
    CHECK_CASE(processes_are_chosen_by_index_pid_rank_and_name),
    CHECK_CASE(a_broken_child_is_left_out_and_counted),
    CHECK_CASE(a_capture_without_children_is_opened_as_it_is),
    CHECK_CASE(a_process_of_a_merged_capture_is_chosen),
    CHECK_CASE(opening_fails_cleanly_at_every_allocation),
};

CHECK_MAIN(cases)
