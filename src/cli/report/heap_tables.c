/* heap_tables.c — the tables of `kymograph report --memory`. */
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"
#include "heap_report.h"
#include "memory.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

static struct cli_text count_text(uint64_t units)
{
    return kymo__cli_grouped((units + KYMO__HEAP_UNIT / 2) / KYMO__HEAP_UNIT);
}

static char *where(const struct kymo_heap_group *group)
{
    const struct kymo_callable at = {group->name, group->file, group->line, KYMO_CLASS_FUNCTION};
    return kymo__cli_where(&at);
}

static bool fits(const struct cli_heap_report *r, const struct kymo_heap_group *group)
{
    const struct kymo_callable callable = {group->name, group->file, group->line,
                                           KYMO_CLASS_FUNCTION};
    return kymo__cli_report_fits(r->filter, &callable);
}

void kymo__cli_heap_more(size_t rest)
{
    if (rest)
        printf("%*s%s… and %s more; --limit shows more%s\n", CLI_INDENT, "",
               kymo__cli_colour(CLI_DIM), kymo__cli_grouped(rest).text,
               kymo__cli_colour(CLI_PLAIN));
}

/* Print the groups of SET. OTHER, another set, has its own column of bytes, called OTHER_TITLE;
   NULL: there is none. */
static void print_groups(const struct cli_heap_report *r, const struct kymo_heap_groups *groups,
                         unsigned set, const char *other_title, unsigned other)
{
    const struct cli_column with[] = {
        {"BYTES", true, CLI_KEEP},
        {"%", true, CLI_KEEP},
        {"BLOCKS", true, CLI_DROP(1)},
        {other_title, true, CLI_DROP(2)},
        {"LINE", false, CLI_CUT_LEFT},
        {"FUNCTION", false, CLI_CUT_LEFT},
        {0},
    };
    const struct cli_column without[] = {
        {"BYTES", true, CLI_KEEP},         {"%", true, CLI_KEEP},
        {"BLOCKS", true, CLI_DROP(1)},     {"LINE", false, CLI_CUT_LEFT},
        {"FUNCTION", false, CLI_CUT_LEFT}, {0},
    };
    uint32_t *order;
    size_t count, shown = 0, left = 0;
    if (!kymo__cli_heap_knows(r, set)) {
        printf("%*sunknown\n", CLI_INDENT, "");
        return;
    }
    if (kymo__heap_groups_order(groups, set, &order, &count) < 0)
        return;
    struct cli_table *table = kymo__cli_table_new(other_title ? with : without);
    for (size_t i = 0; i < count; i++) {
        const struct kymo_heap_group *group = &groups->all[order[i]];
        if (!fits(r, group))
            continue;
        if (shown >= r->limit) {
            left++;
            continue;
        }
        const struct kymo_heap_amount *amount = &group->amount[set];
        struct cli_text bytes = kymo__cli_estimate(amount->bytes, kymo__heap_error(amount));
        struct cli_text share =
            kymo__cli_percent((kymo_ns)amount->bytes, (kymo_ns)r->info.set[set].bytes);
        struct cli_text blocks = count_text(amount->units);
        struct cli_text second = kymo__cli_bytes(group->amount[other].bytes);
        char *place = where(group);
        const char *const cells[] = {bytes.text,  share.text, blocks.text,
                                     second.text, place,      group->name};
        const char *const fewer[] = {bytes.text, share.text, blocks.text, place, group->name};
        kymo__cli_table_add(table, other_title ? cells : fewer);
        kymo__cli_free(place);
        shown++;
    }
    if (shown)
        kymo__cli_table_print(table, CLI_INDENT);
    else if (!left)
        printf("%*snone\n", CLI_INDENT, "");
    kymo__cli_heap_more(left);
    kymo__cli_table_free(table);
    kymo__free(order);
}

static void head(const char *format, const char *kind)
{
    char *title = kymo__cli_format("%s, in bytes %s", format, kind);
    kymo__cli_heading(title);
    kymo__cli_free(title);
}

static void print_held(const struct cli_heap_report *r, const struct kymo_heap_groups *lines)
{
    if (r->held == KYMO_HEAP_AT_TIME) {
        char *title =
            kymo__cli_format("Alive at %s: %s in %s", kymo__cli_duration(r->at).text,
                             kymo__cli_bytes(r->info.set[r->held].bytes).text,
                             kymo__cli_count(r->info.set[r->held].count, "block", "blocks").text);
        head(title, kymo__cli_heap_kind(r, r->held));
        kymo__cli_free(title);
    } else if (r->held == KYMO_HEAP_AT_END) {
        head("Alive at the end", kymo__cli_heap_kind(r, r->held));
    } else {
        head("Who held memory at the peak", kymo__cli_heap_kind(r, r->held));
    }
    print_groups(r, lines, r->held, NULL, r->held);
}

static void print_leaks(const struct cli_heap_report *r, const struct kymo_heap_groups *lines)
{
    unsigned set = r->older_than ? KYMO_HEAP_OLD : KYMO_HEAP_AT_END;
    if (set == r->held)
        return;
    if (r->info.mode == KYMO_HEAP_LIVE && r->older_than) {
        kymo__cli_heading("Alive at the end");
        printf("%*sages are not known: only the live set was recorded\n", CLI_INDENT, "");
        return;
    }
    if (r->older_than) {
        char *title = kymo__cli_format("Alive at the end and at least %s old",
                                       kymo__cli_duration(r->older_than).text);
        head(title, kymo__cli_heap_kind(r, set));
        kymo__cli_free(title);
    } else {
        head("Alive at the end", kymo__cli_heap_kind(r, set));
    }
    print_groups(r, lines, set, NULL, set);
}

static void print_churn(const struct cli_heap_report *r, const struct kymo_heap_groups *lines)
{
    if (r->info.mode == KYMO_HEAP_LIVE)
        return;
    head("Allocated in all", kymo__cli_heap_kind(r, KYMO_HEAP_ALL));
    if (r->info.mode != KYMO_HEAP_EXACT) {
        print_groups(r, lines, KYMO_HEAP_ALL, NULL, KYMO_HEAP_ALL);
        return;
    }
    print_groups(r, lines, KYMO_HEAP_ALL, "TEMPORARY", KYMO_HEAP_TEMPORARY);
    printf("%*s%sTEMPORARY: freed by the same thread within its next 10 allocations%s\n",
           CLI_INDENT, "", kymo__cli_colour(CLI_DIM), kymo__cli_colour(CLI_PLAIN));
}

static void print_libraries(const struct cli_heap_report *r)
{
    const struct cli_column columns[] = {
        {r->held == KYMO_HEAP_AT_TIME ? "AT TIME" : "AT PEAK", true, CLI_KEEP},
        {"%", true, CLI_KEEP},
        {"AT END", true, CLI_KEEP},
        {"ALLOCATED", true, CLI_DROP(1)},
        {"LIBRARY", false, CLI_CUT},
        {0},
    };
    struct kymo_heap_groups groups;
    uint32_t *order = NULL;
    size_t count = 0;
    unsigned by = r->held == KYMO_HEAP_AT_TIME ? r->held : KYMO_HEAP_AT_PEAK;
    if (kymo__heap_groups(&groups, r->heap, &r->names, KYMO__BY_LIBRARY, r->unfold) == 0)
        kymo__heap_groups_order(&groups, by, &order, &count);
    if (count) {
        struct cli_table *table = kymo__cli_table_new(columns);
        for (size_t i = 0; i < count && i < r->limit; i++) {
            const struct kymo_heap_group *group = &groups.all[order[i]];
            struct cli_text peak = kymo__cli_bytes(group->amount[by].bytes);
            struct cli_text share =
                kymo__cli_percent((kymo_ns)group->amount[by].bytes, (kymo_ns)r->info.set[by].bytes);
            struct cli_text end = kymo__cli_bytes(group->amount[KYMO_HEAP_AT_END].bytes);
            struct cli_text all = kymo__cli_bytes(group->amount[KYMO_HEAP_ALL].bytes);
            const char *const cells[] = {
                peak.text,
                share.text,
                kymo__cli_heap_knows(r, KYMO_HEAP_AT_END) ? end.text : "-",
                kymo__cli_heap_knows(r, KYMO_HEAP_ALL) ? all.text : "-",
                group->name,
            };
            kymo__cli_table_add(table, cells);
        }
        head("By library that allocates", kymo__cli_heap_kind(r, by));
        if (r->limit)
            kymo__cli_table_print(table, CLI_INDENT);
        kymo__cli_heap_more(count > r->limit ? count - r->limit : 0);
        kymo__cli_table_free(table);
    }
    kymo__free(order);
    kymo__heap_groups_fini(&groups);
}

static void print_sizes(const struct cli_heap_report *r)
{
    static const struct cli_column columns[] = {
        {"BLOCKS OF", true, CLI_KEEP}, {"AT PEAK", true, CLI_KEEP},  {"BYTES", true, CLI_KEEP},
        {"ALLOCATED", true, CLI_KEEP}, {"BYTES", true, CLI_DROP(1)}, {0},
    };
    enum { SIZES = 8 };
    struct kymo_heap_class class = {.size = sizeof class};
    uint64_t least = 0;
    size_t count = 0, left = 0;
    if (r->info.mode == KYMO_HEAP_LIVE)
        return;
    /* The eight classes with the most bytes, in order of size. */
    for (size_t i = 0; kymo_heap_class(r->heap, i, &class) == 0; i++)
        count += class.all.count != 0;
    while (count > SIZES) {
        least = least ? 2 * least : 1;
        count = 0;
        for (size_t i = 0; kymo_heap_class(r->heap, i, &class) == 0; i++)
            count += class.all.count && class.peak.bytes + class.all.bytes / 64 >= least;
    }
    struct cli_table *table = kymo__cli_table_new(columns);
    bool any = false;
    for (size_t i = 0; kymo_heap_class(r->heap, i, &class) == 0; i++) {
        if (class.all.count && class.peak.bytes + class.all.bytes / 64 < least)
            left++;
        if (!class.all.count || class.peak.bytes + class.all.bytes / 64 < least)
            continue;
        char range[80];
        snprintf(range, sizeof range, "%s%s", kymo__cli_bytes(class.least).text,
                 class.least > 1 ? " and more" : "");
        struct cli_text at = kymo__cli_grouped(class.peak.count);
        struct cli_text bytes = kymo__cli_bytes(class.peak.bytes);
        struct cli_text all = kymo__cli_grouped(class.all.count);
        struct cli_text sum = kymo__cli_bytes(class.all.bytes);
        const char *const cells[] = {range, at.text, bytes.text, all.text, sum.text};
        kymo__cli_table_add(table, cells);
        any = true;
    }
    if (any) {
        kymo__cli_heading("By size of blocks, in bytes requested");
        kymo__cli_table_print(table, CLI_INDENT);
        kymo__cli_left_out(count + left, count);
    }
    kymo__cli_table_free(table);
}

static void print_snapshots(const struct cli_heap_report *r)
{
    struct kymo_heap_snapshot shot = {.size = sizeof shot};
    bool any = false;
    for (size_t i = 0; kymo_heap_snapshot(r->heap, i, &shot) == 0; i++) {
        if (shot.number < 2)
            continue;
        if (!any)
            kymo__cli_heading("Snapshots");
        any = true;
        kymo_ns time = shot.time - r->file.start;
        printf("%*s%s  ", CLI_INDENT, "", kymo__cli_duration(time).text);
        kymo__cli_put_clean(stdout, shot.reason);
        if (shot.rows)
            printf("%s%s in %s", *shot.reason ? "  " : "",
                   kymo__cli_estimate(shot.sum.bytes, shot.sum.error).text,
                   kymo__cli_count(shot.sum.count, "block", "blocks").text);
        printf("%s%s--at %lldns shows it%s\n", *shot.reason || shot.rows ? "  " : "",
               kymo__cli_colour(CLI_DIM), (long long)time, kymo__cli_colour(CLI_PLAIN));
    }
}

void kymo__cli_heap_tables(const struct cli_heap_report *r)
{
    struct kymo_heap_groups lines;
    if (kymo__heap_groups(&lines, r->heap, &r->names, KYMO__BY_LINE, r->unfold) == 0) {
        print_held(r, &lines);
        if (!r->unfold)
            printf("%*s%sWhat libraries allocate counts for the line that calls them; see "
                   "--unfold%s\n",
                   CLI_INDENT, "", kymo__cli_colour(CLI_DIM), kymo__cli_colour(CLI_PLAIN));
        print_leaks(r, &lines);
        print_churn(r, &lines);
    }
    kymo__heap_groups_fini(&lines);
    print_libraries(r);
    print_sizes(r);
    kymo__cli_heap_objects(r);
    print_snapshots(r);
}
