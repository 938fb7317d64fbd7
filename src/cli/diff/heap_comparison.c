/* heap_comparison.c — see heap_comparison.h. */
#include "heap_comparison.h"

#include <kymo/heap.h>
#include <stdio.h>

#include "capture_file.h"
#include "heapdiff.h"
#include "jsonout.h"
#include "memory.h"
#include "message.h"
#include "progress.h"
#include "report_words.h"
#include "table.h"
#include "terminal.h"
#include "text.h"
#include "units.h"
#include "verb.h"

struct sides {
    const char *path[2];
    struct kymo_capture *capture[2];
    struct kymo_info file[2];
    struct kymo_heap *heap[2];
    struct kymo_heap_info info[2];
    bool cut_off[2]; /* what was held at the peak and at the end is unknown */
    struct kymo_stack_names names[2];
    uint64_t limit;
    bool unfold;
};

static int progress(void *arg, uint64_t done, uint64_t all)
{
    kymo__cli_progress_show(arg, done, all);
    return 0;
}

static int read_side(struct sides *s, int side)
{
    int code = kymo__cli_capture_open_uncounted(s->path[side], &s->capture[side], &s->file[side]);
    if (code != CLI_OK)
        return code;
    struct cli_progress line = kymo__cli_progress_begin(side ? "reading the second" : "reading");
    const struct kymo_heap_options options = {
        .size = sizeof options, .at = INT64_MAX, .progress = progress, .progress_arg = &line};
    int error = kymo_heap_new(s->capture[side], &options, &s->heap[side]);
    if (error == 0)
        error = kymo__stack_names_init(&s->names[side], s->capture[side], KYMO_SYMBOL_FULL);
    kymo__cli_progress_end(&line);
    if (error < 0)
        return kymo__cli_capture_broken(s->path[side], error);
    s->info[side].size = sizeof s->info[side];
    kymo_heap_info(s->heap[side], &s->info[side]);
    s->cut_off[side] = kymo__heap_is_cut_off(s->heap[side]);
    if (s->info[side].mode != KYMO_HEAP_NONE)
        return CLI_OK;
    return kymo__cli_capture_no_memory(s->path[side], s->capture[side]);
}

static bool knows(const struct sides *s, int side, unsigned set)
{
    return set == KYMO_HEAP_ALL ? s->info[side].mode != KYMO_HEAP_LIVE : !s->cut_off[side];
}

/* +1.5 MiB, -20 bytes, ±0; of estimates +1.5 MiB ± 512.0 KiB. */
static struct cli_text change_text(const struct kymo_heap_amount *before,
                                   const struct kymo_heap_amount *after)
{
    bool grown = after->bytes > before->bytes;
    const struct kymo_heap_amount by = {
        .bytes = grown ? after->bytes - before->bytes : before->bytes - after->bytes,
        .variance = before->variance + after->variance,
    };
    struct cli_text text;
    if (by.bytes == 0)
        snprintf(text.text, sizeof text.text, "±0");
    else
        snprintf(text.text, sizeof text.text, "%c%.60s", grown ? '+' : '-',
                 kymo__cli_estimate(by.bytes, kymo__heap_error(&by)).text);
    return text;
}

static void print_line(const char *label, const struct kymo_heap_sum *before,
                       const struct kymo_heap_sum *after, const char *kind)
{
    const struct kymo_heap_amount a = {before->bytes, 0, before->error * before->error};
    const struct kymo_heap_amount b = {after->bytes, 0, after->error * after->error};
    kymo__cli_label(label);
    printf("%s → %s %s: %s%s%s\n", kymo__cli_bytes(a.bytes).text, kymo__cli_bytes(b.bytes).text,
           kind, kymo__cli_colour(b.bytes > a.bytes ? CLI_RED : CLI_GREEN),
           change_text(&a, &b).text, kymo__cli_colour(CLI_PLAIN));
}

static const char *kind_of(const struct sides *s, unsigned set)
{
    for (int i = 0; i < 2; i++) {
        const uint64_t *by = set == KYMO_HEAP_AT_END ? s->info[i].end_by : s->info[i].peak_by;
        if (by[KYMO_HEAP_MAPPINGS])
            return "requested and mapped";
    }
    return "requested";
}

/* One line about SET, or about what of it is known. */
static void print_set(const struct sides *s, const char *label, unsigned set)
{
    if (knows(s, 0, set) && knows(s, 1, set)) {
        print_line(label, &s->info[0].set[set], &s->info[1].set[set], kind_of(s, set));
        return;
    }
    struct cli_text text[2];
    for (int i = 0; i < 2; i++)
        text[i] = kymo__cli_bytes(s->info[i].set[set].bytes);
    kymo__cli_label(label);
    printf("%s → %s\n", knows(s, 0, set) ? text[0].text : "unknown",
           knows(s, 1, set) ? text[1].text : "unknown");
}

static void print_summary(const struct sides *s)
{
    const struct kymo_heap_info *a = &s->info[0], *b = &s->info[1];
    for (int i = 0; i < 2; i++) {
        kymo__cli_label(i ? "after" : "before");
        kymo__cli_put_clean(stdout, s->path[i]);
        if (s->info[i].mode == KYMO_HEAP_SAMPLED)
            printf(", one sample every %s: estimates ± standard error",
                   kymo__cli_bytes(s->info[i].rate).text);
        if (s->cut_off[i])
            fputs(", which ended before its live set was written", stdout);
        putchar('\n');
    }
    print_set(s, "peak", KYMO_HEAP_AT_PEAK);
    print_set(s, "at end", KYMO_HEAP_AT_END);
    if (a->mode != KYMO_HEAP_LIVE && b->mode != KYMO_HEAP_LIVE)
        print_line("allocated", &a->set[KYMO_HEAP_ALL], &b->set[KYMO_HEAP_ALL], "requested");
    if (a->resident_most && b->resident_most)
        print_line("resident", &(struct kymo_heap_sum){.bytes = a->resident_most},
                   &(struct kymo_heap_sum){.bytes = b->resident_most}, "at most");
    for (int i = 0; i < 2; i++)
        if (s->info[i].lost || s->info[i].disorder)
            kymo__cli_complain("%s is incomplete; 'kymograph report --memory --check' says why",
                               s->path[i]);
}

static uint64_t magnitude(const struct kymo_heap_change *change, unsigned set)
{
    uint64_t before = change->amount[0][set].bytes, after = change->amount[1][set].bytes;
    return after > before ? after - before : before - after;
}

static size_t count_changed(const struct kymo_heap_diff *diff, unsigned set)
{
    size_t count = 0;
    for (size_t i = 0; i < diff->count; i++)
        count += magnitude(&diff->all[i], set) != 0;
    return count;
}

/* Which COUNT places changed most, in either direction: the first *FIRST and the last *LAST, since
   they are sorted from growth to shrinkage. */
static void choose_changes(const struct kymo_heap_diff *diff, unsigned set, size_t count,
                           size_t *first, size_t *last)
{
    *first = *last = 0;
    while (*first + *last < count) {
        const struct kymo_heap_change *low = &diff->all[diff->count - 1 - *last];
        bool grown = magnitude(&diff->all[*first], set) >= magnitude(low, set);
        ++*(grown ? first : last);
    }
}

static void add_change(struct cli_table *table, const struct kymo_heap_change *change, unsigned set)
{
    const struct kymo_heap_amount *a = &change->amount[0][set], *b = &change->amount[1][set];
    int64_t blocks = (int64_t)(b->units / KYMO__HEAP_UNIT) - (int64_t)(a->units / KYMO__HEAP_UNIT);
    char count[32];
    snprintf(count, sizeof count, "%+lld", (long long)blocks);
    struct cli_text grown = change_text(a, b);
    struct cli_text before = kymo__cli_bytes(a->bytes), after = kymo__cli_bytes(b->bytes);
    const struct kymo_callable at = {change->group->name, change->group->file, change->group->line,
                                     KYMO_CLASS_FUNCTION};
    char *place = kymo__cli_where(&at);
    const char *const cells[] = {grown.text, before.text, after.text,
                                 count,      place,       change->group->name};
    kymo__cli_table_add(table, cells);
    kymo__cli_free(place);
}

static void print_changes(const struct sides *s, struct kymo_heap_diff *diff, unsigned set,
                          const char *title, const char *where)
{
    const struct cli_column columns[] = {
        {"CHANGE", true, CLI_KEEP},
        {"BEFORE", true, CLI_KEEP},
        {"AFTER", true, CLI_KEEP},
        {"BLOCKS", true, CLI_DROP(1)},
        {where, false, CLI_CUT_LEFT},
        {"FUNCTION", false, CLI_CUT_LEFT},
        {0},
    };
    struct cli_table *table = kymo__cli_table_new(columns);
    kymo__heap_diff_sort(diff, set);
    size_t changed = count_changed(diff, set), shown = changed < s->limit ? changed : s->limit;
    size_t first, last;
    choose_changes(diff, set, shown, &first, &last);
    for (size_t i = 0; i < first; i++)
        add_change(table, &diff->all[i], set);
    for (size_t i = diff->count - last; i < diff->count; i++)
        add_change(table, &diff->all[i], set);
    char *heading = kymo__cli_format("%s, in bytes %s", title, kind_of(s, set));
    kymo__cli_heading(heading);
    kymo__cli_free(heading);
    bool known = knows(s, 0, set) && knows(s, 1, set);
    if (known && shown)
        kymo__cli_table_print(table, CLI_INDENT);
    else
        printf("%*s%s\n", CLI_INDENT, "", known ? "no change" : "unknown");
    if (known)
        kymo__cli_left_out(changed, shown);
    kymo__cli_table_free(table);
}

static const struct {
    unsigned set;
    const char *bytes, *error;
} figures[] = {
    {KYMO_HEAP_AT_PEAK, "peak_bytes", "peak_error"},
    {KYMO_HEAP_AT_END, "end_bytes", "end_error"},
    {KYMO_HEAP_ALL, "allocated_bytes", "allocated_error"},
};

static void write_figure(struct kymo_jsonout *json, size_t number, bool known, uint64_t bytes,
                         double error)
{
    if (!known) {
        kymo__jsonout_null(json, figures[number].bytes);
        return;
    }
    kymo__jsonout_uint(json, figures[number].bytes, bytes);
    if (error > 0)
        kymo__jsonout_double(json, figures[number].error, error);
}

static void write_changes(const struct sides *s, struct kymo_jsonout *json,
                          struct kymo_heap_diff *diff, const char *key)
{
    static const char *const words[] = {"before", "after"};
    kymo__heap_diff_sort(diff, KYMO_HEAP_AT_PEAK);
    kymo__jsonout_array(json, key);
    for (size_t i = 0; i < diff->count; i++) {
        const struct kymo_heap_change *change = &diff->all[i];
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_string(json, "name", change->group->name);
        kymo__jsonout_string(json, "file", change->group->file);
        kymo__jsonout_uint(json, "line", change->group->line);
        for (int side = 0; side < 2; side++) {
            const struct kymo_heap_amount *amount = change->amount[side];
            kymo__jsonout_object(json, words[side]);
            for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
                write_figure(json, k, knows(s, side, figures[k].set), amount[figures[k].set].bytes,
                             kymo__heap_error(&amount[figures[k].set]));
            kymo__jsonout_end(json);
        }
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_json(const struct sides *s, struct kymo_heap_diff *functions,
                       struct kymo_heap_diff *lines)
{
    struct kymo_jsonout json = {.out = stdout};
    kymo__jsonout_object(&json, NULL);
    for (int i = 0; i < 2; i++) {
        kymo__jsonout_object(&json, i ? "after" : "before");
        kymo__jsonout_string(&json, "file", s->path[i]);
        kymo__jsonout_string(&json, "mode", kymo__heap_mode_word(s->capture[i]));
        for (size_t k = 0; k < sizeof figures / sizeof *figures; k++)
            write_figure(&json, k, knows(s, i, figures[k].set),
                         s->info[i].set[figures[k].set].bytes,
                         s->info[i].set[figures[k].set].error);
        kymo__jsonout_uint(&json, "resident_most", s->info[i].resident_most);
        kymo__jsonout_end(&json);
    }
    write_changes(s, &json, functions, "functions");
    write_changes(s, &json, lines, "lines");
    kymo__jsonout_end(&json);
    putchar('\n');
}

static int show_sides(struct sides *s, bool as_json)
{
    struct kymo_heap_groups groups[2][2] = {{{0}}}; /* functions and lines, before and after */
    struct kymo_heap_diff functions = {0}, lines = {0};
    int rc = 0;
    for (int side = 0; side < 2; side++) {
        for (int by = 0; rc == 0 && by < 2; by++)
            rc = kymo__heap_groups(&groups[by][side], s->heap[side], &s->names[side],
                                   by ? KYMO__BY_LINE : KYMO__BY_FUNCTION, s->unfold);
        /* A function is the same wherever in its file it begins. */
        for (size_t i = 0; rc == 0 && i < groups[0][side].count; i++)
            groups[0][side].all[i].line = 0;
    }
    if (rc == 0)
        rc = kymo__heap_diff(&functions, &groups[0][0], &groups[0][1]);
    if (rc == 0)
        rc = kymo__heap_diff(&lines, &groups[1][0], &groups[1][1]);
    if (rc < 0) {
        kymo__cli_complain("not enough memory to compare the captures");
    } else if (as_json) {
        write_json(s, &functions, &lines);
    } else {
        print_summary(s);
        print_changes(s, &functions, KYMO_HEAP_AT_PEAK, "Functions at the peak", "WHERE");
        print_changes(s, &functions, KYMO_HEAP_AT_END, "Functions, alive at the end", "WHERE");
        print_changes(s, &lines, KYMO_HEAP_AT_END, "Lines, alive at the end", "LINE");
    }
    kymo__heap_diff_fini(&functions);
    kymo__heap_diff_fini(&lines);
    for (int by = 0; by < 2; by++)
        for (int side = 0; side < 2; side++)
            kymo__heap_groups_fini(&groups[by][side]);
    return rc < 0 ? CLI_BAD : CLI_OK;
}

int kymo__cli_compare_memory(const char *const *paths, uint64_t limit, bool json, bool unfold)
{
    struct sides s = {.path = {paths[0], paths[1]}, .limit = limit, .unfold = unfold};
    int code = CLI_OK;
    for (int i = 0; i < 2 && code == CLI_OK; i++)
        code = read_side(&s, i);
    if (code == CLI_OK)
        code = show_sides(&s, json);
    for (int i = 0; i < 2; i++) {
        kymo__stack_names_fini(&s.names[i]);
        kymo_heap_free(s.heap[i]);
        kymo_close(s.capture[i]);
    }
    return code;
}
