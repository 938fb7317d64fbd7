/* report_cost.c — what tracing adds to the figures: its own cost, and the time of calls that were
   switched off, which is counted as their callers'. As text and JSON. */
#include <stdio.h>
#include <stdlib.h>

#include "jsonout.h"
#include "memory.h"
#include "report.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "units.h"

/* Warn the reader above these shares of the time. */
static const double WORTH_SAYING = 0.01, DISTORTS = 0.2;

static bool is_above(kymo_ns part, kymo_ns whole, double share)
{
    return whole > 0 && (double)part > share * (double)whole;
}

int kymo__cli_report_cost(struct cli_report *report, const struct kymo_tally_options *part,
                          bool for_programs)
{
    int rc = kymo__own_cost_init(&report->own_cost, report->capture, report->survey,
                                 for_programs || report->corrected);
    if (rc < 0)
        return rc;
    for (int i = 0; i < KYMO__CLASSES; i++)
        report->recorded = kymo__ns_add(report->recorded, report->survey->self[i]);
    if (report->corrected)
        kymo__own_cost_take_out(&report->own_cost, report->survey);
    if (!report->samples || report->survey->counts.slices == 0)
        return 0;
    return kymo__unrecorded_init(&report->unrecorded, report->capture, report->survey,
                                 report->samples, part);
}

void kymo__cli_report_cost_free(struct cli_report *report)
{
    kymo__own_cost_fini(&report->own_cost);
    kymo__unrecorded_fini(&report->unrecorded);
}

/* ------------------------------------------------------------------- text --- */

static void print_own(const struct cli_report *report)
{
    const struct kymo_own_cost *cost = &report->own_cost;
    /* Of the work as it was recorded: next to nothing is added to waiting. */
    kymo_ns work = kymo__ns_add(report->whole, report->corrected ? cost->own : 0);
    if (!cost->known || !is_above(cost->own, work, WORTH_SAYING))
        return;
    bool distorts = is_above(cost->own, work, DISTORTS) && !report->corrected;
    kymo__cli_label("tracing");
    printf("%s%s (%s %%) %s%s\n", distorts ? kymo__cli_colour(CLI_YELLOW) : "",
           kymo__cli_duration(cost->own).text, kymo__cli_percent(cost->own, work).text,
           report->corrected ? "of tracing cost subtracted; times are estimates"
                             : "of it is tracing cost; see --corrected",
           distorts ? kymo__cli_colour(CLI_PLAIN) : "");
    if (!distorts)
        return;
    kymo__cli_label("");
    puts(report->samples ? "small calls look too slow; rely on the samples"
                         : "small calls look too slow; try 'run --calls off --sample 1000'");
}

static void print_elsewhere(const struct cli_report *report)
{
    const struct kymo_unrecorded *u = &report->unrecorded;
    if (!is_above((kymo_ns)u->all_elsewhere, (kymo_ns)u->all, WORTH_SAYING))
        return;
    kymo__cli_label("off");
    printf("%s %% is in calls that were not recorded: their callers have it\n",
           kymo__cli_percent((kymo_ns)u->all_elsewhere, (kymo_ns)u->all).text);
}

void kymo__cli_print_cost(const struct cli_report *report)
{
    print_own(report);
    print_elsewhere(report);
}

struct row {
    uint32_t callable;
    kymo_ns elsewhere;
};

static int by_elsewhere(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->elsewhere != y->elsewhere)
        return x->elsewhere > y->elsewhere ? -1 : 1;
    return x->callable < y->callable ? -1 : x->callable > y->callable;
}

void kymo__cli_print_unrecorded(const struct cli_report *report)
{
    enum { ROWS = 10 };
    static const struct cli_column columns[] = {
        {"SELF", true, CLI_KEEP},       {"NOT RECORDED", true, CLI_KEEP},
        {"%", true, CLI_DROP(1)},       {"FUNCTION", false, CLI_CUT_LEFT},
        {"WHERE", false, CLI_CUT_LEFT}, {0},
    };
    const struct kymo_survey *s = report->survey;
    const struct kymo_unrecorded *u = &report->unrecorded;
    if (!is_above((kymo_ns)u->all_elsewhere, (kymo_ns)u->all, WORTH_SAYING))
        return;
    struct row *rows = kymo__cli_array(s->callables.count + 1, sizeof *rows);
    size_t count = 0;
    for (uint32_t i = 0; i < s->callables.count; i++)
        if (s->functions.of[i] && u->elsewhere[i])
            rows[count++] = (struct row){i, kymo__unrecorded_part(u, i, s->functions.of[i]->self)};
    qsort(rows, count, sizeof *rows, by_elsewhere);
    kymo__cli_heading("Self time in calls that were not recorded");
    struct cli_table *table = kymo__cli_table_new(columns);
    uint64_t most = report->limit < ROWS ? report->limit : ROWS;
    for (size_t i = 0; i < count && i < most; i++) {
        kymo_ns all = s->functions.of[rows[i].callable]->self;
        struct cli_text self = kymo__cli_duration(all);
        struct cli_text elsewhere = kymo__cli_duration(rows[i].elsewhere);
        struct cli_text share = kymo__cli_percent(rows[i].elsewhere, all);
        char *place = kymo__cli_where(&s->callables.all[rows[i].callable]);
        const char *const cells[] = {self.text, elsewhere.text, share.text,
                                     s->callables.all[rows[i].callable].name, place};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    kymo__cli_table_print(table, CLI_INDENT);
    kymo__cli_left_out(count, most);
    printf("%*s%sEstimated from the samples; the Samples section shows which functions.%s\n",
           CLI_INDENT, "", kymo__cli_colour(CLI_DIM), kymo__cli_colour(CLI_PLAIN));
    kymo__cli_table_free(table);
    kymo__cli_free(rows);
}

bool kymo__cli_report_trusts_samples(const struct cli_report *report)
{
    const struct kymo_unrecorded *u = &report->unrecorded;
    return is_above((kymo_ns)u->all_elsewhere, (kymo_ns)u->all, DISTORTS);
}

/* ------------------------------------------------------------------- json --- */

void kymo__cli_write_cost(struct kymo_jsonout *json, const struct cli_report *report)
{
    const struct kymo_own_cost *cost = &report->own_cost;
    const struct kymo_unrecorded *u = &report->unrecorded;
    if (cost->known) {
        kymo__jsonout_object(json, "tracing_cost");
        kymo__jsonout_double(json, "python_call_ns", cost->call.python);
        kymo__jsonout_double(json, "c_call_ns", cost->call.c);
        kymo__jsonout_int(json, "own_ns", cost->own);
        kymo__jsonout_double(json, "own_share",
                             report->recorded > 0 ? (double)cost->own / (double)report->recorded
                                                  : 0);
        kymo__jsonout_bool(json, "corrected", report->corrected);
        kymo__jsonout_end(json);
    } else {
        kymo__jsonout_null(json, "tracing_cost");
    }
    if (u->all)
        kymo__jsonout_double(json, "unrecorded_share", (double)u->all_elsewhere / (double)u->all);
    else
        kymo__jsonout_null(json, "unrecorded_share");
}

void kymo__cli_write_function_cost(struct kymo_jsonout *json, const struct cli_report *report,
                                   uint32_t callable)
{
    const struct kymo_own_cost *cost = &report->own_cost;
    if (report->of_samples)
        return;
    if (cost->known) {
        kymo__jsonout_int(json, "corrected_self_ns", cost->self[callable]);
        kymo__jsonout_int(json, "corrected_total_ns", cost->total[callable]);
    }
    if (report->unrecorded.all)
        kymo__jsonout_int(json, "unrecorded_ns",
                          kymo__unrecorded_part(&report->unrecorded, callable,
                                                report->survey->functions.of[callable]->self));
}
