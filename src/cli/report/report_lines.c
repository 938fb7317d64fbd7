/* report_lines.c — the Python lines with the most samples, folded as the table of functions is:
   what a library does counts for the line of it that the program's call is at, and all imports are
   one row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "units.h"

static uint32_t callable_of(const struct kymo_samples *samples, uint32_t frame)
{
    return samples->callable_of[samples->names.first[frame]];
}

static bool is_script(const struct kymo_samples *samples, uint32_t frame)
{
    return strcmp(samples->survey->callables.all[callable_of(samples, frame)].name, "<module>") ==
           0;
}

/* The line to show for the stack that ends in NODE: that of its innermost Python frame which is the
   program's own or was called by it. Returns the frame, IMPORTS or NO_LINE. */
enum { NO_LINE = -1, IMPORTS = -2 };
static int64_t line_of(const struct kymo_samples *samples, const struct kymo_fold *fold,
                       uint32_t node)
{
    const struct kymo_reader_stacks *stacks = &samples->names.capture->reader->stacks;
    int64_t innermost = NO_LINE, outer = NO_LINE, inner = NO_LINE;
    bool own = false, imports = false;
    for (; node && !own; node = stacks->nodes[node].parent) {
        if (!kymo__samples_managed(samples, node))
            continue;
        inner = outer;
        outer = stacks->nodes[node].frame;
        if (innermost == NO_LINE)
            innermost = outer;
        if (fold->unfold)
            return innermost;
        enum kymo_origin origin = fold->origin[callable_of(samples, (uint32_t)outer)];
        imports |= origin == KYMO__IMPORT;
        own = origin == KYMO__OWN;
    }
    if (fold->only_imports)
        return imports ? IMPORTS : innermost;
    if (outer == NO_LINE)
        return NO_LINE;
    bool called = inner != NO_LINE && (own || is_script(samples, (uint32_t)outer));
    int64_t line = called ? inner : outer;
    return fold->origin[callable_of(samples, (uint32_t)line)] == KYMO__IMPORT ? IMPORTS : line;
}

static int by_periods(const void *a, const void *b, void *arg)
{
    const uint64_t *periods = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return periods[x] != periods[y] ? (periods[x] > periods[y] ? -1 : 1) : (x > y) - (x < y);
}

void kymo__cli_print_lines(const struct cli_report *report)
{
    enum { LINES = 10 };
    static const struct cli_column columns[] = {
        {"TIME", true, CLI_KEEP},
        {"%", true, CLI_KEEP},
        {"LINE", false, CLI_CUT_LEFT},
        {"FUNCTION", false, CLI_CUT_LEFT},
        {0},
    };
    const struct kymo_samples *samples = report->samples;
    const struct kymo_tallies *t = &samples->tallies;
    size_t frames = samples->names.capture->reader->stacks.frame_count, count = 0;
    uint64_t *periods = kymo__cli_array(frames + 1, sizeof *periods);
    uint32_t *order = kymo__cli_array(frames + 1, sizeof *order);
    for (size_t i = 0; i < t->count; i++) {
        int64_t frame = line_of(samples, report->sampled->fold, t->all[i].node);
        if (frame == NO_LINE)
            continue;
        if (frame == IMPORTS)
            frame = (int64_t)frames;
        if (!periods[frame])
            order[count++] = (uint32_t)frame;
        periods[frame] += t->all[i].periods;
    }
    qsort_r(order, count, sizeof *order, by_periods, periods);
    struct cli_table *table = kymo__cli_table_new(columns);
    for (size_t i = 0; i < count && i < LINES && i < report->limit; i++) {
        static const struct kymo_named_frame imports = {.name = KYMO__IMPORTS, .file = ""};
        const struct kymo_named_frame *named =
            order[i] == frames ? &imports : &samples->names.named[samples->names.first[order[i]]];
        kymo_ns length = kymo__tally_time(t, periods[order[i]]);
        struct cli_text time = kymo__cli_duration(length);
        struct cli_text share = kymo__cli_percent(length, report->sampled->inside);
        const struct kymo_callable at = {named->name, named->file, named->line,
                                         KYMO_CLASS_FUNCTION};
        char *place = kymo__cli_where(&at);
        const char *const cells[] = {time.text, share.text, place, named->name};
        kymo__cli_table_add(table, cells);
        kymo__cli_free(place);
    }
    if (count) {
        printf("\n%*s%sLines by own samples%s\n", CLI_INDENT, "", kymo__cli_colour(CLI_BOLD),
               kymo__cli_colour(CLI_PLAIN));
        kymo__cli_table_print(table, CLI_INDENT);
    }
    kymo__cli_table_free(table);
    kymo__cli_free(order);
    kymo__cli_free(periods);
}
