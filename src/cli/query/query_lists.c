/* query_lists.c — the short tables: functions, threads, processes, gaps, info. */
#include <stdio.h>

#include "memory.h"
#include "naming.h"
#include "query.h"

/* A position in a list; starts before its first element. */
struct place {
    struct cli_query *query;
    struct cli_bounds bounds;
    int64_t at, count;
};

static int begin_rows(struct cli_query *query, const struct cli_bounds *bounds, void **state,
                      uint64_t count)
{
    struct place *place = kymo__cli_array(1, sizeof *place);
    *place = (struct place){query, *bounds, -1, (int64_t)count};
    if (bounds->row >= 0) {
        place->at = bounds->row < place->count ? bounds->row - 1 : place->count;
        place->count = bounds->row < place->count ? bounds->row + 1 : place->count;
    }
    *state = place;
    return 0;
}

static int next_row(void *state)
{
    struct place *place = state;
    return ++place->at < place->count;
}

/* -------------------------------------------------------------- functions --- */

static int begin_functions(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    int rc = kymo__cli_query_survey(query);
    return rc < 0 ? rc : begin_rows(query, bounds, state, query->survey->callables.count);
}

static int next_function(void *state)
{
    const struct place *place = state;
    while (next_row(state)) {
        const struct kymo_function_cost *cost = place->query->survey->functions.of[place->at];
        if (cost && kymo__activations(cost))
            return 1;
    }
    return 0;
}

static kymo_ns percentile(const struct kymo_function_cost *cost, double fraction)
{
    /* The middle of a bucket may lie outside the observed range. */
    kymo_ns at = kymo__histogram_at(&cost->lengths, fraction);
    return at > cost->most ? cost->most : at < cost->least ? cost->least : at;
}

enum {
    FUNCTION_ID,
    FUNCTION_NAME,
    FUNCTION_FILE,
    FUNCTION_LINE,
    FUNCTION_KIND,
    FUNCTION_CALLS,
    FUNCTION_RESUMES,
    FUNCTION_SELF,
    FUNCTION_TOTAL,
    FUNCTION_MEAN,
    FUNCTION_MIN,
    FUNCTION_MAX,
    FUNCTION_P50,
    FUNCTION_P99,
};

static void function_column(void *state, sqlite3_context *context, int column)
{
    const struct place *place = state;
    const struct kymo_callable *callable = &place->query->survey->callables.all[place->at];
    const struct kymo_function_cost *cost = place->query->survey->functions.of[place->at];
    sqlite3_int64 value = 0;
    switch (column) {
    case FUNCTION_ID:
        value = place->at;
        break;
    case FUNCTION_NAME:
        kymo__cli_query_text(context, callable->name);
        return;
    case FUNCTION_FILE:
        if (*callable->file)
            kymo__cli_query_text(context, callable->file);
        return;
    case FUNCTION_LINE:
        if (callable->line)
            sqlite3_result_int64(context, callable->line);
        return;
    case FUNCTION_KIND:
        kymo__cli_query_text(context, kymo__cli_name_class(callable->class));
        return;
    case FUNCTION_CALLS:
        value = (sqlite3_int64)cost->calls;
        break;
    case FUNCTION_RESUMES:
        value = (sqlite3_int64)cost->resumes;
        break;
    case FUNCTION_SELF:
        value = cost->self;
        break;
    case FUNCTION_TOTAL:
        value = cost->total;
        break;
    case FUNCTION_MEAN:
        value = kymo__mean(cost, callable->class);
        break;
    case FUNCTION_MIN:
        value = cost->least;
        break;
    case FUNCTION_MAX:
        value = cost->most;
        break;
    case FUNCTION_P50:
        value = percentile(cost, 0.50);
        break;
    case FUNCTION_P99:
        value = percentile(cost, 0.99);
        break;
    }
    sqlite3_result_int64(context, value);
}

const struct cli_query_table kymo__cli_query_functions = {
    .name = "functions",
    .purpose = "the total cost of each function, as in 'kymograph report'",
    .columns = "id INTEGER, name TEXT, file TEXT, line INTEGER, kind TEXT, calls INTEGER, "
               "resumes INTEGER, self_ns INTEGER, total_ns INTEGER, mean_ns INTEGER, "
               "min_ns INTEGER, max_ns INTEGER, p50_ns INTEGER, p99_ns INTEGER",
    .time = -1,
    .thread = -1,
    .numbered = true,
    .begin = begin_functions,
    .next = next_function,
    .column = function_column,
    .end = kymo__cli_free,
};

/* ---------------------------------------------------- threads and processes --- */

static int begin_threads(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    return begin_rows(query, bounds, state, query->info.threads);
}

enum {
    THREAD_THREAD,
    THREAD_TID,
    THREAD_PROCESS,
    THREAD_PID,
    THREAD_NAME,
    THREAD_RECORDS,
    THREAD_LOST,
    THREAD_FIRST,
    THREAD_LAST,
};

static void thread_column(void *state, sqlite3_context *context, int column)
{
    const struct place *place = state;
    struct kymo_thread_info thread = {.size = sizeof thread, .name = ""};
    kymo_capture_thread(place->query->capture, (uint32_t)place->at, &thread);
    kymo_ns start = place->query->info.start;
    if (column == THREAD_NAME) {
        if (*thread.name)
            kymo__cli_query_text(context, thread.name);
        return;
    }
    if ((column == THREAD_FIRST || column == THREAD_LAST) && !thread.records)
        return;
    const sqlite3_int64 values[] = {
        [THREAD_THREAD] = thread.index,
        [THREAD_TID] = thread.tid,
        [THREAD_PROCESS] = thread.process,
        [THREAD_PID] = thread.pid,
        [THREAD_RECORDS] = (sqlite3_int64)thread.records,
        [THREAD_LOST] = (sqlite3_int64)thread.lost,
        [THREAD_FIRST] = thread.first - start,
        [THREAD_LAST] = thread.last - start,
    };
    sqlite3_result_int64(context, values[column]);
}

const struct cli_query_table kymo__cli_query_threads = {
    .name = "threads",
    .purpose = "the threads that recorded",
    .columns = "thread INTEGER, tid INTEGER, process INTEGER, pid INTEGER, name TEXT, "
               "records INTEGER, lost INTEGER, first_ns INTEGER, last_ns INTEGER",
    .time = -1,
    .thread = -1,
    .numbered = true,
    .begin = begin_threads,
    .next = next_row,
    .column = thread_column,
    .end = kymo__cli_free,
};

static int begin_processes(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    return begin_rows(query, bounds, state, query->info.processes);
}

static void process_column(void *state, sqlite3_context *context, int column)
{
    const struct place *place = state;
    struct kymo_process_info process = {.size = sizeof process, .name = "", .machine = ""};
    kymo_capture_process(place->query->capture, (uint32_t)place->at, &process);
    if (column < 2)
        sqlite3_result_int64(context, column == 0 ? process.index : process.pid);
    else if (*(column == 2 ? process.name : process.machine))
        kymo__cli_query_text(context, column == 2 ? process.name : process.machine);
}

const struct cli_query_table kymo__cli_query_processes = {
    .name = "processes",
    .purpose = "the processes; merged captures have several",
    .columns = "process INTEGER, pid INTEGER, name TEXT, machine TEXT",
    .time = -1,
    .thread = -1,
    .begin = begin_processes,
    .next = next_row,
    .column = process_column,
    .end = kymo__cli_free,
};

/* ------------------------------------------------------------------- gaps --- */

static int begin_gaps(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    return begin_rows(query, bounds, state, query->capture->reader->gap_count);
}

enum { GAP_THREAD, GAP_REASON, GAP_RECORDS, GAP_FIRST, GAP_LAST };

static void gap_column(void *state, sqlite3_context *context, int column)
{
    const struct place *place = state;
    uint32_t thread = 0;
    int reason = 0;
    uint64_t count = 0;
    kymo_ns first = 0, last = 0, start = place->query->info.start;
    kymo_capture_gap(place->query->capture, (uint64_t)place->at, &thread, &reason, &count, &first,
                     &last);
    if (column == GAP_REASON)
        kymo__cli_query_text(context, kymo__cli_name_gap(reason).word);
    else
        sqlite3_result_int64(context, column == GAP_THREAD    ? thread
                                      : column == GAP_RECORDS ? (sqlite3_int64)count
                                      : column == GAP_FIRST   ? first - start
                                                              : last - start);
}

const struct cli_query_table kymo__cli_query_gaps = {
    .name = "gaps",
    .purpose = "where records are missing, and why",
    .columns = "thread INTEGER, reason TEXT, records INTEGER, first_ns INTEGER, last_ns INTEGER",
    .time = -1,
    .thread = -1,
    .begin = begin_gaps,
    .next = next_row,
    .column = gap_column,
    .end = kymo__cli_free,
};

/* ------------------------------------------------------------------- info --- */

enum {
    INFO_ENDING,
    INFO_PID,
    INFO_START,
    INFO_WALL,
    INFO_DURATION,
    INFO_RECORDS,
    INFO_LOST,
    INFO_SAMPLES,
    INFOS
};

static int begin_info(struct cli_query *query, const struct cli_bounds *bounds, void **state)
{
    return begin_rows(query, bounds, state, INFOS + query->capture->reader->meta_count);
}

static void info_column(void *state, sqlite3_context *context, int column)
{
    static const char *const names[] = {
        [INFO_ENDING] = "kymograph.ending",
        [INFO_PID] = "kymograph.pid",
        [INFO_START] = "kymograph.monotonic_start_ns",
        [INFO_WALL] = "kymograph.wall_start_ns",
        [INFO_DURATION] = "kymograph.duration_ns",
        [INFO_RECORDS] = "kymograph.records",
        [INFO_LOST] = "kymograph.lost_records",
        [INFO_SAMPLES] = "kymograph.samples",
    };
    const struct place *place = state;
    const struct kymo_info *info = &place->query->info;
    const int64_t numbers[INFOS] = {
        [INFO_PID] = info->pid,
        [INFO_START] = info->start,
        [INFO_WALL] = info->wall_start,
        [INFO_DURATION] = info->end - info->start,
        [INFO_RECORDS] = (int64_t)info->records,
        [INFO_LOST] = (int64_t)info->lost_records,
        [INFO_SAMPLES] = (int64_t)info->samples,
    };
    const char *key = "", *value = "";
    if (place->at >= INFOS) {
        kymo_capture_metadata(place->query->capture, (uint32_t)(place->at - INFOS), &key, &value);
        kymo__cli_query_text(context, column == 0 ? key : value);
    } else if (column == 0) {
        kymo__cli_query_text(context, names[place->at]);
    } else if (place->at == INFO_ENDING) {
        kymo__cli_query_text(context, kymo__cli_name_ending(info->ending).word);
    } else {
        sqlite3_result_int64(context, numbers[place->at]);
    }
}

const struct cli_query_table kymo__cli_query_info = {
    .name = "info",
    .purpose = "facts about the capture, and its metadata",
    .columns = "key TEXT, value",
    .time = -1,
    .thread = -1,
    .begin = begin_info,
    .next = next_row,
    .column = info_column,
    .end = kymo__cli_free,
};

extern const struct cli_query_table kymo__cli_query_slices, kymo__cli_query_args,
    kymo__cli_query_events, kymo__cli_query_counters, kymo__cli_query_samples,
    kymo__cli_query_frames;

const struct cli_query_table *const kymo__cli_query_tables[] = {
    &kymo__cli_query_slices,  &kymo__cli_query_args,      &kymo__cli_query_functions,
    &kymo__cli_query_threads, &kymo__cli_query_counters,  &kymo__cli_query_events,
    &kymo__cli_query_gaps,    &kymo__cli_query_processes, &kymo__cli_query_samples,
    &kymo__cli_query_frames,  &kymo__cli_query_info,      NULL,
};
