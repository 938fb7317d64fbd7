/* shown_marks.c — counters, instants, arrows, tasks and finished events of a capture.

   Each is [kind, thread, name, time, value], where the value is that of a counter, the duration of a
   finished event, or an id as a string; arguments follow where there are any. The end of an arrow has
   arguments or null, and the number of calls that were open there. */
#include <inttypes.h>

#include "othermarks.h"
#include "shown.h"

enum { MARKS_MOST = 300000 };

static void put_mark(struct kymo_jsonout *json, const struct kymo_marks *marks,
                     const struct kymo_mark *mark, kymo_ns origin)
{
    kymo__jsonout_array(json, NULL);
    kymo__jsonout_string(json, NULL, kymo_kind_word(mark->kind));
    kymo__jsonout_uint(json, NULL, mark->thread);
    kymo__jsonout_uint(json, NULL, mark->name);
    kymo__jsonout_int(json, NULL, mark->time - origin);
    if (mark->kind == KYMO_COUNTER) {
        kymo__jsonout_double(json, NULL, mark->value);
    } else if (mark->kind == KYMO_COMPLETE) {
        kymo__jsonout_uint(json, NULL, mark->id);
    } else {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, mark->id);
        kymo__jsonout_string(json, NULL, text);
    }
    bool arrow = mark->kind == KYMO_FLOW_OUT || mark->kind == KYMO_FLOW_IN;
    if (mark->args != SIZE_MAX)
        kymo__jsonout_raw(json, NULL, (const char *)marks->texts.bytes + mark->args);
    else if (arrow)
        kymo__jsonout_null(json, NULL);
    if (arrow)
        kymo__jsonout_uint(json, NULL, mark->depth);
    kymo__jsonout_end(json);
}

int kymo__shown_marks(const struct kymo_shown_capture *shown, struct kymo_jsonout *json)
{
    struct kymo_marks marks;
    int rc = kymo__marks_read(&marks, shown->capture, shown->callables, MARKS_MOST, shown->stop,
                              shown->stop_arg);
    if (rc == 0) {
        kymo__jsonout_bool(json, "more", marks.more);
        kymo__jsonout_array(json, "marks");
        for (size_t i = 0; i < marks.count; i++)
            if (!shown->chosen || shown->chosen[marks.all[i].thread])
                put_mark(json, &marks, &marks.all[i], shown->origin);
        kymo__jsonout_end(json);
    }
    kymo__marks_fini(&marks);
    return rc;
}
