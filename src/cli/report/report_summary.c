/* report_summary.c — the summary of a report: how the recording ended and where the time went. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "absent.h"
#include "heapview.h"
#include "memory.h"
#include "naming.h"
#include "report.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

static void print_losses(const struct cli_report *report)
{
    const struct kymo_calls_counts *counts = &report->survey->counts;
    const char *comma = "";
    kymo__cli_label("lost");
    if (!counts->gaps && !counts->lost_leaves && !counts->orphan_leaves) {
        puts(kymo__cli_name_no_loss(&report->info));
        return;
    }
    fputs(kymo__cli_colour(CLI_YELLOW), stdout);
    if (counts->gaps) {
        printf("%s in %s", kymo__cli_count(counts->missing, "record", "records").text,
               kymo__cli_count(counts->gaps, "gap", "gaps").text);
        comma = "; ";
    }
    if (counts->lost_leaves) {
        printf("%s%s", comma, kymo__cli_count(counts->lost_leaves, "call", "calls").text);
        fputs(" whose end was not recorded", stdout);
        comma = "; ";
    }
    if (counts->orphan_leaves)
        printf("%s%s whose start was not recorded", comma,
               kymo__cli_count(counts->orphan_leaves, "call", "calls").text);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
}

enum { OFF_NAMED = 3 }; /* functions switched off that the summary names */

/* Print names of what was switched off, after *NAMED others: entries for many functions if MANY,
   else single functions. */
static void put_off(const struct kymo_survey *s, bool many, uint64_t *named)
{
    for (uint32_t i = 0; i < s->callables.count && *named < OFF_NAMED; i++) {
        const struct kymo_callable *callable = &s->callables.all[i];
        if (!s->functions.of[i] || !s->functions.of[i]->off ||
            (callable->class == KYMO_CLASS_NAME) != many)
            continue;
        fputs((*named)++ ? ", " : "", stdout);
        kymo__cli_put_clean(stdout, callable->name);
    }
}

/* Print the functions that were switched off during the recording. */
static void print_off(const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->callables.count; i++)
        count += s->functions.of[i] && s->functions.of[i]->off;
    if (count == 0)
        return;
    kymo__cli_label("budget");
    printf("%s switched off to stay within the overhead budget:\n",
           kymo__cli_count(count, "function was", "functions were").text);
    kymo__cli_label("");
    uint64_t named = 0;
    put_off(s, true, &named);
    put_off(s, false, &named);
    puts(count > OFF_NAMED ? ", ..." : "");
}

/* How many child processes the program started, as far as its calls show. */
static uint64_t count_children(const struct kymo_survey *s)
{
    static const char *const starters[][2] = {
        {"_posixsubprocess", "fork_exec"}, {"posix", "fork"},         {"posix", "forkpty"},
        {"posix", "posix_spawn"},          {"posix", "posix_spawnp"},
    };
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->callables.count; i++)
        for (size_t j = 0; s->functions.of[i] && j < sizeof starters / sizeof *starters; j++)
            if (strcmp(s->callables.all[i].file, starters[j][0]) == 0 &&
                strcmp(s->callables.all[i].name, starters[j][1]) == 0)
                count += s->functions.of[i]->calls;
    return count;
}

/* Report what the capture does not contain. */
static void print_absent(const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    bool whole = report->part.from <= 0 && report->part.to == INT64_MAX;
    for (uint32_t i = 0; i < report->threads.count; i++)
        whole &= report->threads.chosen[i];
    uint64_t found = s->counts.slices + (report->samples ? report->samples->tallies.samples : 0);
    const struct cli_absent absent = {
        .children = count_children(s),
        .nothing = whole && !kymo__may_have_heap(report->capture) &&
                   kymo__cli_hardly_any(report->capture, &report->info, found),
    };
    kymo__cli_print_absent(report->capture, &report->info, &absent);
    if (s->counts.lost_args) {
        kymo__cli_label("absent");
        printf("%s of events that have more than %d\n",
               kymo__cli_count(s->counts.lost_args, "argument", "arguments").text, KYMO__ARGS_MOST);
    }
}

static void print_share(const char **comma, const char *name, kymo_ns part, kymo_ns whole)
{
    if (part <= 0)
        return;
    printf("%s%s %s %%", *comma, name, kymo__cli_percent(part, whole).text);
    *comma = ", ";
}

static void print_shares(const struct cli_report *report)
{
    const kymo_ns *self = report->fold->shown.self;
    const char *comma = "";
    if (report->inside <= 0)
        return;
    kymo__cli_label("work");
    printf("%s: ", kymo__cli_duration(report->whole).text);
    print_share(&comma, "Python", self[KYMO_CLASS_FUNCTION], report->whole);
    print_share(&comma, "C",
                kymo__ns_add(kymo__ns_add(self[KYMO_CLASS_NATIVE], self[KYMO_CLASS_METHOD]),
                             kymo__ns_add(self[KYMO_CLASS_TYPE], self[KYMO_CLASS_CALLABLE])),
                report->whole);
    print_share(&comma, "operators", self[KYMO_CLASS_OPERATOR], report->whole);
    print_share(&comma, "spans", self[KYMO_CLASS_NAME], report->whole);
    print_share(&comma, "garbage collection", self[KYMO_CLASS_GC], report->whole);
    print_share(&comma, "other", kymo__ns_add(self[KYMO_CLASS_WAIT], self[KYMO__CLASS_OTHER]),
                report->whole);
    puts(report->whole > 0 ? "" : "none");
    if (report->fold->waiting > 0) {
        kymo__cli_label("waiting");
        printf("%s, summed over threads; not counted as work\n",
               kymo__cli_duration(report->fold->waiting).text);
    }
}

/* Is THREAD the one that measures resident memory? */
static bool is_own_thread(struct kymo_capture *capture, uint32_t thread)
{
    struct kymo_thread_info info = {.size = sizeof info};
    return kymo_capture_thread(capture, thread, &info) == 0 &&
           strcmp(info.name, "kymo memory") == 0;
}

void kymo__cli_print_summary(const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    uint64_t threads = 0;
    for (uint32_t i = 0; i < s->thread_count; i++)
        threads += s->threads[i].read && !is_own_thread(report->capture, i);
    fputs(kymo__cli_colour(CLI_BOLD), stdout);
    kymo__cli_put_clean(stdout, report->path);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
    kymo__cli_print_ending(report->path, &report->info);
    kymo__cli_label("lasted");
    fputs(kymo__cli_duration(kymo__cli_lasted(report->capture, &report->info)).text, stdout);
    if (report->part.from > 0 || report->part.to < INT64_MAX)
        printf("; this report covers %s from %s",
               kymo__cli_duration(s->to > s->from ? s->to - s->from : 0).text,
               kymo__cli_duration(s->from - report->info.start).text);
    putchar('\n');
    if (!kymo__cli_report_only_samples(report)) {
        kymo__cli_label("calls");
        printf("%s on %s", kymo__cli_grouped(s->calls).text,
               kymo__cli_count(threads, "thread", "threads").text);
        if (s->resumes)
            printf(", %s", kymo__cli_count(s->resumes, "resume", "resumes").text);
        if (s->counts.deepest)
            printf("; at most %u deep", s->counts.deepest);
        putchar('\n');
    }
    if (report->samples) {
        kymo__cli_label("samples");
        printf("%s on %s\n", kymo__cli_grouped(report->samples->tallies.samples).text,
               kymo__cli_count(threads, "thread", "threads").text);
    }
    if (kymo__may_have_heap(report->capture)) {
        kymo__cli_label("memory");
        printf("%s; --memory shows it\n", kymo__heap_mode_phrase(report->capture));
    }
    print_losses(report);
    print_off(report);
    print_absent(report);
    print_shares(report);
    kymo__cli_print_cost(report);
}
