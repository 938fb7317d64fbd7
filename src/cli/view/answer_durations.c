/* answer_durations.c — how long the calls of a function took: values capture, name (number of a
   name), from, to, threads (a list of indexes) and events, how many to read at most. */
#include <errno.h>

#include "answers.h"
#include "calldurations.h"
#include "memory.h"

enum { BUDGET = 20000000 }; /* events; about half a second */

static void put_longest(struct kymo_jsonout *json, const struct kymo_duration_bar *bar,
                        kymo_ns origin)
{
    kymo__jsonout_array(json, "longest");
    for (unsigned i = 0; i < bar->calls && i < KYMO__DURATION_LONGEST; i++) {
        const struct kymo_long_call *call = &bar->longest[i];
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, call->thread);
        kymo__jsonout_int(json, NULL, call->start - origin);
        kymo__jsonout_uint(json, NULL, call->depth);
        kymo__jsonout_int(json, NULL, call->duration);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void put_durations(struct kymo_jsonout *json, const struct kymo_calldurations *durations,
                          kymo_ns origin)
{
    kymo__jsonout_uint(json, "calls", durations->calls);
    kymo__jsonout_uint(json, "open", durations->open);
    kymo__jsonout_int(json, "median", kymo__calldurations_at(durations, 0.5));
    kymo__jsonout_int(json, "p99", kymo__calldurations_at(durations, 0.99));
    kymo__jsonout_int(json, "longest", durations->most);
    kymo__jsonout_bool(json, "complete", durations->complete);
    if (!durations->complete)
        kymo__jsonout_int(json, "until", kymo__ns_between(origin, durations->until));
    kymo__jsonout_uint(json, "events", durations->events);
    kymo__jsonout_array(json, "bars");
    for (unsigned i = 0; i < KYMO__DURATION_BARS; i++) {
        const struct kymo_duration_bar *bar = &durations->bars[i];
        if (!bar->calls)
            continue;
        kymo__jsonout_object(json, NULL);
        kymo__jsonout_uint(json, "bar", i);
        kymo__jsonout_int(json, "from", kymo__duration_bar_start(i));
        kymo__jsonout_int(json, "to", kymo__duration_bar_start(i + 1));
        kymo__jsonout_uint(json, "calls", bar->calls);
        put_longest(json, bar, origin);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

/* Fill ASKED with what REQUEST asks of capture *WHICH. Returns false if it makes no sense. */
static bool read_request(const struct view_request *request, int64_t *which,
                         struct kymo_calldurations_request *asked)
{
    const int64_t most = (int64_t)1 << 61;
    int64_t name, events;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, which) ||
        !kymo__request_number(request, "name", 0, UINT32_MAX, -1, &name) ||
        !kymo__request_number(request, "from", 0, most, 0, &asked->from) ||
        !kymo__request_number(request, "to", 0, most, most, &asked->to) ||
        !kymo__request_number(request, "events", 1, most, BUDGET, &events) ||
        asked->from >= asked->to)
        return false;
    kymo_ns origin = request->view->origin[*which];
    asked->name = (uint32_t)name;
    asked->budget = (uint64_t)events;
    /* Calls that were open when the recording began count, too. */
    asked->from = asked->from ? kymo__ns_add(origin, asked->from) : INT64_MIN;
    asked->to = kymo__ns_add(origin, asked->to);
    asked->stop = kymo__answer_stop;
    asked->stop_arg = (void *)(uintptr_t)request;
    return true;
}

void kymo__answer_durations(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    struct kymo_calldurations_request asked = {0};
    int64_t which;
    if (!read_request(request, &which, &asked)) {
        kymo__answer_problem(answer, 400, "durations needs a name, and from before to");
        return;
    }
    if (kymo__view_lease(request->view, (unsigned)which, &lease) < 0) {
        kymo__answer_problem(answer, 404, "there is no such capture");
        return;
    }
    bool *chosen = kymo__request_choice(request, "threads", lease.state->info.threads);
    struct kymo_calldurations durations = {0};
    struct kymo_jsonout json;
    asked.callables = &lease.state->callables;
    asked.chosen = chosen;
    bool known = chosen && asked.name < lease.state->callables.count;
    int rc = known ? kymo__calldurations(lease.capture, &asked, &durations) : 0;
    if (!known) {
        kymo__answer_problem(answer, 400, "there is no such name or thread");
    } else if (rc < 0) {
        kymo__answer_problem(answer, rc == -ECANCELED ? 503 : 500, kymo_strerror(rc));
    } else if (kymo__answer_json_begin(answer, &json)) {
        put_durations(&json, &durations, request->view->origin[which]);
        kymo__answer_json_end(answer, &json);
    }
    kymo__calldurations_fini(&durations);
    kymo__cli_free(chosen);
    kymo__view_give_back(request->view, &lease);
}
