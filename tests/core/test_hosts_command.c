/* The command shows how well the clocks of captures of several hosts are related. */
#include <sys/stat.h>

#include "hostmade.h"
#include "shell.h"

/* Make COUNT hosts in a new folder; every other one has the metadata SECOND_ONE. */
static const char *make_folder(const char *name, int count, const char *second_one)
{
    static char folder[4096];
    snprintf(folder, sizeof(folder), "%s", check_path(name));
    CHECK_OK(mkdir(folder, 0700));
    for (int i = 0; i < count; i++) {
        char path[5000];
        const char *text = i % 2 ? second_one : SYNCED;
        const struct host h = {
            .uptime = (i + 1) * SECOND, .off = i * 100000, .at_start = text, .at_stop = text};
        snprintf(path, sizeof(path), "%s/h%02d.kymo", folder, i);
        make_host(path, i, &h);
    }
    return folder;
}

/* Is every one of WORDS, which ends with NULL, in what the command prints? ARGUMENTS are printed
   with FOLDER as their only argument. */
static void prints(const char *folder, const char *arguments, const char *const *words)
{
    char text[65536], out[4096];
    snprintf(out, sizeof(out), "%s", check_path("said"));
    char command[8192];
    snprintf(command, sizeof(command), arguments, folder, folder, folder);
    CHECK_OK(shell("'%s' %s >%s 2>&1", getenv("KYMO_PROGRAM"), command, out));
    FILE *file = fopen(out, "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    for (; *words; words++)
        if (!strstr(text, *words))
            CHECK_FAIL("'%s' is not in:\n%s", *words, text);
}

#define PRINTS(folder, arguments, ...)                                                             \
    prints(folder, arguments, (const char *const[]){__VA_ARGS__, NULL})

static void the_command_shows_the_error_of_every_host(void)
{
    const char *folder = make_folder("good", HOSTS, WORSE);
    PRINTS(folder, "report --step train_step %s", "order between hosts is known within 12.000 ms",
           "6.300 ms", "exact", "8.000 ms");
    PRINTS(folder, "report -j --step train_step %s",
           "\"by\": \"wall\", \"offset_ns\": -62993700000, \"error_ns\": 10000000, "
           "\"synchronised\": true");
    PRINTS(folder, "info %s/h01.kymo", "synchronised, off by 6.000 ms at most");
    PRINTS(folder, "merge %s/h00.kymo %s/h01.kymo -o %s/m.kymo",
           "order between hosts is known within 10.000 ms");
    PRINTS(folder, "info %s/m.kymo",
           "1.merged_clock = by=wall offset_ns=-999900000 error_ns=10000000 synchronised=yes "
           "drift_ppb=0 drift_error_ppb=200000");
}

static void the_command_says_what_is_not_known(void)
{
    const char *folder = make_folder("bad", 4, UNSYNCED);
    PRINTS(folder, "report %s", "unsynchronised clock: order between hosts is unknown\n",
           "unknown");
    PRINTS(folder, "info %s/h01.kymo", "unsynchronised, error unknown");
    folder = make_folder("free", 4, FREE);
    PRINTS(folder, "report %s",
           "unsynchronised clock: order between hosts is unknown within 18.000 ms, perhaps more");
    folder = make_folder("old", 4, NULL);
    PRINTS(folder, "report %s", "the error of some clock was not recorded");
    PRINTS(
        folder, "report -j %s",
        "\"error_ns\": null, \"synchronised\": null, \"drift_ppb\": 0, \"drift_error_ppb\": null");
    PRINTS(folder, "info %s/h01.kymo", "error unknown: it was not recorded");
    PRINTS(folder, "merge %s/h00.kymo %s/h01.kymo -o %s/m.kymo",
           "the error of some clock was not recorded");
}

static void the_command_shows_what_notes_say(void)
{
    const struct host first = {.uptime = SECOND, .at_start = UNSYNCED, .at_stop = UNSYNCED};
    const struct host other = {.uptime = 2 * SECOND,
                               .off = 3 * SECOND,
                               .at_start = UNSYNCED,
                               .at_stop = UNSYNCED,
                               .peer = &first,
                               .delay = 2000000};
    static char folder[4096];
    char path[5000];
    snprintf(folder, sizeof(folder), "%s", check_path("pinged"));
    CHECK_OK(mkdir(folder, 0700));
    snprintf(path, sizeof(path), "%s/h00.kymo", folder);
    make_host(path, 0, &first);
    snprintf(path, sizeof(path), "%s/h01.kymo", folder);
    make_host(path, 1, &other);
    PRINTS(folder, "report %s", "order between hosts is known within ");
    PRINTS(folder, "report -j %s", "\"by\": \"pings\"");
    PRINTS(folder, "info %s/h01.kymo", "10 exchanges with other hosts noted; the fastest took ");
    PRINTS(folder, "merge %s/h00.kymo %s/h01.kymo -o %s/m.kymo",
           "order between hosts is known within ");
    PRINTS(folder, "info %s/m.kymo", "1.merged_clock = by=pings offset_ns=-",
           "aligned by notes in a shared folder");
}

/* A launcher on each of two hosts notes what it found out, and its child RUN.d/7-1.kymo does the work.
   Returns their folder. */
static const char *make_launchers(const char *name)
{
    static char folder[4096];
    char path[5000];
    struct host hosts[2] = {{.uptime = SECOND}, {.uptime = 2 * SECOND, .off = 3 * SECOND}};
    snprintf(folder, sizeof(folder), "%s", check_path(name));
    CHECK_OK(mkdir(folder, 0700));
    for (int i = 0; i < 2; i++) {
        struct host *h = &hosts[i];
        h->at_start = h->at_stop = UNSYNCED;
        h->run = i ? "two" : "one";
        h->peer = i ? &hosts[0] : NULL;
        h->delay = 2000000;
        snprintf(path, sizeof(path), "%s/run%d.kymo", folder, i);
        make_host(path, i, h);
        h->peer = NULL;
        h->child = true;
        snprintf(path, sizeof(path), "%s/run%d.kymo.d", folder, i);
        CHECK_OK(mkdir(path, 0700));
        snprintf(path, sizeof(path), "%s/run%d.kymo.d/7-1.kymo", folder, i);
        make_host(path, i, h);
        h->child = false;
    }
    return folder;
}

static const char NOT_FOUND[] =
    "run1.kymo.d/7-1.kymo is of a child process; what its run may have noted of other machines' "
    "clocks was not found";

static void children_are_related_by_the_notes_of_their_launchers(void)
{
    const char *folder = make_launchers("launched");
    PRINTS(folder, "merge %s/run0.kymo.d/7-1.kymo %s/run1.kymo.d/7-1.kymo -o %s/m.kymo",
           "order between hosts is known within ");
    PRINTS(folder, "info %s/m.kymo", "1.merged_clock = by=pings offset_ns=-",
           "aligned by notes in a shared folder");
}

static void children_without_their_launchers_are_said_to_be(void)
{
    const char *folder = make_launchers("forsaken");
    CHECK_OK(shell("mv '%s/run1.kymo' '%s/other.kymo'", folder, folder));
    PRINTS(folder, "merge %s/run0.kymo.d/7-1.kymo %s/run1.kymo.d/7-1.kymo -o %s/m.kymo", NOT_FOUND,
           "unsynchronised clock: order between hosts is unknown");
    /* Nor is a later run of the same name theirs. */
    CHECK_OK(shell("cp '%s/run0.kymo' '%s/run1.kymo'", folder, folder));
    PRINTS(folder, "merge %s/run0.kymo.d/7-1.kymo %s/run1.kymo.d/7-1.kymo -o %s/m.kymo", NOT_FOUND);
}

static const struct check_case cases[] = {
    CHECK_CASE(the_command_shows_the_error_of_every_host),
    CHECK_CASE(the_command_says_what_is_not_known),
    CHECK_CASE(the_command_shows_what_notes_say),
    CHECK_CASE(children_are_related_by_the_notes_of_their_launchers),
    CHECK_CASE(children_without_their_launchers_are_said_to_be),
};

CHECK_MAIN(cases)
