/* answers.c — see answers.h: the list of answers, and what all of them need. */
#include "answers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "atomic.h"
#include "memory.h"

static const struct {
    const char *name;
    void (*give)(const struct view_request *request, struct view_answer *answer);
} answers[] = {
    {"overview", kymo__answer_overview},
    {"tile", kymo__answer_tile},
    {"call", kymo__answer_call},
    {"stats", kymo__answer_stats},
    {"find", kymo__answer_find},
    {"query", kymo__answer_query},
    {"cut", kymo__answer_cut},
    {"counts", kymo__answer_counts},
    {"marks", kymo__answer_marks},
    {"durations", kymo__answer_durations},
    {"samples", kymo__answer_samples},
    {"sampletile", kymo__answer_sample_tile},
    {"sample", kymo__answer_sample},
    {"memory", kymo__answer_memory},
    {"memorytile", kymo__answer_memory_tile},
};

void kymo__view_answer(const struct view_request *request, const char *name,
                       struct view_answer *answer)
{
    *answer = (struct view_answer){.status = 500, .type = "application/json"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (strcmp(answers[i].name, name) == 0) {
            answers[i].give(request, answer);
            return;
        }
    }
    kymo__answer_problem(answer, 404, "there is no such request");
}

void kymo__view_answer_fini(struct view_answer *answer)
{
    kymo__buffer_fini(&answer->bytes);
    free(answer->text);
}

FILE *kymo__answer_json_begin(struct view_answer *answer, struct kymo_jsonout *json)
{
    *json = (struct kymo_jsonout){.out = open_memstream(&answer->text, &answer->text_length)};
    if (json->out)
        kymo__jsonout_object(json, NULL);
    return json->out;
}

void kymo__answer_json_end(struct view_answer *answer, struct kymo_jsonout *json)
{
    kymo__jsonout_end(json);
    bool failed = ferror(json->out);
    answer->status = fclose(json->out) == 0 && !failed ? 200 : 500;
}

void kymo__answer_problem(struct view_answer *answer, unsigned status, const char *words)
{
    struct kymo_jsonout json;
    if (kymo__answer_json_begin(answer, &json)) {
        kymo__jsonout_string(&json, "error", words);
        kymo__answer_json_end(answer, &json);
    }
    answer->status = status;
    answer->lasting = false;
    answer->type = "application/json";
}

int kymo__answer_stop(void *arg)
{
    const struct view_request *request = arg;
    bool stop = kymo__load_relaxed(&request->view->stopping) || request->gone(request->arg);
    return stop ? -ECANCELED : 0;
}

/* Let tiles have the processors, but not for ever: somebody may be panning all the time. */
static void give_way(const struct view *view)
{
    enum { PAUSES = 20 };
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < PAUSES && kymo__load_relaxed(&view->tiles_made); i++)
        nanosleep(&pause, NULL);
}

int kymo__answer_stop_behind(void *arg)
{
    const struct view_request *request = arg;
    give_way(request->view);
    return kymo__answer_stop(arg);
}

int kymo__answer_stop_shared(void *arg)
{
    const struct view *view = arg;
    give_way(view);
    return kymo__load_relaxed(&view->stopping) ? -ECANCELED : 0;
}

void kymo__answer_end(struct view_answer *answer, struct kymo_jsonout *json, int rc)
{
    kymo__answer_json_end(answer, json);
    if (rc == 0)
        return;
    free(answer->text);
    answer->text = NULL;
    kymo__answer_problem(answer, rc == -EINVAL ? 400 : 503, kymo_strerror(rc));
}

void kymo__answer_bytes_end(const struct view_request *request, struct view_answer *answer,
                            struct view_lease *lease, int rc)
{
    bool growing = lease->state->info.ending == KYMO_ENDED_RUNNING;
    kymo__view_give_back(request->view, lease);
    if (rc < 0) {
        answer->bytes.len = 0;
        kymo__answer_problem(answer,
                             rc == -EINVAL      ? 404
                             : rc == -ECANCELED ? 503
                                                : 500,
                             kymo_strerror(rc));
        return;
    }
    answer->status = 200;
    answer->type = "application/octet-stream";
    answer->lasting = !growing;
}

bool kymo__answer_capture(const struct view_request *request, struct view_answer *answer,
                          struct view_lease *lease, struct kymo_shown_capture *shown)
{
    int64_t capture;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        kymo__view_lease(request->view, (unsigned)capture, lease) < 0) {
        kymo__answer_problem(answer, 404, "there is no such capture");
        return false;
    }
    kymo__view_shown(request->view, (unsigned)capture, lease->state, lease->capture, shown);
    shown->stop = kymo__answer_stop;
    shown->stop_arg = (void *)(uintptr_t)request;
    return true;
}

bool kymo__request_number(const struct view_request *request, const char *name, int64_t least,
                          int64_t most, int64_t absent, int64_t *number)
{
    const char *text = request->value(request->arg, name);
    char *end;
    *number = absent;
    if (!text)
        return absent >= least && absent <= most;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && end != text && !*end && *number >= least && *number <= most;
}

bool *kymo__request_choice(const struct view_request *request, const char *name, size_t limit)
{
    const char *text = request->value(request->arg, name);
    bool *chosen = kymo__cli_array(limit + 1, sizeof *chosen);
    for (size_t i = 0; !text && i < limit; i++)
        chosen[i] = true;
    while (text && *text) {
        char *end;
        unsigned long long number = strtoull(text, &end, 10);
        if (end == text || number >= limit || (*end && *end != ',')) {
            kymo__cli_free(chosen);
            return NULL;
        }
        chosen[number] = true;
        text = end + (*end == ',');
    }
    return chosen;
}
