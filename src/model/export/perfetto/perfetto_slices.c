/* perfetto_slices.c — calls as begins and ends, and helpers for all packets.

   Nearly all packets of a file are made here, so the two common ones are built from fixed-length
   pieces. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "atomic.h"
#include "fields.h"
#include "perfetto_parts.h"
#include "varint.h"

enum { PACKET_MOST = 64 }; /* bytes of a common packet; its length fits in one byte */
static_assert(2 + 1 + KYMO__VARINT_MAX + 8 + KYMO__PERFETTO_HEAD < PACKET_MOST, "it does");

/* ---- packets ---- */

static void add_prefix(struct kymo_proto *out, const struct kymo_perfetto_thread *t)
{
    if (!out->error)
        out->error = kymo__buffer_add(out->out, t->prefix, t->prefix_len);
}

size_t kymo__perfetto_packet(struct kymo_proto *out, struct kymo_perfetto_thread *t)
{
    size_t packet = kymo__proto_open(out, TRACE_PACKET);
    add_prefix(out, t);
    return packet;
}

size_t kymo__perfetto_packet_at(struct kymo_proto *out, struct kymo_perfetto_thread *t,
                                kymo_ns when)
{
    size_t packet = kymo__perfetto_packet(out, t);
    if (when >= t->last) {
        kymo__proto_uint(out, PACKET_TIMESTAMP, (uint64_t)(when - t->last));
        t->last = when;
    } else {
        kymo__proto_uint(out, PACKET_TIMESTAMP, when > 0 ? (uint64_t)when : 0);
        kymo__proto_uint(out, PACKET_CLOCK, CLOCK_MONOTONIC_ID);
    }
    return packet;
}

void kymo__perfetto_show(struct kymo_proto *out, struct kymo_perfetto_thread *t, uint64_t track,
                         uint64_t parent, const char *name)
{
    uint64_t *shown = &t->shown[track >> 1 & (KYMO__PERFETTO_SHOWN - 1)];
    if (*shown == track)
        return;
    *shown = track;
    size_t packet = kymo__perfetto_packet(out, t), descriptor = kymo__proto_open(out, PACKET_TRACK);
    kymo__proto_uint(out, TRACK_UUID, track);
    kymo__proto_uint(out, TRACK_PARENT, parent);
    kymo__proto_text(out, TRACK_NAME, name);
    kymo__proto_close(out, descriptor);
    kymo__proto_close(out, packet);
}

/* ---- names ---- */

static void add_name(struct kymo_proto *out, unsigned field, uint64_t id, const char *text)
{
    size_t entry = kymo__proto_open(out, field);
    kymo__proto_uint(out, NAME_ID, id);
    kymo__proto_text(out, NAME_TEXT, text);
    kymo__proto_close(out, entry);
}

static void add_source(struct kymo_proto *out, uint64_t id, const struct kymo_callable *callable)
{
    size_t entry = kymo__proto_open(out, INTERNED_SOURCE);
    kymo__proto_uint(out, SOURCE_ID, id);
    kymo__proto_text(out, SOURCE_FILE, callable->file);
    kymo__proto_text(out, SOURCE_FUNCTION, callable->name);
    kymo__proto_uint(out, SOURCE_LINE, callable->line);
    kymo__proto_close(out, entry);
}

void kymo__perfetto_know(struct kymo_proto *out, struct kymo_perfetto_thread *t, uint32_t index,
                         unsigned what)
{
    if (kymo__likely(t->known[index] & what))
        return;
    const struct kymo_callable *callable = &t->p->callables.all[index];
    const char *name = *callable->name ? callable->name : "(unnamed)";
    size_t packet = kymo__perfetto_packet(out, t),
           interned = kymo__proto_open(out, PACKET_INTERNED);
    if (what == KNOWS_NOTE) {
        add_name(out, INTERNED_ANNOTATION, (uint64_t)index + NOTES, name);
    } else {
        add_name(out, INTERNED_NAME, (uint64_t)index + 1, name);
        if (*callable->file)
            add_source(out, (uint64_t)index + 1, callable);
    }
    kymo__proto_close(out, interned);
    kymo__proto_close(out, packet);
    t->known[index] |= (uint8_t)what;
}

/* ---- annotations ---- */

static size_t open_note(struct kymo_proto *out, uint64_t id)
{
    size_t note = kymo__proto_open(out, EVENT_ANNOTATION);
    kymo__proto_uint(out, ANNOTATION_NAME_ID, id);
    return note;
}

void kymo__perfetto_note(struct kymo_proto *out, unsigned note, uint64_t value)
{
    size_t opened = open_note(out, note);
    kymo__proto_uint(out, ANNOTATION_UINT, value);
    kymo__proto_close(out, opened);
}

void kymo__perfetto_note_text(struct kymo_proto *out, unsigned note, const char *text)
{
    size_t opened = open_note(out, note);
    kymo__proto_text(out, ANNOTATION_TEXT, text);
    kymo__proto_close(out, opened);
}

void kymo__perfetto_note_false(struct kymo_proto *out, unsigned note)
{
    size_t opened = open_note(out, note);
    kymo__proto_uint(out, ANNOTATION_BOOL, 0);
    kymo__proto_close(out, opened);
}

void kymo__perfetto_know_args(struct kymo_proto *out, struct kymo_perfetto_thread *t,
                              const struct kymo_call_arg *args, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!kymo__op_owns_arg(&t->p->ops, &args[i]))
            kymo__perfetto_know(out, t, kymo__callable_of(&t->p->callables, args[i].key),
                                KNOWS_NOTE);
}

static void add_value(struct kymo_proto *out, const struct kymo_perfetto_thread *t,
                      const struct kymo_call_arg *arg)
{
    struct kymo_buffer text = {0};
    double real;
    switch (arg->type) {
    case KYMO_FIELD_UINT:
    case KYMO_FIELD_STACK:
    case KYMO_FIELD_THREAD:
    case KYMO_FIELD_TASK:
    case KYMO_FIELD_ID:
        kymo__proto_uint(out, ANNOTATION_UINT, arg->value);
        break;
    case KYMO_FIELD_INT:
        kymo__proto_uint(out, ANNOTATION_INT, arg->value);
        break;
    case KYMO_FIELD_FLOAT:
        memcpy(&real, &arg->value, sizeof(real));
        kymo__proto_double(out, ANNOTATION_DOUBLE, real);
        break;
    case KYMO_FIELD_ADDRESS:
        kymo__proto_uint(out, ANNOTATION_POINTER, arg->value);
        break;
    default:
        if (kymo__arg_show(&text, t->p->capture->reader, arg) < 0)
            out->error = -ENOMEM;
        else
            kymo__proto_text(out, ANNOTATION_TEXT, (const char *)text.bytes);
        kymo__buffer_fini(&text);
    }
}

void kymo__perfetto_args(struct kymo_proto *out, const struct kymo_perfetto_thread *t,
                         const struct kymo_call_arg *args, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t index = kymo__callable_of(&t->p->callables, args[i].key);
        if (kymo__op_owns_arg(&t->p->ops, &args[i]))
            continue;
        size_t opened = open_note(out, (uint64_t)index + NOTES);
        add_value(out, t, &args[i]);
        kymo__proto_close(out, opened);
    }
}

/* ---- begins and ends ---- */

/* Write the packet at WHEN whose track event is the LEN bytes at HEAD; KYMO__PERFETTO_HEAD bytes
   can be read there. */
static inline int put_slice(struct kymo_crew_thread *thread, struct kymo_perfetto_thread *t,
                            kymo_ns when, const uint8_t *head, unsigned len)
{
    struct kymo_buffer *b = &thread->out;
    if (kymo__unlikely(b->capacity - b->len < PACKET_MOST)) {
        int rc = kymo__buffer_reserve(b, PACKET_MOST);
        if (rc < 0)
            return rc;
    }
    uint8_t *start = b->bytes + b->len, *at = start + 2;
    *at++ = PACKET_TIMESTAMP << 3;
    at = kymo__varint_put(at, (uint64_t)(when - t->last));
    memcpy(at, t->prefix, sizeof(t->prefix));
    at += t->prefix_len;
    memcpy(at, head, KYMO__PERFETTO_HEAD);
    at += len;
    start[0] = TRACE_PACKET << 3 | 2;
    start[1] = (uint8_t)(at - start - 2);
    b->len += (size_t)(at - start);
    t->last = when;
    return 0;
}

/* The track for calls at DEPTH; 0 for the thread's own. */
static uint64_t track_at(struct kymo_proto *out, struct kymo_perfetto_thread *t, uint32_t depth)
{
    uint32_t floor = depth / KYMO__PERFETTO_DEEP;
    if (!floor)
        return 0;
    char name[64];
    uint64_t track = kymo__perfetto_track(t->p, TRACK_OF_DEPTH, t->sequence, floor);
    snprintf(name, sizeof(name), "calls from depth %u on", floor * KYMO__PERFETTO_DEEP);
    kymo__perfetto_show(out, t, track, t->track, name);
    return track;
}

/* Write a call that is too deep for the thread's own track, or has an ARROW. */
static int enter_with(struct kymo_crew_thread *thread, struct kymo_perfetto_thread *t,
                      const struct kymo_open_call *frame, uint32_t depth,
                      const struct kymo_op_arrow *arrow)
{
    struct kymo_proto out = {.out = &thread->out};
    uint32_t index = kymo__callable_of(&t->p->callables, frame->key);
    const struct kymo_perfetto_head *head = &t->p->heads[index];
    uint64_t track = track_at(&out, t, depth);
    size_t packet = kymo__perfetto_packet_at(&out, t, frame->start);
    size_t event = kymo__proto_open(&out, PACKET_TRACK_EVENT);
    if (track)
        kymo__proto_uint(&out, EVENT_TRACK, track);
    if (!out.error)
        out.error = kymo__buffer_add(out.out, head->bytes + 2, head->len - 2u);
    if (arrow) /* no callable has this number */
        kymo__proto_fixed64(&out, arrow->end ? EVENT_LAST_FLOW : EVENT_FLOW,
                            kymo__perfetto_track(t->p, ARROW, UINT32_MAX, arrow->number));
    kymo__proto_close(&out, event);
    kymo__proto_close(&out, packet);
    return out.error;
}

/* Like put_slice, for time going backwards, which happens only in a damaged capture. */
static int put_early(struct kymo_crew_thread *thread, struct kymo_perfetto_thread *t, kymo_ns when,
                     const uint8_t *head, unsigned len)
{
    struct kymo_proto out = {.out = &thread->out};
    size_t packet = kymo__perfetto_packet_at(&out, t, when);
    if (!out.error)
        out.error = kymo__buffer_add(out.out, head, len);
    kymo__proto_close(&out, packet);
    return out.error;
}

int kymo__perfetto_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct kymo_crew_thread *thread = arg;
    struct kymo_perfetto_thread *t = thread->state;
    uint32_t index = kymo__callable_of(&t->p->callables, frame->key);
    const struct kymo_perfetto_head *head = &t->p->heads[index];
    if (kymo__unlikely(!(t->known[index] & KNOWS_NAME))) {
        struct kymo_proto out = {.out = &thread->out};
        kymo__perfetto_know(&out, t, index, KNOWS_NAME);
        if (out.error)
            return out.error;
    }
    const struct kymo_op_arrow *arrow =
        kymo__op_arrow_at(&t->p->ops, thread->info.index, frame->number);
    kymo__op_track_enter(&t->ops, depth);
    if (kymo__unlikely(depth >= KYMO__PERFETTO_DEEP || arrow))
        return enter_with(thread, t, frame, depth, arrow);
    if (kymo__unlikely(frame->start < t->last))
        return put_early(thread, t, frame->start, head->bytes, head->len);
    return put_slice(thread, t, frame->start, head->bytes, head->len);
}

/* Write the end of a slice that has annotations. */
static int leave_with(struct kymo_crew_thread *thread, struct kymo_perfetto_thread *t,
                      const struct kymo_slice *slice, const struct kymo_opcall *op)
{
    const struct kymo_open_call *frame = slice->frame;
    struct kymo_proto out = {.out = &thread->out};
    kymo__perfetto_know_args(&out, t, slice->args, slice->arg_count);
    uint64_t track = track_at(&out, t, slice->depth);
    size_t packet = kymo__perfetto_packet_at(&out, t, slice->end);
    size_t event = kymo__proto_open(&out, PACKET_TRACK_EVENT);
    kymo__proto_uint(&out, EVENT_TYPE, TYPE_END);
    if (track)
        kymo__proto_uint(&out, EVENT_TRACK, track);
    if (frame->id)
        kymo__perfetto_note(&out, NOTE_GENERATOR, frame->id);
    if (frame->enter == 1 || frame->enter == 2)
        kymo__perfetto_note_text(&out, NOTE_ENTER, kymo_detail_word(KYMO_ENTER, frame->enter));
    if (slice->leave == 1 || slice->leave == 2)
        kymo__perfetto_note_text(&out, NOTE_LEAVE, kymo_detail_word(KYMO_LEAVE, slice->leave));
    if (slice->flags & KYMO__OPEN_AT_START)
        kymo__perfetto_note_false(&out, NOTE_STARTED);
    if (slice->flags & KYMO__OPEN_AT_END)
        kymo__perfetto_note_false(&out, NOTE_FINISHED);
    if (slice->flags & KYMO__END_LOST)
        kymo__perfetto_note_false(&out, NOTE_END_LOST);
    if (op)
        kymo__perfetto_op(&out, op);
    kymo__perfetto_args(&out, t, slice->args, slice->arg_count);
    kymo__proto_close(&out, event);
    kymo__proto_close(&out, packet);
    return out.error;
}

int kymo__perfetto_leave(void *arg, const struct kymo_slice *slice)
{
    static const uint8_t tail[KYMO__PERFETTO_HEAD] = {PACKET_TRACK_EVENT << 3 | 2, 2,
                                                      EVENT_TYPE << 3, TYPE_END};
    struct kymo_crew_thread *thread = arg;
    struct kymo_perfetto_thread *t = thread->state;
    const struct kymo_open_call *frame = slice->frame;
    const struct kymo_opcall *op = NULL;
    bool is_op = kymo__op_is(&t->p->ops.keys, frame->key);
    if (kymo__unlikely(is_op || kymo__op_track_is_open(&t->ops))) {
        int rc = kymo__op_track_leave(&t->ops, &t->p->ops, thread->info.index, slice, &op);
        if (rc < 0)
            return rc;
    }
    if (kymo__unlikely(is_op || frame->id || frame->enter || slice->leave || slice->flags ||
                       slice->arg_count || slice->depth >= KYMO__PERFETTO_DEEP))
        return leave_with(thread, t, slice, is_op ? op : NULL);
    if (kymo__unlikely(slice->end < t->last))
        return put_early(thread, t, slice->end, tail, 4);
    return put_slice(thread, t, slice->end, tail, 4);
}
