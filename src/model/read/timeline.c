/* timeline.c — the calls of a capture as a list: see kymo/averages.h. */
#include <errno.h>
#include <kymo/averages.h>
#include <kymo/lane.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "buffer.h"
#include "calllines.h"
#include "fields.h"
#include "opjoin.h"
#include "pace.h"

enum { STEP = 16384, RESUME = 1, YIELD = 1 };

/* Call numbers are below this, so that one or NOTHING fits in a word. */
#define NOTHING UINT32_MAX

struct call {
    kymo_ns start, end, self;
    uint64_t id, number;
    uint32_t callable, thread;
    uint32_t parent;     /* or NOTHING */
    uint32_t children;   /* listed calls in it */
    uint64_t note;       /* operators: where their note is in `notes`, plus 1; 0: nowhere */
    uint32_t line, from; /* where it was entered, and called from, or 0 */
    uint64_t shown;      /* number among the calls that are shown, or 0 */
    uint8_t enter, leave, open;
};

/* Before the bytes of a note. */
struct note {
    uint32_t key, bytes;
};

struct kymo_timeline {
    struct kymo_callables callables;
    bool functions, whole, first_lines;
    uint64_t shown; /* calls of functions so far */
    bool cut;       /* in any thread */
    struct call *calls;
    size_t count, capacity;
    uint32_t thread;    /* thread being read */
    uint32_t *going_on; /* open spans whose enclosing call has ended; the innermost last */
    size_t going_on_count, going_on_capacity;
    struct kymo_buffer notes; /* each after a struct note */
    struct kymo_opjoin parts; /* of the next operator of the thread */
    const struct kymo_reader *reader;
};

static bool wanted(const struct kymo_timeline *t, uint32_t callable)
{
    return t->functions || kymo__class_is_marked(t->callables.all[callable].class);
}

/* A span that outlives the call in which it began comes in parts but is one span. Sets *MARK to the
   mark of the previous part. */
static bool goes_on(struct kymo_timeline *t, uint32_t callable, uint64_t *mark)
{
    for (size_t i = t->going_on_count; i-- > 0;) {
        uint32_t number = t->going_on[i];
        if (t->calls[number].callable != callable)
            continue;
        memmove(t->going_on + i, t->going_on + i + 1,
                (--t->going_on_count - i) * sizeof(*t->going_on));
        *mark = (uint64_t)number + 1;
        return true;
    }
    return false;
}

/* A frame's mark is the number of the nearest listed call at or above it, plus 1. */
static int timeline_enter(void *arg, struct kymo_open_call *frame, uint32_t depth)
{
    struct kymo_timeline *t = arg;
    uint32_t callable = kymo__callable_of(&t->callables, frame->key);
    uint64_t above = depth ? frame[-1].mark : 0;
    if (!wanted(t, callable)) {
        frame->mark = above;
        return 0;
    }
    if (frame->enter == RESUME && !frame->id && goes_on(t, callable, &frame->mark)) {
        t->calls[frame->mark - 1].parent = above ? (uint32_t)(above - 1) : NOTHING;
        return 0;
    }
    if (t->count >= NOTHING)
        return -EOVERFLOW;
    int rc = kymo__array_grow(&t->calls, &t->capacity, t->count, sizeof(*t->calls));
    if (rc < 0)
        return rc;
    t->calls[t->count++] = (struct call){
        .start = frame->start,
        .callable = callable,
        .thread = t->thread,
        .parent = above ? (uint32_t)(above - 1) : NOTHING,
        .id = frame->id,
        .number = frame->number,
        .enter = frame->enter,
        .line = t->callables.all[callable].line,
    };
    frame->mark = t->count;
    return 0;
}

/* Take the lines of CALL from SLICE. A function that was named by the program has none. */
static void take_lines(const struct kymo_timeline *t, struct call *call,
                       const struct kymo_slice *slice)
{
    struct kymo_call_lines lines = kymo__call_lines(&t->callables, slice, t->first_lines);
    const char *colon = lines.from ? strrchr(lines.from, ':') : NULL;
    if (lines.line >= 0 && *t->callables.all[call->callable].file)
        call->line = (uint32_t)lines.line;
    call->from = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
}

static int timeline_leave(void *arg, const struct kymo_slice *slice)
{
    struct kymo_timeline *t = arg;
    const struct kymo_open_call *frame = slice->frame;
    kymo_ns length = slice->end - frame->start;
    if (!wanted(t, kymo__callable_of(&t->callables, frame->key)))
        return 0;
    struct call *call = &t->calls[frame->mark - 1];
    call->end = slice->end;
    /* By now `self` holds minus the time of the listed calls inside it. */
    call->self += length;
    call->leave = slice->leave;
    call->open = slice->flags & (KYMO__OPEN_AT_START | KYMO__OPEN_AT_END);
    if (slice->arg_count && !kymo__class_is_marked(t->callables.all[call->callable].class))
        take_lines(t, call, slice);
    if (call->parent != NOTHING)
        t->calls[call->parent].self -= length;
    if (slice->leave != YIELD || frame->id ||
        !kymo__class_is_marked(t->callables.all[call->callable].class))
        return 0;
    int rc = kymo__array_grow(&t->going_on, &t->going_on_capacity, t->going_on_count,
                              sizeof(*t->going_on));
    if (rc == 0)
        t->going_on[t->going_on_count++] = (uint32_t)(frame->mark - 1);
    return rc;
}

/* ---- operators */

static bool is_operator(const struct kymo_timeline *t, const struct call *call)
{
    return t->callables.all[call->callable].class == KYMO_CLASS_OPERATOR;
}

/* The number in field NAME of EVENT, or 0. */
static uint64_t number_of(const struct kymo_timeline *t, const struct kymo_event *event,
                          const char *name)
{
    struct kymo_fields fields;
    struct kymo_call_arg field;
    kymo__fields_begin(&fields, t->reader, event);
    while (kymo__fields_next(&fields, &field))
        if (strcmp(kymo__key_name(t->reader, field.key), name) == 0)
            return field.value;
    return 0;
}

static int take_part(struct kymo_timeline *t, const struct kymo_event *event)
{
    struct kymo_opcolumn columns[KYMO__COLUMNS];
    size_t head;
    if (!kymo__opjoin_columns(t->reader, event, columns, &head))
        return 0;
    return kymo__opjoin_add(&t->parts, number_of(t, event, "first"), columns);
}

/* Add the payload of EVENT, the note of an operator, to the notes. */
static int add_payload(struct kymo_timeline *t, const struct kymo_event *event)
{
    struct kymo_opcolumn columns[KYMO__COLUMNS];
    uint64_t flags = t->parts.columns[KYMO__COLUMN_KINDS].count ? number_of(t, event, "flags") : 0;
    size_t head;
    if (!(flags & KYMO_OP_PARTS) || !kymo__opjoin_columns(t->reader, event, columns, &head))
        return kymo__buffer_add(&t->notes, event->payload, event->payload_bytes);
    kymo__opjoin_take(&t->parts, flags, columns);
    int rc = kymo__buffer_add(&t->notes, event->payload, head);
    for (size_t i = 0; rc == 0 && i < KYMO__COLUMNS; i++) {
        rc = kymo__buffer_add_varint(&t->notes, columns[i].count);
        if (rc == 0)
            rc = kymo__buffer_add(&t->notes, columns[i].bytes, columns[i].length);
    }
    return rc;
}

/* The note "operator.in" comes directly after the enter of its operator, and its parts before. */
static int timeline_event(void *arg, const struct kymo_event *event)
{
    struct kymo_timeline *t = arg;
    if (event->kind != KYMO_PAYLOAD)
        return 0;
    if (kymo__unlikely(strcmp(kymo__key_name(t->reader, event->key), "operator.part") == 0))
        return take_part(t, event);
    if (!t->count)
        return 0;
    struct call *call = &t->calls[t->count - 1];
    if (call->note || call->thread != t->thread || !is_operator(t, call) ||
        strcmp(kymo__key_name(t->reader, event->key), "operator.in") != 0)
        return 0;
    struct note note = {.key = event->key};
    size_t at = t->notes.len, first = at + sizeof(note);
    int rc = kymo__buffer_add(&t->notes, &note, sizeof(note));
    if (rc == 0)
        rc = add_payload(t, event);
    if (rc < 0)
        return rc;
    note.bytes = (uint32_t)(t->notes.len - first);
    memcpy(t->notes.bytes + at, &note, sizeof(note));
    call->note = at + 1;
    return 0;
}

/* An operator that does nothing but call another of its name is listed once: the inner one, a call
   of the thread whose first call is FIRST, becomes a part of the outer. */
static void merge_doubles(struct kymo_timeline *t, size_t first)
{
    size_t to = first;
    uint32_t *now_at = t->going_on; /* not in use any more */
    for (size_t i = first; i < t->count; i++)
        if (t->calls[i].parent != NOTHING)
            t->calls[t->calls[i].parent].children++;
    for (size_t i = first; i < t->count; i++) {
        struct call call = t->calls[i];
        if (call.parent != NOTHING)
            call.parent = now_at[call.parent - first];
        struct call *above = call.parent != NOTHING ? &t->calls[call.parent] : NULL;
        if (above && above->children == 1 && above->callable == call.callable &&
            is_operator(t, above)) {
            above->self += call.self;
            above->children = call.children;
            now_at[i - first] = call.parent;
            continue;
        }
        now_at[i - first] = (uint32_t)to;
        t->calls[to++] = call;
    }
    t->count = to;
}

static int merge_operators(struct kymo_timeline *t, size_t first)
{
    size_t room = t->count - first;
    if (room > t->going_on_capacity) {
        kymo__free(t->going_on);
        t->going_on_capacity = 0;
        t->going_on = kymo__alloc(room * sizeof(*t->going_on));
        if (!t->going_on)
            return -ENOMEM;
        t->going_on_capacity = room;
    }
    merge_doubles(t, first);
    return 0;
}

static int read_thread(struct kymo_timeline *t, struct kymo_capture *capture, kymo_ns from,
                       kymo_ns to, kymo_ns until, bool operators)
{
    const struct kymo_visitor visitor = {.arg = t,
                                         .enter = timeline_enter,
                                         .leave = timeline_leave,
                                         .event = operators ? timeline_event : NULL};
    const size_t first = t->count;
    struct kymo_calls *calls = kymo__alloc(sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    int rc = kymo__calls_init(calls, capture, t->thread, from, to, &visitor);
    if (rc == 0)
        rc = 1;
    bool cut = false;
    while (rc > 0)
        rc = kymo__pace_read(calls, STEP, until, &cut);
    t->cut |= cut;
    kymo__opjoin_fini(&t->parts);
    kymo__calls_fini(calls);
    kymo__free(calls);
    return rc == 0 && operators && !t->whole ? merge_operators(t, first) : rc;
}

/* Is call I shown only as the function that it runs? Kineto knows no calls of objects. */
static bool is_hidden(const struct kymo_timeline *t, size_t i)
{
    const struct call *call = &t->calls[i], *next = call + 1;
    return t->callables.all[call->callable].class == KYMO_CLASS_CALLABLE && i + 1 < t->count &&
           next->parent == i && next->number == call->number + 1 &&
           kymo__callable_runs_object(&t->callables.all[next->callable]);
}

/* Number the calls of functions of the thread whose first call is FIRST. */
static void number_calls(struct kymo_timeline *t, size_t first)
{
    for (size_t i = first; t->functions && i < t->count; i++)
        if (!kymo__class_is_marked(t->callables.all[t->calls[i].callable].class) &&
            !is_hidden(t, i))
            t->calls[i].shown = ++t->shown;
}

static bool has_operators(const struct kymo_callables *callables)
{
    for (size_t i = 0; i < callables->count; i++)
        if (callables->all[i].class == KYMO_CLASS_OPERATOR)
            return true;
    return false;
}

struct place {
    kymo_ns start;
    uint32_t index;
};

static int earlier(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Calls are grouped by thread; sort them all by time. */
static int sort_events(struct kymo_timeline *t)
{
    struct place *places = kymo__alloc((t->count + 1) * sizeof(*places));
    uint32_t *now_at = kymo__alloc((t->count + 1) * sizeof(*now_at));
    struct call *sorted = kymo__alloc((t->count + 1) * sizeof(*sorted));
    int rc = places && now_at && sorted ? 0 : -ENOMEM;
    if (rc == 0) {
        for (size_t i = 0; i < t->count; i++)
            places[i] = (struct place){t->calls[i].start, (uint32_t)i};
        qsort(places, t->count, sizeof(*places), earlier);
        for (size_t i = 0; i < t->count; i++)
            now_at[places[i].index] = (uint32_t)i;
        for (size_t i = 0; i < t->count; i++) {
            sorted[i] = t->calls[places[i].index];
            if (sorted[i].parent != NOTHING)
                sorted[i].parent = now_at[sorted[i].parent];
        }
        struct call *before = t->calls;
        t->calls = sorted;
        sorted = before;
    }
    kymo__free(places);
    kymo__free(now_at);
    kymo__free(sorted);
    return rc;
}

int kymo_timeline_new(struct kymo_capture *capture, kymo_ns from, kymo_ns to, unsigned what,
                      struct kymo_timeline **timeline)
{
    struct kymo_timeline *t = kymo__alloc_zeroed(sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->functions = what & KYMO_TIMELINE_FUNCTIONS;
    t->whole = what & KYMO_TIMELINE_WHOLE;
    t->first_lines = what & KYMO_TIMELINE_FIRST_LINES;
    t->reader = capture->reader;
    int rc = kymo__callables_init(&t->callables, capture);
    bool operators = rc == 0 && has_operators(&t->callables);
    uint32_t threads = (uint32_t)capture->reader->thread_count;
    struct kymo_pace pace = kymo__pace_of(capture, NULL, capture->until);
    for (t->thread = 0; rc == 0 && t->thread < threads; t->thread++) {
        struct kymo_thread_info info = {.size = sizeof(info)};
        kymo_capture_thread(capture, t->thread, &info);
        t->going_on_count = 0;
        const size_t first = t->count;
        rc = read_thread(t, capture, from, to, kymo__pace_share(&pace, info.records), operators);
        number_calls(t, first);
    }
    if (rc == 0 && threads > 1)
        rc = sort_events(t);
    if (rc < 0) {
        kymo_timeline_free(t);
        return rc;
    }
    *timeline = t;
    return 0;
}

void kymo_timeline_free(struct kymo_timeline *t)
{
    if (!t)
        return;
    kymo__callables_fini(&t->callables);
    kymo__free(t->calls);
    kymo__free(t->going_on);
    kymo__buffer_fini(&t->notes);
    kymo__free(t);
}

bool kymo_timeline_is_cut(const struct kymo_timeline *t)
{
    return t->cut;
}

size_t kymo_timeline_count(const struct kymo_timeline *t)
{
    return t->count;
}

int kymo_timeline_get(const struct kymo_timeline *t, size_t index, struct kymo_call *call)
{
    if (index >= t->count || call->size < sizeof(size_t))
        return -EINVAL;
    const struct call *c = &t->calls[index];
    const struct kymo_callable *callable = &t->callables.all[c->callable];
    const struct kymo_call all = {
        .size = call->size,
        .callee =
            {
                .size = sizeof(struct kymo_callee),
                .name = callable->name,
                .file = callable->file,
                .line = c->line,
                .class_ = callable->class,
            },
        .start = c->start,
        .end = c->end,
        .self = c->self,
        .parent = c->parent == NOTHING ? -1 : (int64_t)c->parent,
        .id = c->id,
        .thread = c->thread,
        .enter = c->enter,
        .leave = c->leave,
        .open = c->open,
        .number = c->number,
        .from = c->from,
        .call = c->shown,
    };
    memcpy(call, &all, call->size < sizeof(all) ? call->size : sizeof(all));
    return 0;
}

int kymo_timeline_operator(const struct kymo_timeline *t, size_t index, struct kymo_event *event)
{
    if (index >= t->count || event->size < sizeof(*event))
        return -EINVAL;
    if (!t->calls[index].note)
        return -ENOENT;
    const uint8_t *at = t->notes.bytes + t->calls[index].note - 1;
    struct note note;
    memcpy(&note, at, sizeof(note));
    *event = (struct kymo_event){
        .size = event->size,
        .time = t->calls[index].start,
        .thread = t->calls[index].thread,
        .kind = KYMO_PAYLOAD,
        .key = note.key,
        .name = kymo__key_name(t->reader, note.key),
        .file = "",
        .text = "",
        .payload = at + sizeof(note),
        .payload_bytes = note.bytes,
    };
    return 0;
}
