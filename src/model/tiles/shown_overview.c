/* shown_overview.c — what there is in a capture: processes, threads, names, gaps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "capture.h"
#include "origin.h"
#include "shown.h"

/* A damaged file may claim any number. */
enum { GAPS_MOST = 20000, NAMES_MOST = 1 << 20 };

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_processes(struct kymo_jsonout *json, const struct kymo_capture *capture,
                          uint64_t count)
{
    kymo__jsonout_array(json, "processes");
    for (uint32_t i = 0; i < count && i < KYMO__SHOWN_THREADS; i++) {
        struct kymo_process_info process = {.size = sizeof(process)};
        if (kymo_capture_process(capture, i, &process) < 0)
            break;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_int(json, "pid", process.pid);
        kymo__jsonout_string(json, "name", process.name);
        kymo__jsonout_string(json, "machine", process.machine);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

/* Threads with the most records first. */
static int compare_threads(const void *a, const void *b)
{
    const struct kymo_thread_info *x = a, *y = b;
    return x->records != y->records ? (x->records < y->records ? 1 : -1)
                                    : (x->index > y->index) - (x->index < y->index);
}

static int compare_indexes(const void *a, const void *b)
{
    const struct kymo_thread_info *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Keep the first of the COUNT threads at THREADS, as many as are shown. Returns their number. */
static uint64_t drop_others(struct kymo_thread_info *threads, uint64_t count)
{
    if (count <= KYMO__SHOWN_THREADS)
        return count;
    qsort(threads, count, sizeof *threads, compare_threads);
    return KYMO__SHOWN_THREADS;
}

/* The threads worth showing, in order of their index; *COUNT becomes their number. NULL if memory is
   short. */
static struct kymo_thread_info *choose_threads(const struct kymo_shown_capture *shown,
                                               uint64_t *count)
{
    enum { ROOM = 2 * KYMO__SHOWN_THREADS }; /* there may be a million */
    uint64_t all = *count, kept = 0;
    struct kymo_thread_info *threads = kymo__alloc_zeroed(ROOM * sizeof *threads);
    if (!threads)
        return NULL;
    for (uint32_t i = 0; i < all; i++) {
        if (shown->chosen && !shown->chosen[i])
            continue;
        if (kept == ROOM)
            kept = drop_others(threads, kept);
        threads[kept].size = sizeof *threads;
        kymo_capture_thread(shown->capture, i, &threads[kept++]);
    }
    kept = drop_others(threads, kept);
    qsort(threads, kept, sizeof *threads, compare_indexes);
    *count = kept;
    return threads;
}

static int put_threads(struct kymo_jsonout *json, const struct kymo_shown_capture *shown)
{
    const kymo_ns origin = shown->origin;
    uint64_t count = shown->info->threads;
    struct kymo_thread_info *threads = choose_threads(shown, &count);
    if (!threads)
        return -ENOMEM;
    kymo__jsonout_array(json, "threads");
    for (uint64_t i = 0; i < count; i++) {
        const struct kymo_thread_info *t = &threads[i];
        const struct kymo_thread_more *known = kymo__thread_more(shown->capture->reader, t->index);
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "thread", t->index);
        kymo__jsonout_int(json, "tid", t->tid);
        kymo__jsonout_string(json, "name", t->name);
        kymo__jsonout_uint(json, "process", t->process);
        kymo__jsonout_uint(json, "records", t->records);
        kymo__jsonout_uint(json, "lost", t->lost);
        kymo__jsonout_int(json, "first", t->records ? t->first - origin : 0);
        kymo__jsonout_int(json, "last", t->records ? t->last - origin : 0);
        kymo__jsonout_bool(json, "device", known->track);
        kymo__jsonout_bool(json, "summaries", known->summaries > 0);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__free(threads);
    return 0;
}

void kymo__shown_names(const struct kymo_callables *callables, struct kymo_jsonout *json)
{
    size_t count = callables->count < NAMES_MOST ? callables->count : NAMES_MOST;
    kymo__jsonout_array(json, "names");
    for (size_t i = 0; i < count; i++) {
        const struct kymo_callable *c = &callables->all[i];
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_string(json, NULL, c->name);
        kymo__jsonout_string(json, NULL, c->file);
        kymo__jsonout_uint(json, NULL, c->line);
        kymo__jsonout_string(json, NULL, kymo_class_word(c->class));
        kymo__jsonout_string(json, NULL, kymo__origin_word(kymo__origin(c)));
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void put_gaps(struct kymo_jsonout *json, const struct kymo_capture *capture, kymo_ns origin)
{
    uint32_t thread;
    int reason;
    uint64_t missing;
    kymo_ns first, last;
    kymo__jsonout_array(json, "gaps");
    for (uint64_t i = 0; i < GAPS_MOST && kymo_capture_gap(capture, i, &thread, &reason, &missing,
                                                           &first, &last) == 0;
         i++) {
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, thread);
        kymo__jsonout_int(json, NULL, first - origin);
        kymo__jsonout_int(json, NULL, last - origin);
        kymo__jsonout_uint(json, NULL, missing);
        kymo__jsonout_string(
            json, NULL,
            reason == KYMO_GAP_FLIGHT ? "expired" : kymo_detail_word(KYMO_GAP, (unsigned)reason));
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

int kymo__shown_overview(const struct kymo_shown_capture *shown, struct kymo_jsonout *json)
{
    const struct kymo_info *info = shown->info;
    kymo__jsonout_object(json, NULL);
    kymo__jsonout_string(json, "file", file_name(shown->path));
    kymo__jsonout_uint(json, "generation", shown->generation);
    kymo__jsonout_string(json, "ending", kymo_ending_word((unsigned)info->ending));
    kymo__jsonout_int(json, "wall_start", info->wall_start);
    kymo__jsonout_int(json, "duration", info->end - shown->origin);
    kymo__jsonout_uint(json, "records", info->records);
    kymo__jsonout_uint(json, "lost", info->lost_records);
    kymo__jsonout_uint(json, "expired", info->expired_records);
    kymo__jsonout_uint(json, "damaged", info->damaged_blocks);
    kymo__jsonout_uint(json, "unknown", info->unknown_parts);
    kymo__jsonout_uint(json, "threads_all", info->threads);
    put_processes(json, shown->capture, info->processes);
    int rc = put_threads(json, shown);
    kymo__shown_names(shown->callables, json);
    put_gaps(json, shown->capture, shown->origin);
    kymo__jsonout_end(json);
    return rc;
}
