/* report_summary.c — the first lines of a report: how the recording went and where the time is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "naming.h"
#include "report.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

static void print_ending(const struct cli_report *report)
{
    const struct kymo_info *info = &report->info;
    bool clean = info->ending == KYMO_ENDED_CLEAN;
    kymo__cli_label("ended");
    printf("%s%s%s%s%s\n", clean ? "" : kymo__cli_colour(CLI_YELLOW),
           kymo__cli_name_ending(info->ending).phrase, info->error ? ": " : "",
           info->error ? kymo_strerror(info->error) : "", clean ? "" : kymo__cli_colour(CLI_PLAIN));
}

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
        printf("%s%s whose begin was not recorded", comma,
               kymo__cli_count(counts->orphan_leaves, "call", "calls").text);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
}

enum { OFF_NAMED = 3 }; /* of those switched off, that the summary names */

/* Names of what was switched off, after *NAMED others: of what stands for MANY functions, or of
   the functions. */
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

/* Functions that were not recorded to the end. */
static void print_off(const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->callables.count; i++)
        count += s->functions.of[i] && s->functions.of[i]->off;
    if (count == 0)
        return;
    kymo__cli_label("budget");
    printf("%s not recorded to the end, to keep to the overhead budget: ",
           kymo__cli_count(count, "function was", "functions were").text);
    uint64_t named = 0;
    put_off(s, true, &named);
    put_off(s, false, &named);
    puts(count > OFF_NAMED ? ", ..." : "");
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
    const kymo_ns *self = report->survey->self;
    const char *comma = "";
    if (report->inside <= 0)
        return;
    kymo__cli_label("time");
    printf("%s in calls on all threads: ", kymo__cli_duration(report->inside).text);
    print_share(&comma, "Python", self[KYMO_CLASS_FUNCTION], report->inside);
    print_share(&comma, "C",
                kymo__ns_add(kymo__ns_add(self[KYMO_CLASS_NATIVE], self[KYMO_CLASS_METHOD]),
                             kymo__ns_add(self[KYMO_CLASS_TYPE], self[KYMO_CLASS_CALLABLE])),
                report->inside);
    print_share(&comma, "spans", self[KYMO_CLASS_NAME], report->inside);
    print_share(&comma, "garbage collection", self[KYMO_CLASS_GC], report->inside);
    print_share(&comma, "other", self[KYMO_CLASS_GC + 1], report->inside);
    putchar('\n');
}

void kymo__cli_print_summary(const struct cli_report *report)
{
    const struct kymo_survey *s = report->survey;
    uint64_t threads = 0;
    for (size_t i = 0; i < s->thread_count; i++)
        threads += s->threads[i].read;
    fputs(kymo__cli_colour(CLI_BOLD), stdout);
    kymo__cli_put_clean(stdout, report->path);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
    print_ending(report);
    kymo__cli_label("lasted");
    fputs(kymo__cli_duration(report->info.end - report->info.start).text, stdout);
    if (report->part.from > 0 || report->part.to < INT64_MAX)
        printf("; this is about %s from %s on",
               kymo__cli_duration(s->to > s->from ? s->to - s->from : 0).text,
               kymo__cli_duration(s->from - report->info.start).text);
    putchar('\n');
    if (!kymo__cli_report_only_samples(report)) {
        kymo__cli_label("calls");
        printf("%s on %s", kymo__cli_grouped(s->calls).text,
               kymo__cli_count(threads, "thread", "threads").text);
        if (s->resumes)
            printf(", %s of generators and coroutines",
                   kymo__cli_count(s->resumes, "resume", "resumes").text);
        if (s->counts.deepest)
            printf("; at most %u deep", s->counts.deepest);
        putchar('\n');
    }
    if (report->samples) {
        kymo__cli_label("samples");
        printf("%s on %s\n", kymo__cli_grouped(report->samples->tallies.samples).text,
               kymo__cli_count(threads, "thread", "threads").text);
    }
    print_losses(report);
    print_off(report);
    print_shares(report);
}
