/* answer_data.c — what pages with their data inside have too (shown.h): what there is; counters,
   instants, arrows, tasks and finished events; where the time went in a range, with values from, to and
   threads, a list of indexes, of samples instead of calls with samples=1; and how often each name was called. All have the value capture. */
#include "answers.h"
#include "memory.h"

void kymo__answer_overview(const struct view_request *request, struct view_answer *answer)
{
    struct kymo_jsonout json;
    int rc = 0;
    if (!kymo__answer_json_begin(answer, &json))
        return;
    kymo__jsonout_string(&json, "kymograph", kymo_version());
    kymo__jsonout_array(&json, "captures");
    for (unsigned i = 0; rc == 0 && i < request->view->count; i++) {
        struct view_lease lease;
        struct kymo_shown_capture shown;
        rc = kymo__view_lease(request->view, i, &lease);
        if (rc < 0)
            break;
        kymo__view_shown(request->view, i, lease.state, lease.capture, &shown);
        rc = kymo__shown_overview(&shown, &json);
        kymo__view_give_back(request->view, &lease);
    }
    kymo__jsonout_end(&json);
    kymo__answer_end(answer, &json, rc);
}

void kymo__answer_marks(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    struct kymo_shown_capture shown;
    struct kymo_jsonout json;
    if (!kymo__answer_capture(request, answer, &lease, &shown))
        return;
    shown.stop = kymo__answer_stop_behind;
    if (kymo__answer_json_begin(answer, &json))
        kymo__answer_end(answer, &json, kymo__shown_marks(&shown, &json));
    kymo__view_give_back(request->view, &lease);
}

void kymo__answer_counts(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    struct kymo_shown_capture shown;
    struct kymo_jsonout json;
    if (!kymo__answer_capture(request, answer, &lease, &shown))
        return;
    pthread_mutex_lock(&request->view->surveying);
    if (kymo__answer_json_begin(answer, &json))
        kymo__answer_end(answer, &json, kymo__shown_counts(&shown, &json));
    pthread_mutex_unlock(&request->view->surveying);
    kymo__view_give_back(request->view, &lease);
}

static int put_sample_stats(struct view *view, const struct view_lease *lease,
                            const struct kymo_shown_capture *shown, struct kymo_jsonout *json)
{
    const struct kymo_samplebook *book;
    int rc = kymo__view_samples(view, lease, kymo__answer_stop_shared, &book);
    return rc < 0 ? rc : kymo__shown_sample_stats(shown, book, json);
}

void kymo__answer_stats(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    struct kymo_shown_capture shown;
    struct kymo_jsonout json;
    int64_t from, to, samples;
    if (!kymo__request_number(request, "samples", 0, 1, 0, &samples) ||
        !kymo__request_number(request, "from", 0, (int64_t)1 << 61, 0, &from) ||
        !kymo__request_number(request, "to", 0, (int64_t)1 << 61, (int64_t)1 << 61, &to) ||
        from >= to) {
        kymo__answer_problem(answer, 400, "stats needs from and to, the later one last");
        return;
    }
    if (!kymo__answer_capture(request, answer, &lease, &shown))
        return;
    bool *chosen = kymo__request_choice(request, "threads", lease.state->info.threads);
    shown.from = from;
    shown.to = to;
    shown.chosen = chosen;
    pthread_mutex_lock(&request->view->surveying);
    if (!chosen)
        kymo__answer_problem(answer, 400, "there are no such threads");
    else if (kymo__answer_json_begin(answer, &json))
        kymo__answer_end(answer, &json,
                         samples ? put_sample_stats(request->view, &lease, &shown, &json)
                                 : kymo__shown_stats(&shown, false, &json));
    pthread_mutex_unlock(&request->view->surveying);
    kymo__cli_free(chosen);
    kymo__view_give_back(request->view, &lease);
}
