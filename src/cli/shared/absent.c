/* absent.c — see absent.h. */
#include "absent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_words.h"
#include "terminal.h"
#include "text.h"

const char *kymo__cli_metadata(const struct kymo_capture *capture, const char *key)
{
    const char *found, *value;
    for (uint32_t i = 0; kymo_capture_metadata(capture, i, &found, &value) == 0; i++)
        if (strcmp(found, key) == 0)
            return value;
    return NULL;
}

bool kymo__cli_hardly_any(struct kymo_capture *capture, const struct kymo_info *info,
                          uint64_t count)
{
    enum { HARDLY_ANY = 10, LONG = 100000000 };
    return count < HARDLY_ANY && kymo__cli_lasted(capture, info) > LONG;
}

/* `kymograph run` knows the CPU time of child processes, the calls how many there were. */
static void print_children(const struct kymo_capture *capture, uint64_t count)
{
    const char *time = kymo__cli_metadata(capture, "children.cpu_time");
    if (!count && !time)
        return;
    kymo__cli_label("absent");
    if (count)
        fputs(kymo__cli_count(count, "child process", "child processes").text, stdout);
    else
        fputs("child processes", stdout);
    if (time) {
        fputs(" (", stdout);
        kymo__cli_put_clean(stdout, time);
        fputs(" of CPU time)", stdout);
    }
    printf(": what %s did is not in this capture\n", count == 1 ? "it" : "they");
}

/* Of a family, `kymograph run` knows which child processes are not among those recorded. */
static void print_unrecorded(const struct kymo_capture *capture)
{
    const char *text = kymo__cli_metadata(capture, "children.unrecorded");
    if (!text)
        text = kymo__cli_metadata(capture, "0.children.unrecorded");
    if (!text)
        return;
    kymo__cli_label("absent");
    kymo__cli_put_clean(stdout, text);
    puts(": not recorded");
}

static void print_interpreters(const struct kymo_capture *capture)
{
    const char *text = kymo__cli_metadata(capture, "python.subinterpreters");
    uint64_t count = text ? strtoull(text, NULL, 10) : 0;
    if (!count)
        return;
    kymo__cli_label("absent");
    printf("%s: calls in %s are not recorded\n",
           kymo__cli_count(count, "subinterpreter", "subinterpreters").text,
           count == 1 ? "it" : "them");
}

void kymo__cli_print_absent(const struct kymo_capture *capture, const struct kymo_info *info,
                            const struct cli_absent *absent)
{
    /* The first process of a family whose children are recorded. */
    bool recorded =
        kymo__cli_metadata(capture, "family") && !kymo__cli_metadata(capture, "children.cpu_time");
    if (info->processes < 2)
        print_children(capture, recorded ? 0 : absent->children);
    print_unrecorded(capture);
    print_interpreters(capture);
    const char *unlisted = kymo__cli_metadata(capture, "sample.unlisted");
    if (unlisted) {
        kymo__cli_label("absent");
        printf("%ssamples of threads that record no calls: ", kymo__cli_colour(CLI_YELLOW));
        kymo__cli_put_clean(stdout, unlisted);
        printf("%s\n", kymo__cli_colour(CLI_PLAIN));
    }
    if (absent->nothing) {
        kymo__cli_label("absent");
        printf("%salmost everything: were calls switched off, or does --include match "
               "nothing?%s\n",
               kymo__cli_colour(CLI_YELLOW), kymo__cli_colour(CLI_PLAIN));
    }
}
