/* answer_call.c — everything about one call, for the panel: values capture, thread, start, depth. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answers.h"
#include "callinfo.h"
#include "memory.h"

enum { LINES_AROUND = 8, SOURCE_MOST = 4 << 20, CALLERS_MOST = 2000, LINE_MOST = 400 };

/* Open PATH, the source file of a function, if it is a file like it was when the capture was made.
   PATH comes from the capture, never from a request. */
static FILE *open_source(const char *path, const struct kymo_info *info)
{
    struct stat file;
    if (path[0] != '/' || stat(path, &file) != 0 || !S_ISREG(file.st_mode) ||
        file.st_size > SOURCE_MOST)
        return NULL;
    if ((int64_t)file.st_mtim.tv_sec > info->wall_start / 1000000000)
        return NULL; /* changed since */
    return fopen(path, "re");
}

/* The lines around LINE of PATH, if they can be had. */
static void put_source(struct kymo_jsonout *json, const char *path, uint32_t line,
                       const struct kymo_info *info)
{
    FILE *file = line ? open_source(path, info) : NULL;
    if (!file)
        return;
    char *text = NULL;
    size_t capacity = 0;
    uint32_t first = line > LINES_AROUND / 2 ? line - LINES_AROUND / 2 : 1, at = 0;
    kymo__jsonout_object(json, "source");
    kymo__jsonout_uint(json, "first", first);
    kymo__jsonout_array(json, "lines");
    for (ssize_t length; (length = getline(&text, &capacity, file)) > 0;) {
        if (++at < first)
            continue;
        if (at > line + 2 * LINES_AROUND)
            break;
        while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
            text[--length] = 0;
        if (length > LINE_MOST)
            text[LINE_MOST] = 0;
        kymo__jsonout_string(json, NULL, text);
    }
    kymo__jsonout_end(json);
    kymo__jsonout_end(json);
    free(text);
    fclose(file);
}

static const char *ending_of(const struct kymo_callinfo *call)
{
    if (call->flags & KYMO__END_LOST)
        return "lost";
    if (call->flags & KYMO__OPEN_AT_END)
        return "open";
    const char *word = kymo_detail_word(KYMO_LEAVE, call->leave);
    return word ? word : "return";
}

static void put_callers(struct kymo_jsonout *json, const struct view_state *state,
                        const struct kymo_callinfo *call, kymo_ns origin)
{
    uint32_t first = call->depth > CALLERS_MOST ? call->depth - CALLERS_MOST : 0;
    kymo__jsonout_array(json, "callers");
    for (uint32_t i = first; i < call->depth; i++) {
        kymo__jsonout_array(json, NULL);
        kymo__jsonout_uint(json, NULL, kymo__callable_of(&state->callables, call->callers[i].key));
        kymo__jsonout_int(json, NULL, call->callers[i].start - origin);
        kymo__jsonout_uint(json, NULL, i);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
}

static void put_call(struct kymo_jsonout *json, const struct view_state *state, uint32_t thread,
                     const struct kymo_callinfo *call, kymo_ns origin)
{
    uint32_t name = kymo__callable_of(&state->callables, call->key);
    const struct kymo_callable *callable = &state->callables.all[name];
    kymo__jsonout_uint(json, "id", (uint64_t)thread << 40 | call->number);
    kymo__jsonout_uint(json, "number", call->number);
    kymo__jsonout_uint(json, "thread", thread);
    kymo__jsonout_uint(json, "depth", call->depth);
    kymo__jsonout_uint(json, "name", name);
    kymo__jsonout_int(json, "start", call->start - origin);
    kymo__jsonout_int(json, "duration", call->end - call->start);
    kymo__jsonout_int(json, "self", call->self);
    kymo__jsonout_bool(json, "self_about", call->self_about);
    kymo__jsonout_string(json, "entered", kymo_detail_word(KYMO_ENTER, call->enter));
    kymo__jsonout_string(json, "ended", ending_of(call));
    if (call->task)
        kymo__jsonout_uint(json, "task", call->task);
    put_callers(json, state, call, origin);
    char *args = kymo__cli_format("%.*s", (int)call->args.len, (const char *)call->args.bytes);
    kymo__jsonout_raw(json, "args", call->args.len ? args : "{}");
    kymo__cli_free(args);
    if (callable->class == KYMO_CLASS_FUNCTION)
        put_source(json, callable->file, callable->line, &state->info);
}

void kymo__answer_call(const struct view_request *request, struct view_answer *answer)
{
    int64_t capture, thread, start, depth;
    if (!kymo__request_number(request, "capture", 0, VIEW_CAPTURES - 1, 0, &capture) ||
        !kymo__request_number(request, "thread", 0, UINT32_MAX, -1, &thread) ||
        !kymo__request_number(request, "start", 0, (int64_t)1 << 61, -1, &start) ||
        !kymo__request_number(request, "depth", 0, UINT32_MAX, -1, &depth)) {
        kymo__answer_problem(answer, 400, "call needs capture, thread, start and depth");
        return;
    }
    struct view_lease lease;
    if (kymo__view_lease(request->view, (unsigned)capture, &lease) < 0) {
        kymo__answer_problem(answer, 404, "there is no such capture");
        return;
    }
    struct kymo_callinfo call = {0};
    kymo_ns origin = request->view->origin[capture];
    int rc = kymo__callinfo_find(lease.capture, (uint32_t)thread, kymo__ns_add(origin, start),
                                 (uint32_t)depth, &call);
    struct kymo_jsonout json;
    if (rc == 1 && kymo__answer_json_begin(answer, &json)) {
        put_call(&json, lease.state, (uint32_t)thread, &call, origin);
        kymo__answer_json_end(answer, &json);
    } else {
        kymo__answer_problem(answer, rc < 0 ? 500 : 404,
                             rc < 0 ? kymo_strerror(rc) : "there is no call there");
    }
    kymo__callinfo_fini(&call);
    kymo__view_give_back(request->view, &lease);
}
