/* heap_json.c — the output of `kymograph report --memory --json`: one object on one line. Its fields
   are documented in docs/report.md and are stable. */
#include <stdio.h>

#include "alloc.h"
#include "heap_report.h"
#include "jsonout.h"
#include "memory.h"
#include "naming.h"

static const char *const set_words[KYMO_HEAP_SETS] = {
    [KYMO_HEAP_AT_PEAK] = "at_peak", [KYMO_HEAP_AT_END] = "at_end",
    [KYMO_HEAP_AT_TIME] = "at_time", [KYMO_HEAP_OLD] = "old",
    [KYMO_HEAP_ALL] = "allocated",   [KYMO_HEAP_TEMPORARY] = "temporary",
};

static void write_sum(struct kymo_jsonout *json, const char *key, const struct kymo_heap_sum *sum)
{
    kymo__jsonout_object(json, key);
    kymo__jsonout_uint(json, "bytes", sum->bytes);
    kymo__jsonout_uint(json, "blocks", sum->count);
    if (sum->error > 0)
        kymo__jsonout_double(json, "error", sum->error);
    kymo__jsonout_end(json);
}

static void write_categories(struct kymo_jsonout *json, const char *key, const uint64_t *bytes)
{
    kymo__jsonout_object(json, key);
    for (unsigned i = 0; i < KYMO_HEAP_CATEGORIES; i++)
        kymo__jsonout_uint(json, kymo_heap_category_word(i), bytes[i]);
    kymo__jsonout_end(json);
}

static void write_totals(struct kymo_jsonout *json, const struct cli_heap_report *r)
{
    const struct kymo_heap_info *info = &r->info;
    kymo__jsonout_string(json, "mode", kymo__heap_mode_word(r->capture));
    if (info->rate)
        kymo__jsonout_uint(json, "rate", info->rate);
    kymo__jsonout_string(json, "domains", kymo__heap_metadata(r->capture, KYMO__HEAP_DOMAINS));
    kymo__jsonout_string(json, "stacks", kymo__heap_metadata(r->capture, KYMO__HEAP_STACKS));
    kymo__jsonout_uint(json, "events", info->events);
    kymo__jsonout_uint(json, "allocations", info->allocations);
    kymo__jsonout_uint(json, "frees", info->frees);
    kymo__jsonout_uint(json, "reallocations", info->reallocations);
    kymo__jsonout_uint(json, "mappings", info->mappings);
    kymo__jsonout_uint(json, "unmappings", info->unmappings);
    kymo__jsonout_uint(json, "unknown_frees", info->unknown_frees);
    kymo__jsonout_uint(json, "unseen_frees", info->unseen_frees);
    kymo__jsonout_uint(json, "disorder", info->disorder);
    kymo__jsonout_uint(json, "lost", info->lost);
    kymo__jsonout_string(json, "missed", info->missed);
    if (info->peak_time)
        kymo__jsonout_int(json, "peak_ns", info->peak_time - r->file.start);
    else
        kymo__jsonout_null(json, "peak_ns");
    if (info->mapped_most) {
        kymo__jsonout_object(json, "mapped_most");
        kymo__jsonout_uint(json, "bytes", info->mapped_most);
        kymo__jsonout_int(json, "time_ns", info->mapped_most_time - r->file.start);
        kymo__jsonout_end(json);
    } else {
        kymo__jsonout_null(json, "mapped_most");
    }
    if (r->held == KYMO_HEAP_AT_TIME)
        kymo__jsonout_int(json, "at_ns", r->at);
    for (unsigned set = 0; set < KYMO_HEAP_SETS; set++)
        if (!kymo__cli_heap_knows(r, set))
            kymo__jsonout_null(json, set_words[set]);
        else if (set != KYMO_HEAP_AT_TIME || r->held == set)
            write_sum(json, set_words[set], &info->set[set]);
    write_categories(json, "peak_by_category", info->peak_by);
    write_categories(json, "end_by_category", info->end_by);
    kymo__jsonout_object(json, "resident");
    kymo__jsonout_uint(json, "start", info->resident_start);
    kymo__jsonout_uint(json, "most", info->resident_most);
    kymo__jsonout_uint(json, "at_peak", info->resident_at_peak);
    kymo__jsonout_uint(json, "end", info->resident_end);
    kymo__jsonout_end(json);
}

static void write_group(struct kymo_jsonout *json, const struct kymo_heap_group *group,
                        enum kymo_heap_by by)
{
    kymo__jsonout_object(json, NULL);
    kymo__jsonout_string(json, "name", group->name);
    if (by != KYMO__BY_LIBRARY) {
        kymo__jsonout_string(json, "file", group->file);
        kymo__jsonout_uint(json, "line", group->line);
        kymo__jsonout_string(json, "origin", kymo__origin_word(group->origin));
    }
    for (unsigned set = 0; set < KYMO_HEAP_SETS; set++) {
        const struct kymo_heap_amount *amount = &group->amount[set];
        const struct kymo_heap_sum sum = {amount->bytes,
                                          (amount->units + KYMO__HEAP_UNIT / 2) / KYMO__HEAP_UNIT,
                                          kymo__heap_error(amount)};
        if (sum.bytes || sum.count)
            write_sum(json, set_words[set], &sum);
    }
    kymo__jsonout_end(json);
}

/* Those that held something at the time of --at or at the peak first, then those with something at the
   end, then the others; the largest of each first. */
static void write_groups(struct kymo_jsonout *json, const struct cli_heap_report *r,
                         const char *key, enum kymo_heap_by by)
{
    const unsigned sets[] = {r->held, KYMO_HEAP_AT_PEAK, KYMO_HEAP_AT_END, KYMO_HEAP_ALL};
    struct kymo_heap_groups groups;
    uint64_t written = 0;
    kymo__jsonout_array(json, key);
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
    kymo__jsonout_end(json);
}

static void write_frames(struct kymo_jsonout *json, const struct cli_heap_report *r, uint32_t stack)
{
    enum { MOST = 256 };
    struct kymo_named_frame *frames = kymo__cli_array(MOST, sizeof *frames);
    size_t count = stack ? kymo_stack_named(&r->names, stack, frames, MOST) : 0;
    kymo__jsonout_array(json, "frames");
    for (size_t i = 0; i < count && i < MOST; i++) {
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_string(json, "name", frames[i].name);
        kymo__jsonout_string(json, "file", *frames[i].file ? frames[i].file : frames[i].module);
        kymo__jsonout_uint(json, "line", frames[i].line);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__cli_free(frames);
}

static void write_stacks(struct kymo_jsonout *json, const struct cli_heap_report *r,
                         const char *key, unsigned set)
{
    struct kymo_heap_row row = {.size = sizeof row};
    kymo__jsonout_array(json, key);
    for (size_t i = 0; i < r->limit && kymo_heap_row(r->heap, set, i, &row) == 0; i++) {
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "bytes", row.sum.bytes);
        kymo__jsonout_uint(json, "blocks", row.sum.count);
        if (row.sum.error > 0)
            kymo__jsonout_double(json, "error", row.sum.error);
        kymo__jsonout_string(json, "function", row.function);
        kymo__jsonout_string(json, "category", kymo_heap_category_word(row.category));
        write_frames(json, r, row.stack);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_timeline(struct kymo_jsonout *json, const struct cli_heap_report *r)
{
    struct kymo_heap_point point = {.size = sizeof point};
    kymo__jsonout_array(json, "timeline");
    for (size_t i = 0; kymo_heap_point(r->heap, i, &point) == 0; i++) {
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_int(json, "time_ns", point.time - r->file.start);
        if (r->info.mode == KYMO_HEAP_LIVE)
            kymo__jsonout_null(json, "bytes");
        else
            write_categories(json, "bytes", point.bytes);
        kymo__jsonout_uint(json, "resident", point.resident);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_sizes(struct kymo_jsonout *json, const struct cli_heap_report *r)
{
    struct kymo_heap_class class = {.size = sizeof class};
    kymo__jsonout_array(json, "sizes");
    for (size_t i = 0; kymo_heap_class(r->heap, i, &class) == 0; i++) {
        if (!class.all.count)
            continue;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "least", class.least);
        write_sum(json, "at_peak", &class.peak);
        write_sum(json, "at_end", &class.end);
        write_sum(json, "allocated", &class.all);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_objects(struct kymo_jsonout *json, const struct cli_heap_report *r)
{
    struct kymo_heap_object object = {.size = sizeof object};
    kymo__jsonout_array(json, "objects");
    for (size_t i = 0; kymo_heap_object(r->heap, i, &object) == 0; i++) {
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "snapshot", object.snapshot);
        kymo__jsonout_string(json, "type", object.type);
        kymo__jsonout_uint(json, "count", object.count);
        kymo__jsonout_uint(json, "bytes", object.bytes);
        kymo__jsonout_uint(json, "owned", object.owned);
        kymo__jsonout_string(json, "path", object.path);
        write_frames(json, r, object.stack);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void write_snapshots(struct kymo_jsonout *json, const struct cli_heap_report *r)
{
    struct kymo_heap_snapshot shot = {.size = sizeof shot};
    kymo__jsonout_array(json, "snapshots");
    for (size_t i = 0; kymo_heap_snapshot(r->heap, i, &shot) == 0; i++) {
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "number", shot.number);
        kymo__jsonout_int(json, "time_ns", shot.time - r->file.start);
        kymo__jsonout_string(json, "reason", shot.reason);
        if (shot.rows)
            write_sum(json, "held", &shot.sum);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

void kymo__cli_heap_json(const struct cli_heap_report *r)
{
    struct kymo_jsonout json = {.out = stdout};
    kymo__jsonout_object(&json, NULL);
    kymo__jsonout_string(&json, "file", r->path);
    kymo__jsonout_string(&json, "ending", kymo__cli_name_ending(r->file.ending).word);
    kymo__jsonout_int(&json, "duration_ns", r->file.end - r->file.start);
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
    kymo__jsonout_end(&json);
    putchar('\n');
}
