/* heap_text.c — the text of `kymograph report --memory`: the summary, then the tables. */
#include <stdio.h>
#include <string.h>

#include "heap_report.h"
#include "memory.h"
#include "report_words.h"
#include "samples.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

enum { COLUMNS = 60, NODES = 1 << 20 };

static bool has_mappings(const struct cli_heap_report *r, unsigned set)
{
    struct kymo_heap_row row = {.size = sizeof row};
    for (size_t i = 0; kymo_heap_row(r->heap, set, i, &row) == 0; i++)
        if (row.category == KYMO_HEAP_MAPPINGS || row.category == KYMO_HEAP_ARENAS)
            return true;
    return false;
}

const char *kymo__cli_heap_kind(const struct cli_heap_report *r, unsigned set)
{
    return has_mappings(r, set) ? "requested and mapped" : "requested";
}

static struct cli_text since(const struct cli_heap_report *r, kymo_ns time)
{
    return kymo__cli_duration(time - r->file.start);
}

static void print_mode(const struct cli_heap_report *r)
{
    const char *domains = kymo__heap_metadata(r->capture, KYMO__HEAP_DOMAINS);
    const char *stacks = kymo__heap_metadata(r->capture, KYMO__HEAP_STACKS);
    kymo__cli_label("recorded");
    if (r->info.mode == KYMO_HEAP_SAMPLED)
        printf("one sample every %s; sums are estimates ± standard error",
               kymo__cli_bytes(r->info.rate).text);
    else if (r->info.mode == KYMO_HEAP_LIVE)
        fputs("the live set only, at its peak and at the end", stdout);
    else
        printf("%s, %s, %s", kymo__cli_count(r->info.allocations, "allocation", "allocations").text,
               kymo__cli_count(r->info.frees, "free", "frees").text,
               kymo__cli_count(r->info.mappings, "mapping", "mappings").text);
    putchar('\n');
    if (*domains || *stacks) {
        printf("%*s", CLI_INDENT + CLI_LABEL, "");
        fputs("of ", stdout);
        kymo__cli_put_clean(stdout, *domains ? domains : "unknown domains");
        fputs("; stacks: ", stdout);
        kymo__cli_put_clean(stdout, *stacks ? stacks : "unknown");
        putchar('\n');
    }
}

/* "objects 1.2 GiB, native 3 MiB requested; mappings 5 MiB mapped". */
static void print_categories(const uint64_t *bytes)
{
    static const char *const names[] = {
        [KYMO_HEAP_OBJECTS] = "Python objects",    [KYMO_HEAP_PYTHON] = "Python's other memory",
        [KYMO_HEAP_TRACKED] = "libraries' arrays", [KYMO_HEAP_NATIVE] = "native",
        [KYMO_HEAP_MAPPINGS] = "mappings",
    };
    char *line = NULL;
    const char *before = "";
    for (unsigned i = 0; i <= KYMO_HEAP_MAPPINGS; i++) {
        if (!bytes[i])
            continue;
        char *longer = kymo__cli_format("%s%s%s %s %s", line ? line : "", before, names[i],
                                        kymo__cli_bytes(bytes[i]).text,
                                        i == KYMO_HEAP_MAPPINGS ? "mapped" : "requested");
        kymo__cli_free(line);
        line = longer;
        before = ", ";
    }
    if (line) {
        printf("%*s", CLI_INDENT + CLI_LABEL, "");
        kymo__cli_wrap(stdout, line, CLI_INDENT + CLI_LABEL, kymo__cli_text_width(),
                       CLI_INDENT + CLI_LABEL);
    }
    kymo__cli_free(line);
}

static void print_peak(const struct cli_heap_report *r)
{
    const struct kymo_heap_sum *peak = &r->info.set[KYMO_HEAP_AT_PEAK];
    const struct kymo_heap_sum *end = &r->info.set[KYMO_HEAP_AT_END];
    kymo__cli_label("peak");
    if (r->cut_off) {
        puts("unknown: the process ended before it was written");
        kymo__cli_label("at end");
        puts("unknown");
        return;
    }
    printf("%s%s%s %s in %s", kymo__cli_colour(CLI_BOLD),
           kymo__cli_estimate(peak->bytes, peak->error).text, kymo__cli_colour(CLI_PLAIN),
           kymo__cli_heap_kind(r, KYMO_HEAP_AT_PEAK),
           kymo__cli_count(peak->count, "block", "blocks").text);
    if (r->info.peak_time)
        printf(", at %s", since(r, r->info.peak_time).text);
    putchar('\n');
    print_categories(r->info.peak_by);
    if (r->info.mapped_most)
        printf("%*swithout mappings, which were at most %s, at %s\n", CLI_INDENT + CLI_LABEL, "",
               kymo__cli_bytes(r->info.mapped_most).text, since(r, r->info.mapped_most_time).text);
    kymo__cli_label("at end");
    printf("%s %s in %s\n", kymo__cli_estimate(end->bytes, end->error).text,
           kymo__cli_heap_kind(r, KYMO_HEAP_AT_END),
           kymo__cli_count(end->count, "block", "blocks").text);
}

/* How much of the process's resident memory the recorded blocks are: at the peak, or at the end if
   the time of the peak is not known. */
static void print_resident(const struct cli_heap_report *r)
{
    bool live = r->info.mode == KYMO_HEAP_LIVE;
    uint64_t resident = live ? r->info.resident_end : r->info.resident_at_peak;
    uint64_t bytes = r->info.set[live ? KYMO_HEAP_AT_END : KYMO_HEAP_AT_PEAK].bytes;
    kymo__cli_label("resident");
    if (!r->info.resident_most) {
        puts("not measured");
        return;
    }
    bool compared = resident && !r->cut_off;
    printf("%s at most, at %s; %s at the end%s\n", kymo__cli_bytes(r->info.resident_most).text,
           since(r, r->info.resident_most_time).text, kymo__cli_bytes(r->info.resident_end).text,
           live && compared ? "," : "");
    if (!compared)
        return;
    printf("%*s", CLI_INDENT + CLI_LABEL, "");
    if (!live) /* the end is in the line above */
        printf("%s at the peak, ", kymo__cli_bytes(resident).text);
    if (bytes <= resident)
        printf("of which this report explains %s %%\n",
               kymo__cli_percent((kymo_ns)bytes, (kymo_ns)resident).text);
    else
        puts("less than was requested: some of that was never used");
}

static void print_arenas(const struct cli_heap_report *r)
{
    uint64_t arenas = r->info.peak_by[KYMO_HEAP_ARENAS];
    uint64_t used = r->info.in_arenas_at_peak;
    if (!arenas || !used || used > arenas || r->info.mode != KYMO_HEAP_EXACT)
        return;
    kymo__cli_label("arenas");
    printf("%s mapped since the start; small objects use %s %% at the peak\n",
           kymo__cli_bytes(arenas).text, kymo__cli_percent((kymo_ns)used, (kymo_ns)arenas).text);
}

static void print_unknown(const struct cli_heap_report *r)
{
    if (r->info.unknown_frees && r->info.mode == KYMO_HEAP_EXACT) {
        kymo__cli_label("unknown");
        printf("%s of blocks that were allocated before the recording began\n",
               kymo__cli_count(r->info.unknown_frees, "free", "frees").text);
    }
    if (r->info.unseen_frees) {
        kymo__cli_label("loading");
        printf("%s of libraries that were just being loaded, freed unseen\n",
               kymo__cli_count(r->info.unseen_frees, "block", "blocks").text);
    }
    if (r->file.expired_records) {
        kymo__cli_label("dropped");
        printf("%s, by the flight recorder; what they allocated is unknown\n",
               kymo__cli_count(r->file.expired_records, "older event", "older events").text);
    }
    if (r->info.lost || r->info.disorder || (*r->info.missed && strcmp(r->info.missed, "0") != 0)) {
        kymo__cli_label("missing");
        printf("%sthis capture is incomplete; --check says why%s\n", kymo__cli_colour(CLI_YELLOW),
               kymo__cli_colour(CLI_PLAIN));
    }
}

/* One line of blocks, each as high as the most memory in its part of the capture. */
static void print_course(const struct cli_heap_report *r)
{
    static const char *const heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    uint64_t most[COLUMNS] = {0}, top = 0;
    struct kymo_heap_point point = {.size = sizeof point};
    size_t count = 0;
    while (kymo_heap_point(r->heap, count, &point) == 0)
        count++;
    if (!count || r->info.mode == KYMO_HEAP_LIVE)
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;
        kymo_heap_point(r->heap, i, &point);
        for (unsigned k = 0; k <= KYMO_HEAP_MAPPINGS; k++)
            bytes += point.bytes[k];
        size_t column = i * COLUMNS / count;
        most[column] = bytes > most[column] ? bytes : most[column];
        top = bytes > top ? bytes : top;
    }
    if (!top)
        return;
    kymo__cli_label("over time");
    fputs(kymo__cli_colour(CLI_CYAN), stdout);
    for (size_t i = 0; i < COLUMNS; i++)
        fputs(heights[most[i] ? 1 + (size_t)((double)most[i] / (double)top * 7.0) : 0], stdout);
    printf("%s\n%*s0%*s\n", kymo__cli_colour(CLI_PLAIN), CLI_INDENT + CLI_LABEL, "", COLUMNS - 1,
           kymo__cli_duration(r->file.end - r->file.start).text);
}

/* Frames of Python are enough, if there can be any. */
static int native_frames(const struct cli_heap_report *r)
{
    bool all = strcmp(kymo__heap_metadata(r->capture, KYMO__HEAP_STACKS), "native") == 0;
    return r->unfold || all ? KYMO_NATIVE_BRIEF : KYMO_NATIVE_NONE;
}

static void print_tree(const struct cli_heap_report *r)
{
    struct cli_report tree = {
        .path = r->path,
        .capture = r->capture,
        .info = r->file,
        .limit = r->limit,
        .threshold = r->threshold,
        .unfold = r->unfold,
        .of_samples = true,
        .of_memory = true,
    };
    const struct kymo_samples_options options = {
        .tally = {.from = INT64_MIN, .to = INT64_MAX},
        .nodes = NODES,
        .native = native_frames(r),
    };
    struct kymo_tallies tallies;
    if (kymo__heap_tallies(r->heap, r->held, &tallies) < 0 ||
        kymo__samples_of(r->capture, &options, &tallies, &tree.samples) < 0)
        return;
    tree.survey = tree.samples->survey;
    if (kymo__cli_report_look(&tree, false) == 0)
        kymo__cli_print_tree(&tree);
    kymo__fold_free(tree.fold);
    kymo__samples_free(tree.samples);
}

void kymo__cli_heap_text(const struct cli_heap_report *r)
{
    printf("%sMemory of ", kymo__cli_colour(CLI_BOLD));
    kymo__cli_put_clean(stdout, r->path);
    printf("%s\n", kymo__cli_colour(CLI_PLAIN));
    kymo__cli_print_ending(r->path, &r->file);
    print_mode(r);
    print_peak(r);
    print_resident(r);
    print_arenas(r);
    print_unknown(r);
    print_course(r);
    if (r->tree)
        print_tree(r);
    else
        kymo__cli_heap_tables(r);
}
