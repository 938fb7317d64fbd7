/* perfetto_marks.c — everything that is not a call: instants, counters, arrows, async spans,
   finished events, and gaps. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perfetto_parts.h"

/* ---- tracks ---- */

static void show_counter(struct kymo_proto *out, struct kymo_perfetto_thread *t, uint32_t index,
                         uint64_t track)
{
    if (t->known[index] & KNOWS_COUNTER)
        return;
    t->known[index] |= KNOWS_COUNTER;
    size_t packet = kymo__perfetto_packet(out, t), descriptor = kymo__proto_open(out, PACKET_TRACK);
    kymo__proto_uint(out, TRACK_UUID, track);
    kymo__proto_uint(out, TRACK_PARENT, t->process);
    kymo__proto_text(out, TRACK_NAME, t->p->callables.all[index].name);
    kymo__proto_close(out, kymo__proto_open(out, TRACK_COUNTER));
    kymo__proto_close(out, descriptor);
    kymo__proto_close(out, packet);
}

/* ---- events ---- */

struct opened {
    size_t packet, event;
};

static struct opened open_event(struct kymo_proto *out, struct kymo_perfetto_thread *t,
                                kymo_ns when, unsigned type, unsigned category)
{
    struct opened o = {.packet = kymo__perfetto_packet_at(out, t, when)};
    o.event = kymo__proto_open(out, PACKET_TRACK_EVENT);
    kymo__proto_uint(out, EVENT_TYPE, type);
    kymo__proto_uint(out, EVENT_CATEGORY, category);
    return o;
}

static void close_event(struct kymo_proto *out, struct opened opened)
{
    kymo__proto_close(out, opened.event);
    kymo__proto_close(out, opened.packet);
}

static void add_name(struct kymo_proto *out, uint32_t index)
{
    kymo__proto_uint(out, EVENT_NAME_ID, (uint64_t)index + 1);
}

static void add_counter(struct kymo_proto *out, struct kymo_perfetto_thread *t,
                        const struct kymo_event *event, uint32_t index)
{
    uint64_t track = kymo__perfetto_track(t->p, TRACK_OF_VALUE, index, 0);
    show_counter(out, t, index, track);
    struct opened o = open_event(out, t, event->time, TYPE_COUNTER, CATEGORY_COUNTER);
    kymo__proto_uint(out, EVENT_TRACK, track);
    kymo__proto_double(out, EVENT_VALUE, event->value);
    close_event(out, o);
}

/* An arrow is attached to an instant in the open slice. Name and id together form its id. */
static void add_flow(struct kymo_proto *out, struct kymo_perfetto_thread *t,
                     const struct kymo_event *event, uint32_t index)
{
    bool leaves = event->kind == KYMO_FLOW_OUT;
    struct opened o = open_event(out, t, event->time, TYPE_INSTANT, CATEGORY_FLOW);
    add_name(out, index);
    kymo__perfetto_note(out, NOTE_ID, event->id);
    kymo__proto_fixed64(out, leaves ? EVENT_FLOW : EVENT_LAST_FLOW,
                        kymo__perfetto_track(t->p, ARROW, index, event->id));
    close_event(out, o);
}

/* An async span has a track for its name and id; what a task waits for is on the task's track. */
static void add_async(struct kymo_proto *out, struct kymo_perfetto_thread *t,
                      const struct kymo_event *event, uint32_t index,
                      const struct kymo_call_arg *args, unsigned arg_count)
{
    const struct kymo_callable *callable = &t->p->callables.all[index];
    bool wait = kymo__callable_in_task(callable);
    bool task = wait || callable->class != KYMO_CLASS_NAME;
    uint64_t track = kymo__perfetto_track(t->p, TRACK_OF_ASYNC, task ? 0 : index, event->id);
    bool begins = event->kind == KYMO_ASYNC_BEGIN;
    if (begins && !wait)
        kymo__perfetto_show(out, t, track, t->process, task ? "tasks" : callable->name);
    if (begins && wait)
        kymo__perfetto_show(out, t, track, t->process, "tasks");
    struct opened o =
        open_event(out, t, event->time, begins ? TYPE_BEGIN : TYPE_END, CATEGORY_ASYNC);
    kymo__proto_uint(out, EVENT_TRACK, track);
    if (begins) {
        add_name(out, index);
        if (*callable->file)
            kymo__proto_uint(out, EVENT_SOURCE_ID, (uint64_t)index + 1);
        kymo__perfetto_note(out, NOTE_ID, event->id);
    }
    kymo__perfetto_args(out, t, args, arg_count);
    close_event(out, o);
}

static void add_complete(struct kymo_proto *out, struct kymo_crew_thread *thread,
                         struct kymo_perfetto_thread *t, const struct kymo_event *event,
                         uint32_t index, const struct kymo_call_arg *args, unsigned arg_count)
{
    kymo_ns length = event->id < INT64_MAX / 4 ? (kymo_ns)event->id : INT64_MAX / 4;
    kymo_ns start = event->time, end = kymo__ns_add(start, length);
    bool added;
    kymo_ns before =
        t->lanes.count == KYMO__LANES_MOST ? t->lanes.ends[KYMO__LANES_MOST - 1] : start;
    unsigned lane = kymo__lane_for(&t->lanes, start, end, &added);
    /* If the last lane is occupied too, delay the start until it is free: ends must nest. */
    if (lane == KYMO__LANES_MOST - 1 && !added && before > start) {
        start = before;
        end = end > start ? end : start;
    }
    uint64_t track = kymo__perfetto_track(t->p, TRACK_OF_LANE, thread->info.index, lane);
    kymo__perfetto_show(out, t, track, t->process, thread->name);
    /* The sequence's clock must not advance: later packets are about earlier times. */
    for (int i = 0; i < 2; i++) {
        kymo_ns when = i ? end : start;
        size_t packet = kymo__perfetto_packet(out, t);
        kymo__proto_uint(out, PACKET_TIMESTAMP, when > 0 ? (uint64_t)when : 0);
        kymo__proto_uint(out, PACKET_CLOCK, CLOCK_MONOTONIC_ID);
        size_t opened = kymo__proto_open(out, PACKET_TRACK_EVENT);
        kymo__proto_uint(out, EVENT_TYPE, i ? TYPE_END : TYPE_BEGIN);
        kymo__proto_uint(out, EVENT_TRACK, track);
        if (i == 0) {
            kymo__proto_uint(out, EVENT_CATEGORY, CATEGORY_TRACK);
            add_name(out, index);
            kymo__perfetto_args(out, t, args, arg_count);
        }
        kymo__proto_close(out, opened);
        kymo__proto_close(out, packet);
    }
}

/* ---- gaps ---- */

static void add_gap(struct kymo_proto *out, struct kymo_perfetto_thread *t,
                    const struct kymo_event *event)
{
    const char *reason = kymo_detail_word(KYMO_GAP, event->detail);
    char name[96];
    snprintf(name, sizeof(name), "kymograph: %" PRIu64 " events %s (%s)", event->id,
             event->detail == KYMO_GAP_FLIGHT ? "expired" : "lost", reason);
    struct opened o = open_event(out, t, event->time, TYPE_INSTANT, CATEGORY_KYMO);
    kymo__proto_text(out, EVENT_NAME, name);
    kymo__perfetto_note(out, NOTE_EVENTS, event->id);
    kymo__perfetto_note_text(out, NOTE_REASON, reason);
    close_event(out, o);
}

static void add_off(struct kymo_proto *out, struct kymo_perfetto_thread *t,
                    const struct kymo_event *event)
{
    char name[256];
    snprintf(name, sizeof(name), "kymograph: %.160s not recorded from here on (overhead budget)",
             event->name);
    struct opened o = open_event(out, t, event->time, TYPE_INSTANT, CATEGORY_KYMO);
    kymo__proto_text(out, EVENT_NAME, name);
    kymo__perfetto_note(out, NOTE_CALLS, event->id);
    close_event(out, o);
}

int kymo__perfetto_other(void *arg, const struct kymo_event *event,
                         const struct kymo_call_arg *args, unsigned arg_count)
{
    struct kymo_crew_thread *thread = arg;
    struct kymo_perfetto_thread *t = thread->state;
    struct kymo_proto out = {.out = &thread->out};
    uint32_t index = kymo__callable_of(&t->p->callables, event->key);
    int taken = kymo__op_track_note(&t->ops, &t->p->ops, event, args, arg_count);
    if (taken)
        return taken < 0 ? taken : 0;
    switch (event->kind) {
    case KYMO_GAP:
        add_gap(&out, t, event);
        return out.error;
    case KYMO_OFF:
        add_off(&out, t, event);
        return out.error;
    case KYMO_SAMPLE:
        return kymo__perfetto_sample(&out, thread, event);
    case KYMO_COUNTER:
        add_counter(&out, t, event, index);
        return out.error;
    case KYMO_INSTANT:
    case KYMO_FLOW_OUT:
    case KYMO_FLOW_IN:
    case KYMO_ASYNC_BEGIN:
    case KYMO_ASYNC_END:
    case KYMO_COMPLETE:
        break;
    default:
        return 0;
    }
    kymo__perfetto_know(&out, t, index, KNOWS_NAME);
    kymo__perfetto_know_args(&out, t, args, arg_count);
    if (event->kind == KYMO_COMPLETE) {
        add_complete(&out, thread, t, event, index, args, arg_count);
    } else if (event->kind == KYMO_ASYNC_BEGIN || event->kind == KYMO_ASYNC_END) {
        add_async(&out, t, event, index, args, arg_count);
    } else if (event->kind == KYMO_INSTANT) {
        struct opened o = open_event(&out, t, event->time, TYPE_INSTANT, CATEGORY_INSTANT);
        add_name(&out, index);
        kymo__perfetto_args(&out, t, args, arg_count);
        close_event(&out, o);
    } else {
        add_flow(&out, t, event, index);
    }
    return out.error;
}
