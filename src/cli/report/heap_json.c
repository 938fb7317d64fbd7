/* heap_json.c — the output of `kymograph report --memory --json`: one object on one line. Its fields
   are documented in docs/report.md and are stable. */
#include <stdio.h>

#include "alloc.h"
#include "heap_report.h"
#include "json.h"
#include "memory.h"
#include "naming.h"

static const char *const set_words[KYMO_HEAP_SETS] = {
    [KYMO_HEAP_AT_PEAK] = "at_peak", [KYMO_HEAP_AT_END] = "at_end",
    [KYMO_HEAP_AT_TIME] = "at_time", [KYMO_HEAP_OLD] = "old",
    [KYMO_HEAP_ALL] = "allocated",   [KYMO_HEAP_TEMPORARY] = "temporary",
};

static void write_sum(struct cli_json *json, const char *key, const struct kymo_heap_sum *sum)
{
    kymo__cli_json_object(json, key);
    kymo__cli_json_uint(json, "bytes", sum->bytes);
    kymo__cli_json_uint(json, "blocks", sum->count);
    if (sum->error > 0)
        kymo__cli_json_double(json, "error", sum->error);
    kymo__cli_json_end(json);
}

static void write_categories(struct cli_json *json, const char *key, const uint64_t *bytes)
{
    kymo__cli_json_object(json, key);
    for (unsigned i = 0; i < KYMO_HEAP_CATEGORIES; i++)
        kymo__cli_json_uint(json, kymo_heap_category_word(i), bytes[i]);
    kymo__cli_json_end(json);
}

static void write_totals(struct cli_json *json, const struct cli_heap_report *r)
{
    const struct kymo_heap_info *info = &r->info;
    kymo__cli_json_string(json, "mode", kymo__heap_mode_word(r->capture));
    if (info->rate)
        kymo__cli_json_uint(json, "rate", info->rate);
    kymo__cli_json_string(json, "domains", kymo__heap_metadata(r->capture, KYMO__HEAP_DOMAINS));
    kymo__cli_json_string(json, "stacks", kymo__heap_metadata(r->capture, KYMO__HEAP_STACKS));
    kymo__cli_json_uint(json, "events", info->events);
    kymo__cli_json_uint(json, "allocations", info->allocations);
    kymo__cli_json_uint(json, "frees", info->frees);
    kymo__cli_json_uint(json, "reallocations", info->reallocations);
    kymo__cli_json_uint(json, "mappings", info->mappings);
    kymo__cli_json_uint(json, "unmappings", info->unmappings);
    kymo__cli_json_uint(json, "unknown_frees", info->unknown_frees);
    kymo__cli_json_uint(json, "disorder", info->disorder);
    kymo__cli_json_uint(json, "lost", info->lost);
    kymo__cli_json_string(json, "missed", info->missed);
    if (info->peak_time)
        kymo__cli_json_int(json, "peak_ns", info->peak_time - r->file.start);
    else
        kymo__cli_json_null(json, "peak_ns");
    if (r->held == KYMO_HEAP_AT_TIME)
        kymo__cli_json_int(json, "at_ns", r->at);
    for (unsigned set = 0; set < KYMO_HEAP_SETS; set++)
        if (set != KYMO_HEAP_AT_TIME || r->held == set)
            write_sum(json, set_words[set], &info->set[set]);
    write_categories(json, "peak_by_category", info->peak_by);
    write_categories(json, "end_by_category", info->end_by);
    kymo__cli_json_object(json, "resident");
    kymo__cli_json_uint(json, "start", info->resident_start);
    kymo__cli_json_uint(json, "most", info->resident_most);
    kymo__cli_json_uint(json, "at_peak", info->resident_at_peak);
    kymo__cli_json_uint(json, "end", info->resident_end);
    kymo__cli_json_end(json);
}

static void write_group(struct cli_json *json, const struct kymo_heap_group *group,
                        enum kymo_heap_by by)
{
    kymo__cli_json_object(json, NULL);
    kymo__cli_json_string(json, "name", group->name);
    if (by != KYMO__BY_LIBRARY) {
        kymo__cli_json_string(json, "file", group->file);
        kymo__cli_json_uint(json, "line", group->line);
        kymo__cli_json_string(json, "origin", kymo__origin_word(group->origin));
    }
    for (unsigned set = 0; set < KYMO_HEAP_SETS; set++) {
        const struct kymo_heap_amount *amount = &group->amount[set];
        const struct kymo_heap_sum sum = {amount->bytes,
                                          (amount->units + KYMO__HEAP_UNIT / 2) / KYMO__HEAP_UNIT,
                                          kymo__heap_error(amount)};
        if (sum.bytes || sum.count)
            write_sum(json, set_words[set], &sum);
    }
    kymo__cli_json_end(json);
}

/* Those that held something at the peak first, then those with something at the end, then the
   others; the largest of each first. */
static void write_groups(struct cli_json *json, const struct cli_heap_report *r, const char *key,
                         enum kymo_heap_by by)
{
    static const unsigned sets[] = {KYMO_HEAP_AT_PEAK, KYMO_HEAP_AT_END, KYMO_HEAP_ALL};
    struct kymo_heap_groups groups;
    uint64_t written = 0;
    kymo__cli_json_array(json, key);
    int rc = kymo__heap_groups(&groups, r->heap, &r->names, by, r->unfold);
    bool *done = kymo__cli_array(groups.count + 1, sizeof *done);
    for (size_t s = 0; rc == 0 && s < sizeof sets / sizeof *sets; s++) {
        uint32_t *order;
        size_t count;
        rc = kymo__heap_groups_order(&groups, sets[s], &order, &count);
        for (size_t i = 0; i < count && written < r->limit; i++) {
            if (!done[order[i]]) {
                write_group(json, &groups.all[order[i]], by);
                written++;
            }
            done[order[i]] = true;
        }
        kymo__free(order);
    }
    kymo__cli_free(done);
    kymo__heap_groups_fini(&groups);
    kymo__cli_json_end(json);
}

static void write_frames(struct cli_json *json, const struct cli_heap_report *r, uint32_t stack)
{
    enum { MOST = 256 };
    struct kymo_named_frame *frames = kymo__cli_array(MOST, sizeof *frames);
    size_t count = stack ? kymo_stack_named(&r->names, stack, frames, MOST) : 0;
    kymo__cli_json_array(json, "frames");
    for (size_t i = 0; i < count && i < MOST; i++) {
        kymo__cli_json_object(json, NULL);
        kymo__cli_json_string(json, "name", frames[i].name);
        kymo__cli_json_string(json, "file", *frames[i].file ? frames[i].file : frames[i].module);
        kymo__cli_json_uint(json, "line", frames[i].line);
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
    kymo__cli_free(frames);
}

static void write_stacks(struct cli_json *json, const struct cli_heap_report *r, const char *key,
                         unsigned set)
{
    struct kymo_heap_row row = {.size = sizeof row};
    kymo__cli_json_array(json, key);
    for (size_t i = 0; i < r->limit && kymo_heap_row(r->heap, set, i, &row) == 0; i++) {
        kymo__cli_json_object(json, NULL);
        kymo__cli_json_uint(json, "bytes", row.sum.bytes);
        kymo__cli_json_uint(json, "blocks", row.sum.count);
        if (row.sum.error > 0)
            kymo__cli_json_double(json, "error", row.sum.error);
        kymo__cli_json_string(json, "function", row.function);
        kymo__cli_json_string(json, "category", kymo_heap_category_word(row.category));
        write_frames(json, r, row.stack);
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
}

static void write_timeline(struct cli_json *json, const struct cli_heap_report *r)
{
    struct kymo_heap_point point = {.size = sizeof point};
    kymo__cli_json_array(json, "timeline");
    for (size_t i = 0; kymo_heap_point(r->heap, i, &point) == 0; i++) {
        kymo__cli_json_object(json, NULL);
        kymo__cli_json_int(json, "time_ns", point.time - r->file.start);
        write_categories(json, "bytes", point.bytes);
        kymo__cli_json_uint(json, "resident", point.resident);
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
}

static void write_sizes(struct cli_json *json, const struct cli_heap_report *r)
{
    struct kymo_heap_class class = {.size = sizeof class};
    kymo__cli_json_array(json, "sizes");
    for (size_t i = 0; kymo_heap_class(r->heap, i, &class) == 0; i++) {
        if (!class.all.count)
            continue;
        kymo__cli_json_object(json, NULL);
        kymo__cli_json_uint(json, "least", class.least);
        write_sum(json, "at_peak", &class.peak);
        write_sum(json, "at_end", &class.end);
        write_sum(json, "allocated", &class.all);
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
}

static void write_objects(struct cli_json *json, const struct cli_heap_report *r)
{
    struct kymo_heap_object object = {.size = sizeof object};
    kymo__cli_json_array(json, "objects");
    for (size_t i = 0; kymo_heap_object(r->heap, i, &object) == 0; i++) {
        kymo__cli_json_object(json, NULL);
        kymo__cli_json_uint(json, "snapshot", object.snapshot);
        kymo__cli_json_string(json, "type", object.type);
        kymo__cli_json_uint(json, "count", object.count);
        kymo__cli_json_uint(json, "bytes", object.bytes);
        kymo__cli_json_string(json, "path", object.path);
        write_frames(json, r, object.stack);
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
}

static void write_snapshots(struct cli_json *json, const struct cli_heap_report *r)
{
    struct kymo_heap_snapshot shot = {.size = sizeof shot};
    kymo__cli_json_array(json, "snapshots");
    for (size_t i = 0; kymo_heap_snapshot(r->heap, i, &shot) == 0; i++) {
        kymo__cli_json_object(json, NULL);
        kymo__cli_json_uint(json, "number", shot.number);
        kymo__cli_json_int(json, "time_ns", shot.time - r->file.start);
        kymo__cli_json_string(json, "reason", shot.reason);
        if (shot.rows)
            write_sum(json, "held", &shot.sum);
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
}

void kymo__cli_heap_json(const struct cli_heap_report *r)
{
    struct cli_json json = {.out = stdout};
    kymo__cli_json_object(&json, NULL);
    kymo__cli_json_string(&json, "file", r->path);
    kymo__cli_json_string(&json, "ending", kymo__cli_name_ending(r->file.ending).word);
    kymo__cli_json_int(&json, "duration_ns", r->file.end - r->file.start);
    write_totals(&json, r);
    write_groups(&json, r, "lines", KYMO__BY_LINE);
    write_groups(&json, r, "functions", KYMO__BY_FUNCTION);
    write_groups(&json, r, "libraries", KYMO__BY_LIBRARY);
    write_stacks(&json, r, r->held == KYMO_HEAP_AT_TIME ? "stacks_at_time" : "stacks_at_peak",
                 r->held);
    write_stacks(&json, r, "stacks_at_end", r->older_than ? KYMO_HEAP_OLD : KYMO_HEAP_AT_END);
    write_sizes(&json, r);
    write_timeline(&json, r);
    write_objects(&json, r);
    write_snapshots(&json, r);
    kymo__cli_json_end(&json);
    putchar('\n');
}
