/* What `kymograph diff` calls noise, and what it names as the cause of a change. */
#include <stdlib.h>
#include <string.h>

#include "shell.h"
#include "tape.h"

enum { FUNCTIONS = 12, CALLS = 20 };

/* Record FUNCTIONS, each called CALLS times and taking MS milliseconds in all. */
static void record(const char *name, const double *ms)
{
    static const char *const names[FUNCTIONS] = {"f0", "f1", "f2", "f3", "f4",  "f5",
                                                 "f6", "f7", "f8", "f9", "f10", "f11"};
    uint64_t now = 0;
    tape_start(name);
    for (int i = 0; i < FUNCTIONS; i++) {
        uint32_t key = tape_function(names[i]);
        for (int call = 0; call < CALLS; call++) {
            tape_enter(now, key);
            now += (uint64_t)(ms[i] * 1e6 / CALLS);
            tape_leave(now++, key);
        }
    }
    CHECK_OK(kymo_stop());
}

/* The line of the comparison that says why, and the row of f0. */
static char why[512], row[512];

static void compare(const double *before, const double *after)
{
    char line[1024], path[3][512];
    if (!getenv("KYMO_PROGRAM"))
        CHECK_SKIP("KYMO_PROGRAM does not name the program kymograph");
    record("before", before);
    record("after", after);
    snprintf(path[0], sizeof(path[0]), "%s", check_path("before"));
    snprintf(path[1], sizeof(path[1]), "%s", check_path("after"));
    snprintf(path[2], sizeof(path[2]), "%s", check_path("said"));
    CHECK_OK(shell("\"$KYMO_PROGRAM\" diff '%s' '%s' >'%s'", path[0], path[1], path[2]));
    why[0] = row[0] = '\0';
    FILE *file = fopen(path[2], "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "  because", 9) == 0)
            snprintf(why, sizeof(why), "%s", line + 9 + strspn(line + 9, " "));
        else if (strstr(line, " f0 ") && !strstr(line, "→"))
            snprintf(row, sizeof(row), "%s", line);
    }
    fclose(file);
}

static bool is_noise(void)
{
    return strncmp(why, "within the noise", 16) == 0;
}

static void equal_runs_differ_by_noise(void)
{
    const double before[] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
    const double after[] = {10.1, 9.8, 10, 10.2, 9.9, 10, 10.3, 10.1, 9.7, 10, 10.2, 10.1};
    compare(before, after);
    CHECK(is_noise());
    CHECK(strstr(row, "~×1.01") != NULL);
}

/* On a busy machine, each function may be interrupted for long. */
static void so_do_equal_runs_on_a_busy_machine(void)
{
    const double before[] = {8, 31, 7, 12, 93, 7, 109, 7, 9, 7, 17, 6};
    const double after[] = {15, 15, 18, 7, 15, 22, 7, 22, 15, 15, 15, 8};
    const double slower[] = {15, 62, 18, 14, 93, 22, 150, 22, 15, 15, 30, 8};
    compare(before, after);
    CHECK(is_noise());
    compare(before, slower);
    CHECK(is_noise());
}

static void a_function_that_got_slower_is_not_noise(void)
{
    const double before[] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
    const double after[] = {400, 9.8, 10, 10.2, 9.9, 10, 10.3, 10.1, 9.7, 10, 10.2, 10.1};
    compare(before, after);
    CHECK(strncmp(why, "f0 +390", 7) == 0);
    CHECK(strstr(row, " ×40") != NULL);
}

/* The others differ so much that the whole change could be noise; that of this function cannot. */
static void neither_is_it_on_a_busy_machine(void)
{
    const double before[] = {8.4, 30.6, 6.5, 12.2, 92.9, 6.6, 108.9, 6.6, 8.6, 6.5, 16.6, 6.5};
    const double after[] = {659, 15.1, 17.8, 7, 14.9, 21.8, 7.2, 21.7, 15.3, 15.2, 15.2, 7.6};
    compare(before, after);
    CHECK(strncmp(why, "f0 +650", 7) == 0);
    CHECK(strstr(row, " ×78") != NULL);
    compare(after, before);
    CHECK(strncmp(why, "f0 -650", 7) == 0);
}

/* A change of the whole that is always noise has no cause. */
static void a_small_change_is_noise_whatever_made_it(void)
{
    const double before[] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
    const double after[] = {15, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
    compare(before, after);
    CHECK(is_noise());
    CHECK(strstr(row, " ×1.50") != NULL); /* its row has no ~ */
}

static const struct check_case cases[] = {
    CHECK_CASE(equal_runs_differ_by_noise),
    CHECK_CASE(so_do_equal_runs_on_a_busy_machine),
    CHECK_CASE(a_function_that_got_slower_is_not_noise),
    CHECK_CASE(neither_is_it_on_a_busy_machine),
    CHECK_CASE(a_small_change_is_noise_whatever_made_it),
};
CHECK_MAIN(cases)
