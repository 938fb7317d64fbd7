/* answer_overview.c — what there is: captures, processes, threads, names, gaps. */
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "capture.h"
#include "memory.h"
#include "origin.h"

/* More would be of no use on a screen, and a damaged file may claim any number. */
enum { THREADS_MOST = 4000, GAPS_MOST = 20000, NAMES_MOST = 1 << 20 };

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_processes(struct cli_json *json, const struct kymo_capture *capture, uint64_t count)
{
    kymo__cli_json_array(json, "processes");
    for (uint32_t i = 0; i < count && i < THREADS_MOST; i++) {
        struct kymo_process_info process = {.size = sizeof(process)};
        if (kymo_capture_process(capture, i, &process) < 0)
            break;
        kymo__cli_json_object(json, NULL);
        kymo__cli_json_int(json, "pid", process.pid);
        kymo__cli_json_string(json, "name", process.name);
        kymo__cli_json_string(json, "machine", process.machine);
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
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

/* The threads worth showing, in order of their index; *COUNT becomes their number. */
static struct kymo_thread_info *choose_threads(const struct kymo_capture *capture, uint64_t *count)
{
    uint64_t all = *count;
    struct kymo_thread_info *threads = kymo__cli_array(all + 1, sizeof *threads);
    for (uint32_t i = 0; i < all; i++) {
        threads[i].size = sizeof *threads;
        kymo_capture_thread(capture, i, &threads[i]);
    }
    if (all > THREADS_MOST) {
        qsort(threads, all, sizeof *threads, compare_threads);
        *count = THREADS_MOST;
        qsort(threads, *count, sizeof *threads, compare_indexes);
    }
    return threads;
}

static void put_threads(struct cli_json *json, const struct kymo_capture *capture, kymo_ns origin,
                        uint64_t count)
{
    struct kymo_thread_info *threads = choose_threads(capture, &count);
    kymo__cli_json_array(json, "threads");
    for (uint64_t i = 0; i < count; i++) {
        const struct kymo_thread_info *t = &threads[i];
        const struct kymo_reader_thread *known = &capture->reader->threads[t->index];
        kymo__cli_json_object(json, NULL);
        kymo__cli_json_uint(json, "thread", t->index);
        kymo__cli_json_int(json, "tid", t->tid);
        kymo__cli_json_string(json, "name", t->name);
        kymo__cli_json_uint(json, "process", t->process);
        kymo__cli_json_uint(json, "records", t->records);
        kymo__cli_json_uint(json, "lost", t->lost);
        kymo__cli_json_int(json, "first", t->records ? t->first - origin : 0);
        kymo__cli_json_int(json, "last", t->records ? t->last - origin : 0);
        kymo__cli_json_bool(json, "device", known->track);
        kymo__cli_json_bool(json, "summaries", known->summaries > 0);
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
    kymo__cli_free(threads);
}

/* Files are numbered, because many names share one. */
static void put_names(struct cli_json *json, const struct kymo_callables *callables)
{
    size_t count = callables->count < NAMES_MOST ? callables->count : NAMES_MOST;
    kymo__cli_json_array(json, "names");
    for (size_t i = 0; i < count; i++) {
        const struct kymo_callable *c = &callables->all[i];
        kymo__cli_json_array(json, NULL);
        kymo__cli_json_string(json, NULL, c->name);
        kymo__cli_json_string(json, NULL, c->file);
        kymo__cli_json_uint(json, NULL, c->line);
        kymo__cli_json_string(json, NULL, kymo_class_word(c->class));
        kymo__cli_json_string(json, NULL, kymo__origin_word(kymo__origin(c)));
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
}

static void put_gaps(struct cli_json *json, const struct kymo_capture *capture, kymo_ns origin)
{
    uint32_t thread;
    int reason;
    uint64_t missing;
    kymo_ns first, last;
    kymo__cli_json_array(json, "gaps");
    for (uint64_t i = 0; i < GAPS_MOST && kymo_capture_gap(capture, i, &thread, &reason, &missing,
                                                           &first, &last) == 0;
         i++) {
        kymo__cli_json_array(json, NULL);
        kymo__cli_json_uint(json, NULL, thread);
        kymo__cli_json_int(json, NULL, first - origin);
        kymo__cli_json_int(json, NULL, last - origin);
        kymo__cli_json_uint(json, NULL, missing);
        kymo__cli_json_string(
            json, NULL,
            reason == KYMO_GAP_FLIGHT ? "expired" : kymo_detail_word(KYMO_GAP, (unsigned)reason));
        kymo__cli_json_end(json);
    }
    kymo__cli_json_end(json);
}

static void put_capture(struct cli_json *json, struct view *view, unsigned which,
                        const struct view_state *state)
{
    const struct kymo_info *info = &state->info;
    kymo__cli_json_object(json, NULL);
    kymo__cli_json_string(json, "file", file_name(view->path[which]));
    kymo__cli_json_uint(json, "generation", state->generation);
    kymo__cli_json_string(json, "ending", kymo_ending_word((unsigned)info->ending));
    kymo__cli_json_int(json, "wall_start", info->wall_start);
    kymo__cli_json_int(json, "duration", info->end - view->origin[which]);
    kymo__cli_json_uint(json, "records", info->records);
    kymo__cli_json_uint(json, "lost", info->lost_records);
    kymo__cli_json_uint(json, "expired", info->expired_records);
    kymo__cli_json_uint(json, "damaged", info->damaged_blocks);
    kymo__cli_json_uint(json, "threads_all", info->threads);
    put_processes(json, state->capture, info->processes);
    put_threads(json, state->capture, view->origin[which], info->threads);
    put_names(json, &state->callables);
    put_gaps(json, state->capture, view->origin[which]);
    kymo__cli_json_end(json);
}

void kymo__answer_overview(const struct view_request *request, struct view_answer *answer)
{
    struct cli_json json;
    if (!kymo__answer_json_begin(answer, &json))
        return;
    kymo__cli_json_string(&json, "kymograph", kymo_version());
    kymo__cli_json_array(&json, "captures");
    for (unsigned i = 0; i < request->view->count; i++) {
        struct view_lease lease;
        if (kymo__view_lease(request->view, i, &lease) < 0)
            break;
        put_capture(&json, request->view, i, lease.state);
        kymo__view_give_back(request->view, &lease);
    }
    kymo__cli_json_end(&json);
    kymo__answer_json_end(answer, &json);
}
