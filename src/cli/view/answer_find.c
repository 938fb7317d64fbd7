/* answer_find.c — the next or the previous call with some name: values capture, names (numbers of
   names), time, and back=1 for the previous one. */
#include "answers.h"
#include "callfind.h"
#include "memory.h"

enum { BUDGET = 4000000 }; /* events; about a tenth of a second */

static void put_found(struct view_answer *answer, const struct kymo_callfound *found,
                      kymo_ns origin)
{
    struct kymo_jsonout json;
    if (!kymo__answer_json_begin(answer, &json))
        return;
    kymo__jsonout_bool(&json, "found", found->found);
    kymo__jsonout_bool(&json, "done", found->done);
    kymo__jsonout_int(&json, "time", found->time - origin);
    if (found->found) {
        kymo__jsonout_uint(&json, "thread", found->thread);
        kymo__jsonout_uint(&json, "depth", found->depth);
        kymo__jsonout_uint(&json, "name", found->name);
        kymo__jsonout_uint(&json, "number", found->number);
    }
    kymo__answer_json_end(answer, &json);
}

void kymo__answer_find(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    int64_t capture, time, back;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        !kymo__request_number(request, "time", -1, (int64_t)1 << 61, -1, &time) ||
        !kymo__request_number(request, "back", 0, 1, 0, &back)) {
        kymo__answer_problem(answer, 400, "find needs names and time");
        return;
    }
    if (kymo__view_lease(request->view, (unsigned)capture, &lease) < 0) {
        kymo__answer_problem(answer, 404, "there is no such capture");
        return;
    }
    kymo_ns origin = request->view->origin[capture];
    bool *wanted = kymo__request_choice(request, "names", lease.state->callables.count);
    const struct kymo_callfind search = {
        .callables = &lease.state->callables,
        .wanted = wanted,
        .time = origin + time,
        .backwards = back,
        .first = origin,
        .last = kymo__ns_add(lease.state->info.end, 1),
        .budget = BUDGET,
    };
    struct kymo_callfound found;
    int rc = wanted ? kymo__callfind(lease.capture, &search, &found) : 0;
    if (!wanted)
        kymo__answer_problem(answer, 400, "names must be numbers of names");
    else if (rc < 0)
        kymo__answer_problem(answer, 500, kymo_strerror(rc));
    else
        put_found(answer, &found, origin);
    kymo__cli_free(wanted);
    kymo__view_give_back(request->view, &lease);
}
