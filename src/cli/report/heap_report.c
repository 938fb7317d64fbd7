/* heap_report.c — kymograph report --memory: reads the capture and checks what it says. */
#include "heap_report.h"

#include <string.h>

#include "alloc.h"
#include "capture_file.h"
#include "choice.h"
#include "message.h"
#include "progress.h"
#include "text.h"
#include "units.h"
#include "verb.h"

enum { LIMIT = 10, TREE_LIMIT = 50 };

static int progress(void *arg, uint64_t done, uint64_t all)
{
    kymo__cli_progress_show(arg, done, all);
    return 0;
}

int kymo__cli_heap_gaps(const struct cli_heap_report *r)
{
    int gaps = 0;
    if (r->info.lost) {
        gaps++;
        kymo__cli_complain("%s: incomplete: %s lost", r->path,
                           kymo__cli_count(r->info.lost, "event was", "events were").text);
    }
    if (*r->info.missed && strcmp(r->info.missed, "0") != 0) {
        gaps++;
        kymo__cli_complain("%s: incomplete: the recorder could not see everything: %s", r->path,
                           r->info.missed);
    }
    const char *stacks = kymo__heap_metadata(r->capture, "stacks.missing");
    if (*stacks && strcmp(stacks, "0") != 0) {
        gaps++;
        kymo__cli_complain("%s: incomplete: %s stacks found no room", r->path, stacks);
    }
    if (r->info.disorder) {
        gaps++;
        kymo__cli_complain("%s: out of order: %s at an address that was in use", r->path,
                           kymo__cli_count(r->info.disorder, "allocation", "allocations").text);
    }
    if (r->file.damaged_blocks) {
        gaps++;
        kymo__cli_complain(
            "%s: incomplete: %s cannot be read", r->path,
            kymo__cli_count(r->file.damaged_blocks, "damaged block", "damaged blocks").text);
    }
    if (r->file.unknown_parts)
        gaps++; /* said when it was opened */
    if (r->file.expired_records) {
        gaps++;
        kymo__cli_complain(
            "%s: incomplete: the flight recorder dropped %s", r->path,
            kymo__cli_count(r->file.expired_records, "older event", "older events").text);
    }
    if (r->file.ending != KYMO_ENDED_CLEAN) {
        gaps++;
        kymo__cli_complain("%s: incomplete: %s", r->path,
                           r->file.ending == KYMO_ENDED_RUNNING ? "it is still being recorded"
                           : r->file.ending == KYMO_ENDED_KILLED
                               ? "the process ended before the recording stopped"
                               : "writing failed during the recording");
    }
    return gaps;
}

bool kymo__cli_heap_knows(const struct cli_heap_report *r, unsigned set)
{
    switch (set) {
    case KYMO_HEAP_AT_PEAK:
    case KYMO_HEAP_AT_END:
        return !r->cut_off;
    case KYMO_HEAP_TEMPORARY:
        return r->info.mode == KYMO_HEAP_EXACT;
    case KYMO_HEAP_OLD:
    case KYMO_HEAP_ALL:
        return r->info.mode != KYMO_HEAP_LIVE;
    default:
        return true;
    }
}

/* A live set has no history, but snapshots. False after a message if none was taken by r->at. */
static bool has_snapshot(const struct cli_heap_report *r)
{
    struct kymo_heap_snapshot shot = {.size = sizeof shot};
    kymo_ns first = INT64_MAX;
    for (size_t i = 0; kymo_heap_snapshot(r->heap, i, &shot) == 0; i++)
        if (shot.number > 1 && shot.time < first)
            first = shot.time;
    if (first == INT64_MAX)
        kymo__cli_complain("%s has only the live set at its end and its peak, so --at does not "
                           "apply; take snapshots, or record without --memory=live",
                           r->path);
    else if (first - r->file.start > r->at)
        kymo__cli_complain("%s has no snapshot before %s; the first is at %s", r->path,
                           kymo__cli_duration(r->at).text,
                           kymo__cli_duration(first - r->file.start).text);
    return first <= kymo__cli_moment(r->file.start, r->at);
}

static bool read_time(const char *option, const char *text, kymo_ns *time)
{
    if (!text || kymo__cli_read_duration(text, time))
        return true;
    kymo__cli_complain("%s %s is not a time; write %s 1.5s", option, text, option);
    return false;
}

static int read_heap(struct cli_heap_report *r, bool at)
{
    struct cli_progress line = kymo__cli_progress_begin("reading");
    const struct kymo_heap_options options = {
        .size = sizeof options,
        .at = at ? kymo__cli_moment(r->file.start, r->at) : INT64_MAX,
        .older_than = r->older_than,
        .progress = progress,
        .progress_arg = &line,
    };
    int error = kymo_heap_new(r->capture, &options, &r->heap);
    if (error == 0) {
        r->info.size = sizeof r->info;
        kymo_heap_info(r->heap, &r->info);
        /* Damage is found while reading. */
        kymo_capture_info(r->capture, &r->file);
        r->cut_off = kymo__heap_is_cut_off(r->heap);
        error = kymo__stack_names_init(&r->names, r->capture, KYMO_SYMBOL_FULL);
    }
    kymo__cli_progress_end(&line);
    return error < 0 ? kymo__cli_capture_broken(r->path, error) : CLI_OK;
}

static int show_heap(struct cli_heap_report *r, const struct cli_heap_wish *wish)
{
    if (r->info.mode == KYMO_HEAP_NONE)
        return kymo__cli_capture_no_memory(r->path, r->capture);
    bool at = r->held == KYMO_HEAP_AT_TIME;
    if (at && r->info.mode == KYMO_HEAP_LIVE && !has_snapshot(r))
        return CLI_BAD;
    if (at && r->at > r->file.end - r->file.start) {
        kymo__cli_complain("%s ends at %s, before --at %s", r->path,
                           kymo__cli_duration(r->file.end - r->file.start).text, wish->at);
        r->at = r->file.end - r->file.start;
    }
    if (wish->json)
        kymo__cli_heap_json(r);
    else
        kymo__cli_heap_text(r);
    return wish->check && kymo__cli_heap_gaps(r) ? CLI_NO : CLI_OK;
}

/* Which set --at TEXT asks for. JSON has those at the peak and at the end in any case. */
static unsigned set_of(const char *text, bool json)
{
    if (!text || strcmp(text, "peak") == 0)
        return KYMO_HEAP_AT_PEAK;
    if (strcmp(text, "end") == 0)
        return json ? KYMO_HEAP_AT_PEAK : KYMO_HEAP_AT_END;
    return KYMO_HEAP_AT_TIME;
}

int kymo__cli_report_memory(const char *path, const struct cli_heap_wish *wish)
{
    struct cli_heap_report r = {
        .path = path,
        .held = set_of(wish->at, wish->json),
        .limit = wish->json   ? UINT64_MAX
                 : wish->tree ? TREE_LIMIT
                              : LIMIT,
        .threshold = wish->threshold,
        .filter = wish->filter,
        .unfold = wish->unfold,
        .tree = wish->tree,
    };
    bool at = r.held == KYMO_HEAP_AT_TIME;
    if (!read_time("--at", at ? wish->at : NULL, &r.at) ||
        !read_time("--older-than", wish->older_than, &r.older_than) ||
        !kymo__cli_choose_limit(wish->limit, &r.limit))
        return CLI_BAD;
    int code = kymo__cli_capture_open_uncounted(path, &r.capture, &r.file);
    if (code != CLI_OK)
        return code;
    code = read_heap(&r, at);
    if (code == CLI_OK)
        code = show_heap(&r, wish);
    kymo__stack_names_fini(&r.names);
    kymo_heap_free(r.heap);
    kymo_close(r.capture);
    return code;
}
