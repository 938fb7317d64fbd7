/* answer_marks.c — counters, instants, arrows, tasks and finished events of a capture: value capture.

   Each is [kind, thread, name, time, value], where the value is that of a counter, the duration of a
   finished event, or an id as a string; arguments follow where there are any. The end of an arrow has
   arguments or null, and the number of calls that were open there. */
#include <errno.h>
#include <inttypes.h>

#include "answers.h"
#include "atomic.h"
#include "othermarks.h"

enum { MARKS_MOST = 300000 };

static int stop_if_asked(void *arg)
{
    const struct view *view = arg;
    return kymo__load_relaxed(&view->stopping) ? -ECANCELED : 0;
}

static void put_mark(struct cli_json *json, const struct kymo_marks *marks,
                     const struct kymo_mark *mark, kymo_ns origin)
{
    kymo__cli_json_array(json, NULL);
    kymo__cli_json_string(json, NULL, kymo_kind_word(mark->kind));
    kymo__cli_json_uint(json, NULL, mark->thread);
    kymo__cli_json_uint(json, NULL, mark->name);
    kymo__cli_json_int(json, NULL, mark->time - origin);
    if (mark->kind == KYMO_COUNTER) {
        kymo__cli_json_double(json, NULL, mark->value);
    } else if (mark->kind == KYMO_COMPLETE) {
        kymo__cli_json_uint(json, NULL, mark->id);
    } else {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, mark->id);
        kymo__cli_json_string(json, NULL, text);
    }
    bool arrow = mark->kind == KYMO_FLOW_OUT || mark->kind == KYMO_FLOW_IN;
    if (mark->args != SIZE_MAX)
        kymo__cli_json_raw(json, NULL, (const char *)marks->texts.bytes + mark->args);
    else if (arrow)
        kymo__cli_json_null(json, NULL);
    if (arrow)
        kymo__cli_json_uint(json, NULL, mark->depth);
    kymo__cli_json_end(json);
}

void kymo__answer_marks(const struct view_request *request, struct view_answer *answer)
{
    struct view_lease lease;
    int64_t capture;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        kymo__view_lease(request->view, (unsigned)capture, &lease) < 0) {
        kymo__answer_problem(answer, 404, "there is no such capture");
        return;
    }
    struct kymo_marks marks;
    struct cli_json json;
    int rc = kymo__marks_read(&marks, lease.capture, &lease.state->callables, MARKS_MOST,
                              stop_if_asked, request->view);
    if (rc < 0) {
        kymo__answer_problem(answer, 503, kymo_strerror(rc));
    } else if (kymo__answer_json_begin(answer, &json)) {
        kymo__cli_json_bool(&json, "more", marks.more);
        kymo__cli_json_array(&json, "marks");
        for (size_t i = 0; i < marks.count; i++)
            put_mark(&json, &marks, &marks.all[i], request->view->origin[capture]);
        kymo__cli_json_end(&json);
        kymo__answer_json_end(answer, &json);
    }
    kymo__marks_fini(&marks);
    kymo__view_give_back(request->view, &lease);
}
