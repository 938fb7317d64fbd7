/* chrome_marks.c — everything that is not a call: instants, counters, arrows, async spans, finished
   events, and gaps. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "chrome_parts.h"

enum { EVENT_MOST = 512 }; /* bytes of an event after its name, without its arguments */

/* Thread ids for tracks of finished events; above any system's thread ids. */
#define LANE_TID UINT64_C(2000000000)

#define ID_EXACT (UINT64_C(1) << 53) /* JavaScript readers represent ids below this exactly */

/* Write BEGINNING and the name of KEY, and return room for the rest of the event, or NULL. */
static char *begin_mark(struct kymo_crew_thread *thread, const char *beginning, uint32_t key)
{
    const struct kymo_chrome_thread *t = thread->state;
    const char *name = t->c->callables.all[kymo__callable_of(&t->c->callables, key)].name;
    if (kymo__json_text(&thread->out, beginning) < 0 || kymo__json_escaped(&thread->out, name) < 0)
        return NULL;
    return kymo__chrome_room(thread, EVENT_MOST);
}

static char *put_place(char *at, const struct kymo_chrome_thread *t, kymo_ns when)
{
    at = kymo__json_put(at, t->place, t->place_len);
    return kymo__json_time(at, kymo__ns_add(when, t->c->shift));
}

/* Write an id: a number, or a string where a reader might round it. */
static char *put_id(char *at, uint64_t id)
{
    return id < ID_EXACT ? kymo__json_uint(at, id) : at + sprintf(at, "\"0x%" PRIx64 "\"", id);
}

/* ---- finished events ---- */

int kymo__chrome_track(struct kymo_crew_thread *thread, uint64_t tid, const char *name,
                       const char *suffix, uint64_t order)
{
    const struct kymo_chrome_thread *t = thread->state;
    struct kymo_buffer *b = &thread->out;
    char text[192];
    snprintf(text, sizeof(text),
             ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"ts\":%s,\"pid\":%" PRId64
             ",\"tid\":%" PRIu64 ",\"args\":{\"name\":\"",
             t->c->origin, thread->pid, tid);
    int rc = kymo__json_text(b, text) | kymo__json_escaped(b, name) | kymo__json_text(b, suffix);
    snprintf(text, sizeof(text),
             "\"}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"ts\":%s,\"pid\":%" PRId64
             ",\"tid\":%" PRIu64 ",\"args\":{\"sort_index\":%" PRIu64 "}}",
             t->c->origin, thread->pid, tid, order);
    return rc | kymo__json_text(b, text) ? -ENOMEM : 0;
}

static int write_complete(struct kymo_crew_thread *thread, const struct kymo_event *event,
                          const struct kymo_call_arg *args, unsigned arg_count)
{
    struct kymo_chrome_thread *t = thread->state;
    kymo_ns length = event->id < INT64_MAX / 2 ? (kymo_ns)event->id : INT64_MAX / 2;
    uint64_t index = thread->info.index;
    bool added;
    unsigned lane =
        kymo__lane_for(&t->lanes, event->time, kymo__ns_add(event->time, length), &added);
    uint64_t tid = LANE_TID + index * KYMO__LANES_MOST + lane;
    if (added) {
        char suffix[32] = "";
        if (lane)
            snprintf(suffix, sizeof(suffix), " (%u)", lane + 1);
        int rc = kymo__chrome_track(thread, tid, thread->name, suffix, index * 100 + 1 + lane);
        if (rc < 0)
            return rc;
    }
    char *at = begin_mark(thread, ",\n{\"ph\":\"X\",\"cat\":\"track\",\"name\":\"", event->key);
    if (!at)
        return -ENOMEM;
    at += sprintf(at, "\",\"pid\":%" PRId64 ",\"tid\":%" PRIu64 ",\"ts\":", thread->pid, tid);
    at = kymo__json_time(at, kymo__ns_add(event->time, t->c->shift));
    at = KYMO__JSON_PUT(at, ",\"dur\":");
    at = kymo__json_time(at, length);
    if (!arg_count) {
        kymo__chrome_done(thread, KYMO__JSON_PUT(at, "}"));
        return 0;
    }
    kymo__chrome_done(thread, KYMO__JSON_PUT(at, ",\"args\":{"));
    if (kymo__chrome_args(thread, args, arg_count) < 0 || !kymo__chrome_room(thread, 8))
        return -ENOMEM;
    at = (char *)thread->out.bytes + thread->out.len;
    at -= at[-1] == ','; /* the last comma */
    kymo__chrome_done(thread, KYMO__JSON_PUT(at, "}}"));
    return 0;
}

/* ---- gaps ---- */

#define OWN_INSTANT ",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"kymograph\",\"name\":\"kymograph: "

/* Report that a function is not recorded from here on. */
static int write_off(struct kymo_crew_thread *thread, const struct kymo_event *event)
{
    char *at = begin_mark(thread, OWN_INSTANT, event->key);
    if (!at)
        return -ENOMEM;
    at = KYMO__JSON_PUT(at, " not recorded from here on (overhead budget)\",");
    at = put_place(at, thread->state, event->time);
    at = KYMO__JSON_PUT(at, ",\"args\":{\"calls until then\":");
    at = kymo__json_uint(at, event->id);
    kymo__chrome_done(thread, KYMO__JSON_PUT(at, "}}"));
    return 0;
}

static int write_gap(struct kymo_crew_thread *thread, const struct kymo_event *event)
{
    char *at = kymo__chrome_room(thread, EVENT_MOST);
    if (!at)
        return -ENOMEM;
    at = KYMO__JSON_PUT(at, OWN_INSTANT);
    at = kymo__json_uint(at, event->id);
    at += sprintf(at, " events %s (%s)\",", event->detail == KYMO_GAP_FLIGHT ? "expired" : "lost",
                  kymo_detail_word(KYMO_GAP, event->detail));
    at = put_place(at, thread->state, event->time);
    kymo__chrome_done(thread, KYMO__JSON_PUT(at, "}"));
    return 0;
}

/* ---- what a program marks ---- */

/* How an event of each kind begins. */
static const char *const beginnings[] = {
    [KYMO_INSTANT] = ",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"",
    [KYMO_COUNTER] = ",\n{\"ph\":\"C\",\"cat\":\"counter\",\"name\":\"",
    [KYMO_FLOW_OUT] = ",\n{\"ph\":\"s\",\"cat\":\"flow\",\"name\":\"",
    [KYMO_FLOW_IN] = ",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"flow\",\"name\":\"",
    [KYMO_ASYNC_BEGIN] = ",\n{\"ph\":\"b\",\"cat\":\"async\",\"name\":\"",
    [KYMO_ASYNC_END] = ",\n{\"ph\":\"e\",\"cat\":\"async\",\"name\":\"",
};

/* PyTorch's profiler gives its arrows their own categories, which tools search for. */
static const char *beginning_of(const struct kymo_event *event)
{
    static const char *const known[][2] = {
        {",\n{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"",
         ",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\""},
        {",\n{\"ph\":\"s\",\"cat\":\"fwdbwd\",\"name\":\"",
         ",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"fwdbwd\",\"name\":\""},
    };
    bool flow = event->kind == KYMO_FLOW_OUT || event->kind == KYMO_FLOW_IN;
    if (flow && strcmp(event->name, "ac2g") == 0)
        return known[0][event->kind == KYMO_FLOW_IN];
    if (flow && strcmp(event->name, "fwdbwd") == 0)
        return known[1][event->kind == KYMO_FLOW_IN];
    return beginnings[event->kind];
}

/* Readers match async events by id alone, so the name is made part of the id here. What a task
   waits for keeps the task's id. */
static char *put_async_id(char *at, const struct kymo_chrome_thread *t,
                          const struct kymo_event *event)
{
    uint32_t index = kymo__callable_of(&t->c->callables, event->key);
    bool task = t->c->heads[index].python || kymo__callable_in_task(&t->c->callables.all[index]);
    return at + sprintf(at, ",\"id\":\"%u:%" PRIu64 "\"", task ? 0 : index, event->id);
}

/* Write where a task waits, if EVENT is the begin of a wait with a place. */
static int put_await_place(struct kymo_crew_thread *thread, const struct kymo_event *event)
{
    char line[16] = "";
    if (event->kind != KYMO_ASYNC_BEGIN || !*event->file)
        return 0;
    if (event->line)
        snprintf(line, sizeof(line), ":%u", event->line);
    return kymo__json_text(&thread->out, "\"place\":\"") |
           kymo__json_escaped(&thread->out, event->file) | kymo__json_text(&thread->out, line) |
           kymo__json_text(&thread->out, "\",");
}

static int write_mark(struct kymo_crew_thread *thread, const struct kymo_event *event,
                      const struct kymo_call_arg *args, unsigned arg_count)
{
    char *at = begin_mark(thread, beginning_of(event), event->key);
    if (!at)
        return -ENOMEM;
    at = KYMO__JSON_PUT(at, "\",");
    at = put_place(at, thread->state, event->time);
    if (event->kind == KYMO_FLOW_OUT || event->kind == KYMO_FLOW_IN) {
        at = KYMO__JSON_PUT(at, ",\"id\":");
        at = put_id(at, event->id);
    } else if (event->kind == KYMO_ASYNC_BEGIN || event->kind == KYMO_ASYNC_END) {
        at = put_async_id(at, thread->state, event);
    }
    at = KYMO__JSON_PUT(at, ",\"args\":{");
    if (event->kind == KYMO_COUNTER) {
        at = KYMO__JSON_PUT(at, "\"value\":");
        at = kymo__json_double(at, event->value);
        *at++ = ',';
    } else if (event->kind == KYMO_ASYNC_BEGIN) {
        at = KYMO__JSON_PUT(at, "\"id\":");
        at = kymo__json_uint(at, event->id);
        *at++ = ',';
    }
    kymo__chrome_done(thread, at);
    if (put_await_place(thread, event) != 0 || kymo__chrome_args(thread, args, arg_count) < 0 ||
        !kymo__chrome_room(thread, 8))
        return -ENOMEM;
    at = (char *)thread->out.bytes + thread->out.len;
    at -= at[-1] == ','; /* the last comma */
    kymo__chrome_done(thread, KYMO__JSON_PUT(at, "}}"));
    return 0;
}

int kymo__chrome_other(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                       unsigned arg_count)
{
    struct kymo_crew_thread *thread = arg;
    struct kymo_chrome_thread *t = thread->state;
    int taken = kymo__op_track_note(&t->ops, &t->c->ops, event, args, arg_count);
    if (taken)
        return taken < 0 ? taken : 0;
    if (event->kind == KYMO_GAP)
        return write_gap(arg, event);
    if (event->kind == KYMO_COMPLETE)
        return write_complete(arg, event, args, arg_count);
    if (event->kind == KYMO_SAMPLE)
        return kymo__chrome_sample(arg, event);
    if (event->kind == KYMO_OFF)
        return write_off(arg, event);
    if (event->kind < sizeof(beginnings) / sizeof(beginnings[0]) && beginnings[event->kind])
        return write_mark(arg, event, args, arg_count);
    return 0;
}
