/* chrome.c — see chrome.h.

   Speed is a matter of copying: what is the same for all calls of a callable, and for all
   events of a thread, is put together once. Numbers are written by hand. */
#include "chrome.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "atomic.h"
#include "buffer.h"
#include "callables.h"
#include "calls.h"
#include "utf8.h"

enum {
    STEP = 16384,
    EVENT_MOST = 1024, /* bytes of an event without its names and arguments */
    LANES_MOST = 32,   /* tracks for overlapping events of one thread */
};

/* Times are counted from a moment that processes recorded in the same three months share,
   so that their files can be put together, and that leaves a double room for nanoseconds. */
#define BASE_STEP INT64_C(7889238000000000)

/* No system's thread ids reach these: a second thread with an id already taken, and the
   tracks of finished events. */
#define SECOND_TID UINT64_C(1000000000)
#define LANE_TID UINT64_C(2000000000)

#define ID_EXACT (UINT64_C(1) << 53) /* a reader in JavaScript keeps ids below this apart */

struct text {
    char *bytes;
    size_t len;
};

struct chrome {
    const struct kymo_export_options *options;
    struct kymo_capture *capture;
    struct kymo_outfile *out;
    struct kymo_callables callables;
    struct text *heads; /* by callable: the beginning of a slice, up to its thread */
    struct text *names; /* by callable: its name as a string of JSON, for other events */
    struct kymo_buffer scratch;
    int64_t shift; /* from monotonic time to the file's */
    int64_t pid;
    uint64_t ids; /* given to calls so far */
    /* The thread being written. */
    uint32_t thread;
    char place[96]; /* "pid":…,"tid":…,"ts": */
    size_t place_len;
    const char *thread_name;
    kymo_ns lanes[LANES_MOST]; /* when the last event on each track ends */
    unsigned lane_count;
};

/* ------------------------------------------------------------------ bytes --- */

static const char digits[] = "00010203040506070809101112131415161718192021222324"
                             "25262728293031323334353637383940414243444546474849"
                             "50515253545556575859606162636465666768697071727374"
                             "75767778798081828384858687888990919293949596979899";

static inline char *put_uint(char *at, uint64_t v)
{
    char text[20], *p = text + sizeof(text);
    while (v >= 100) {
        p -= 2;
        memcpy(p, digits + 2 * (v % 100), 2);
        v /= 100;
    }
    if (v >= 10) {
        p -= 2;
        memcpy(p, digits + 2 * v, 2);
    } else {
        *--p = (char)('0' + v);
    }
    size_t len = (size_t)(text + sizeof(text) - p);
    memcpy(at, p, len);
    return at + len;
}

static inline char *put(char *at, const char *text, size_t len)
{
    memcpy(at, text, len);
    return at + len;
}

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

/* NS as microseconds with three decimals. */
static inline char *put_time(char *at, int64_t ns)
{
    uint64_t size = (uint64_t)ns;
    if (kymo__unlikely(ns < 0)) {
        *at++ = '-';
        size = -size;
    }
    at = put_uint(at, size / 1000);
    unsigned rest = (unsigned)(size % 1000);
    at[0] = '.';
    at[1] = (char)('0' + rest / 100);
    memcpy(at + 2, digits + 2 * (rest % 100), 2);
    return at + 4;
}

static char *put_double(char *at, double value)
{
    if (!isfinite(value))
        return at + sprintf(at, "\"%s\"",
                            isnan(value) ? "NaN"
                            : value > 0  ? "Infinity"
                                         : "-Infinity");
    if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value)
        return put_uint(at, (uint64_t)value);
    for (int precision = 15;; precision++) {
        int len = sprintf(at, "%.*g", precision, value);
        if (precision == 17 || strtod(at, NULL) == value)
            return at + len;
    }
}

/* Text as the inside of a string of JSON. */
static int add_escaped(struct kymo_buffer *b, const char *text)
{
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] - 0x20u < 0x5fu && text[plain] != '"' &&
               text[plain] != '\\')
            plain++;
        int rc = kymo__buffer_add(b, text, plain);
        text += plain;
        if (rc == 0 && *text) {
            char form[8];
            uint32_t code = kymo__utf8_next(&text);
            int len;
            if (code == '"' || code == '\\')
                len = sprintf(form, "\\%c", (char)code);
            else if (code < 0x20 || code == 0x7f)
                len = sprintf(form, "\\u%04x", code & 0xff);
            else
                len = kymo__utf8_encode(code, form);
            rc = kymo__buffer_add(b, form, (size_t)len);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int add_text(struct kymo_buffer *b, const char *text)
{
    return kymo__buffer_add(b, text, strlen(text));
}

static int keep(struct text *text, const struct kymo_buffer *b)
{
    text->bytes = kymo__alloc_text((const char *)b->bytes, b->len);
    text->len = b->len;
    return text->bytes ? 0 : -ENOMEM;
}

/* Room for an event with MORE bytes of arguments, after its beginning, TEXT and NAME, which
   may be of any length. What was put there is counted by done. */
static inline char *begin(struct chrome *c, const char *text, size_t len, const struct text *name,
                          size_t more)
{
    size_t name_len = name ? name->len : 0;
    if (kymo__unlikely(EVENT_MOST + len + name_len + more > KYMO__OUTFILE_ROOM)) {
        kymo__outfile_add(c->out, text, len);
        kymo__outfile_add(c->out, name ? name->bytes : "", name_len);
        return (char *)kymo__outfile_room(c->out, EVENT_MOST + more);
    }
    char *at = (char *)kymo__outfile_room(c->out, EVENT_MOST + len + name_len + more);
    at = put(at, text, len);
    return name ? put(at, name->bytes, name_len) : at;
}

static void done(struct chrome *c, const char *at)
{
    c->out->used = (size_t)((const uint8_t *)at - c->out->bytes);
}

/* ------------------------------------------------------------------ names --- */

/* The name of CALLABLE as Python or PyTorch's profiler would write it. */
static int add_name(struct kymo_buffer *b, const struct kymo_callable *callable)
{
    const char *name = callable->name, *file = callable->file, *dot = strrchr(name, '.');
    char line[16];
    int rc = 0;
    switch (callable->class) {
    case KYMO_CLASS_FUNCTION:
        snprintf(line, sizeof(line), "(%u): ", callable->line);
        rc |= *file ? add_escaped(b, file) | add_text(b, line) : 0;
        return rc | add_escaped(b, name);
    case KYMO_CLASS_NATIVE:
        return add_text(b, "<built-in function ") | add_escaped(b, name) | add_text(b, ">");
    case KYMO_CLASS_METHOD:
        rc = add_text(b, "<built-in method ") | add_escaped(b, dot ? dot + 1 : name);
        if (dot) {
            char *type = kymo__alloc_text(name, (size_t)(dot - name));
            rc |= type ? add_text(b, " of ") | add_escaped(b, type) | add_text(b, " object")
                       : -ENOMEM;
            kymo__free(type);
        }
        return rc | add_text(b, ">");
    case KYMO_CLASS_TYPE:
    case KYMO_CLASS_CALLABLE:
        rc = add_text(b, callable->class == KYMO_CLASS_TYPE ? "<class '" : "<");
        if (*file && strcmp(file, "builtins") != 0)
            rc |= add_escaped(b, file) | add_text(b, ".");
        rc |= add_escaped(b, name);
        return rc | add_text(b, callable->class == KYMO_CLASS_TYPE ? "'>" : " object>");
    case KYMO_CLASS_GC:
        return add_text(b, "Python GC");
    default:
        return add_escaped(b, name);
    }
}

static bool is_python(const struct kymo_callable *callable)
{
    return callable->class != KYMO_CLASS_NAME;
}

static int make_head(struct chrome *c, uint32_t index)
{
    const struct kymo_callable *callable = &c->callables.all[index];
    struct kymo_buffer *b = &c->scratch;
    b->len = 0;
    int rc = add_text(b, is_python(callable)
                             ? ",\n{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\""
                             : ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"");
    rc |= add_name(b, callable);
    rc |= add_text(b, "\",");
    return rc < 0 ? -ENOMEM : keep(&c->heads[index], b);
}

/* The name behind KEY as it stands between quotes. */
static const struct text *name_of(struct chrome *c, uint32_t key)
{
    uint32_t index = kymo__callable_of(&c->callables, key);
    if (!c->names[index].bytes) {
        c->scratch.len = 0;
        if (kymo__buffer_reserve(&c->scratch, 1) < 0 ||
            add_escaped(&c->scratch, c->callables.all[index].name) < 0 ||
            keep(&c->names[index], &c->scratch) < 0)
            return NULL;
    }
    return &c->names[index];
}

/* ----------------------------------------------------------------- slices --- */

/* A frame's mark is the id of the nearest Python call at or above it, plus 1. */
static int enter(void *arg, struct kymo_frame *frame, uint32_t depth)
{
    struct chrome *c = arg;
    uint32_t index = kymo__callable_of(&c->callables, frame->key);
    if (is_python(&c->callables.all[index]))
        frame->mark = ++c->ids;
    else
        frame->mark = depth ? frame[-1].mark : 0;
    return 0;
}

static char *put_args(struct chrome *c, char *at, const struct kymo_call_arg *args, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct text *name = name_of(c, args[i].key); /* there: see arg_bytes */
        *at++ = '"';
        at = put(at, name->bytes, name->len);
        at = PUT(at, "\":");
        at = put_uint(at, args[i].value);
        *at++ = ',';
    }
    return at;
}

/* How many bytes the arguments take at most; those from *COUNT on do not fit. */
static int arg_bytes(struct chrome *c, const struct kymo_call_arg *args, unsigned *count,
                     size_t *bytes)
{
    *bytes = 0;
    for (unsigned i = 0; i < *count; i++) {
        const struct text *name = name_of(c, args[i].key);
        if (!name)
            return -ENOMEM;
        if (*bytes + name->len + 32 > KYMO__OUTFILE_ROOM / 2)
            *count = i;
        else
            *bytes += name->len + 32;
    }
    return 0;
}

/* What is special about SLICE. */
static char *put_marks(char *at, const struct kymo_slice *slice)
{
    static const char *const leaves[] = {NULL, "yield", "unwind"};
    const struct kymo_frame *frame = slice->frame;
    if (frame->id) {
        at = PUT(at, "\"Generator id\":");
        at = put_uint(at, frame->id);
        *at++ = ',';
    }
    if (frame->enter == 1 || frame->enter == 2)
        at = frame->enter == 1 ? PUT(at, "\"Enter\":\"resume\",") : PUT(at, "\"Enter\":\"throw\",");
    if (slice->leave == 1 || slice->leave == 2)
        at += sprintf(at, "\"Leave\":\"%s\",", leaves[slice->leave]);
    if (slice->flags & KYMO__OPEN_AT_START)
        at = PUT(at, "\"started\":false,");
    if (slice->flags & KYMO__OPEN_AT_END)
        at = PUT(at, "\"finished\":false,");
    if (slice->flags & KYMO__END_LOST)
        at = PUT(at, "\"End lost\":true,");
    return at;
}

static int leave(void *arg, const struct kymo_slice *slice)
{
    struct chrome *c = arg;
    const struct kymo_frame *frame = slice->frame;
    uint32_t index = kymo__callable_of(&c->callables, frame->key);
    if (kymo__unlikely(!c->heads[index].bytes)) {
        int rc = make_head(c, index);
        if (rc < 0)
            return rc;
    }
    size_t more = 0;
    unsigned arg_count = slice->arg_count;
    if (kymo__unlikely(arg_count)) {
        int rc = arg_bytes(c, slice->args, &arg_count, &more);
        if (rc < 0)
            return rc;
    }
    const struct text *head = &c->heads[index];
    char *at = begin(c, head->bytes, head->len, NULL, more);
    at = put(at, c->place, c->place_len);
    at = put_time(at, kymo__ns_add(frame->start, c->shift));
    at = PUT(at, ",\"dur\":");
    at = put_time(at, slice->end - frame->start);
    at = PUT(at, ",\"args\":{");
    char *before = at;
    if (is_python(&c->callables.all[index])) {
        at = PUT(at, "\"Python thread\":");
        at = put_uint(at, c->thread);
        at = PUT(at, ",\"Python id\":");
        at = put_uint(at, frame->mark - 1);
        *at++ = ',';
        uint64_t parent = slice->depth ? frame[-1].mark : 0;
        if (parent) {
            at = PUT(at, "\"Python parent id\":");
            at = put_uint(at, parent - 1);
            *at++ = ',';
        }
    }
    if (kymo__unlikely(frame->id || frame->enter || slice->leave || slice->flags))
        at = put_marks(at, slice);
    if (kymo__unlikely(arg_count))
        at = put_args(c, at, slice->args, arg_count);
    at -= at > before; /* the last comma */
    done(c, PUT(at, "}}"));
    return 0;
}

/* ----------------------------------------------------------- other events --- */

/* An id: a number, or a string where a reader might round it. */
static char *put_id(char *at, uint64_t id)
{
    return id < ID_EXACT ? put_uint(at, id) : at + sprintf(at, "\"0x%" PRIx64 "\"", id);
}

/* The thread's track on which an event from START to END overlaps no other. */
static unsigned lane_for(struct chrome *c, kymo_ns start, kymo_ns end, bool *added)
{
    unsigned lane = 0;
    while (lane < c->lane_count && c->lanes[lane] > start)
        lane++;
    *added = lane == c->lane_count && lane < LANES_MOST;
    if (*added)
        c->lane_count++;
    lane = lane < LANES_MOST ? lane : LANES_MOST - 1;
    c->lanes[lane] = end > c->lanes[lane] || *added ? end : c->lanes[lane];
    return lane;
}

static int name_track(struct chrome *c, uint64_t tid, const char *name, const char *suffix,
                      uint64_t order)
{
    struct kymo_buffer *b = &c->scratch;
    char text[160];
    b->len = 0;
    snprintf(text, sizeof(text),
             ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRId64 ",\"tid\":%" PRIu64
             ",\"args\":{\"name\":\"",
             c->pid, tid);
    int rc = add_text(b, text) | add_escaped(b, name) | add_text(b, suffix);
    snprintf(text, sizeof(text),
             "\"}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%" PRId64
             ",\"tid\":%" PRIu64 ",\"args\":{\"sort_index\":%" PRIu64 "}}",
             c->pid, tid, order);
    rc |= add_text(b, text);
    if (rc < 0)
        return -ENOMEM;
    kymo__outfile_add(c->out, b->bytes, b->len);
    return 0;
}

static int write_complete(struct chrome *c, const struct kymo_event *event)
{
    kymo_ns length = event->id < INT64_MAX / 2 ? (kymo_ns)event->id : INT64_MAX / 2;
    bool added;
    unsigned lane = lane_for(c, event->time, event->time + length, &added);
    uint64_t tid = LANE_TID + (uint64_t)c->thread * LANES_MOST + lane;
    if (added) {
        char suffix[32] = "";
        if (lane)
            snprintf(suffix, sizeof(suffix), " (%u)", lane + 1);
        int rc = name_track(c, tid, c->thread_name, suffix, (uint64_t)c->thread * 100 + 1 + lane);
        if (rc < 0)
            return rc;
    }
    const struct text *name = name_of(c, event->key);
    if (!name)
        return -ENOMEM;
    static const char beginning[] = ",\n{\"ph\":\"X\",\"cat\":\"track\",\"name\":\"";
    char *at = begin(c, beginning, sizeof(beginning) - 1, name, 0);
    at += sprintf(at, "\",\"pid\":%" PRId64 ",\"tid\":%" PRIu64 ",\"ts\":", c->pid, tid);
    at = put_time(at, kymo__ns_add(event->time, c->shift));
    at = PUT(at, ",\"dur\":");
    at = put_time(at, length);
    done(c, PUT(at, "}"));
    return 0;
}

#define OWN_INSTANT ",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"kymo\",\"name\":\"kymo: "

/* That a function is not recorded from here on. */
static int write_off(struct chrome *c, const struct kymo_event *event)
{
    const struct text *name = name_of(c, event->key);
    if (!name)
        return -ENOMEM;
    char *at = begin(c, OWN_INSTANT, sizeof(OWN_INSTANT) - 1, name, 0);
    at = PUT(at, " not recorded from here on (overhead budget)\",");
    at = put(at, c->place, c->place_len);
    at = put_time(at, kymo__ns_add(event->time, c->shift));
    at = PUT(at, ",\"args\":{\"calls until then\":");
    at = put_uint(at, event->id);
    done(c, PUT(at, "}}"));
    return 0;
}

static int write_gap(struct chrome *c, const struct kymo_event *event)
{
    static const char *const reasons[] = {
        [KYMO_GAP_BUDGET] = "budget",   [KYMO_GAP_DISK] = "disk",     [KYMO_GAP_NESTED] = "nested",
        [KYMO_GAP_DAMAGED] = "damaged", [KYMO_GAP_FLIGHT] = "flight",
    };
    const char *reason =
        event->detail <= KYMO_GAP_FLIGHT && event->detail ? reasons[event->detail] : "unknown";
    char *at = begin(c, OWN_INSTANT, sizeof(OWN_INSTANT) - 1, NULL, 0);
    at = put_uint(at, event->id);
    at += sprintf(at, " events %s (%s)\",", event->detail == KYMO_GAP_FLIGHT ? "expired" : "lost",
                  reason);
    at = put(at, c->place, c->place_len);
    at = put_time(at, kymo__ns_add(event->time, c->shift));
    done(c, PUT(at, "}"));
    return 0;
}

/* How an event of each kind begins. */
static const char *const beginnings[] = {
    [KYMO_INSTANT] = ",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"",
    [KYMO_COUNTER] = ",\n{\"ph\":\"C\",\"cat\":\"counter\",\"name\":\"",
    [KYMO_FLOW_OUT] = ",\n{\"ph\":\"s\",\"cat\":\"flow\",\"name\":\"",
    [KYMO_FLOW_IN] = ",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"flow\",\"name\":\"",
    [KYMO_ASYNC_BEGIN] = ",\n{\"ph\":\"b\",\"cat\":\"async\",\"name\":\"",
    [KYMO_ASYNC_END] = ",\n{\"ph\":\"e\",\"cat\":\"async\",\"name\":\"",
};

static int write_mark(struct chrome *c, const struct kymo_event *event,
                      const struct kymo_call_arg *args, unsigned arg_count)
{
    const struct text *name = name_of(c, event->key);
    size_t more;
    if (!name || arg_bytes(c, args, &arg_count, &more) < 0)
        return -ENOMEM;
    const char *beginning = beginnings[event->kind];
    char *at = begin(c, beginning, strlen(beginning), name, more);
    at = PUT(at, "\",");
    at = put(at, c->place, c->place_len);
    at = put_time(at, kymo__ns_add(event->time, c->shift));
    if (event->kind == KYMO_FLOW_OUT || event->kind == KYMO_FLOW_IN) {
        at = PUT(at, ",\"id\":");
        at = put_id(at, event->id);
    } else if (event->kind == KYMO_ASYNC_BEGIN || event->kind == KYMO_ASYNC_END) {
        /* Readers match these by their id alone; here the name is a part of it. But what a
           task waits for belongs to the task. */
        uint32_t index = kymo__callable_of(&c->callables, event->key);
        bool task = is_python(&c->callables.all[index]) || strcmp(event->name, "await") == 0;
        at += sprintf(at, ",\"id\":\"%u:%" PRIu64 "\"", task ? 0 : index, event->id);
    }
    at = PUT(at, ",\"args\":{");
    char *before = at;
    if (event->kind == KYMO_COUNTER) {
        at = PUT(at, "\"value\":");
        at = put_double(at, event->value);
        *at++ = ',';
    } else if (event->kind == KYMO_ASYNC_BEGIN) {
        at = PUT(at, "\"id\":");
        at = put_uint(at, event->id);
        *at++ = ',';
    }
    at = put_args(c, at, args, arg_count);
    at -= at > before;
    done(c, PUT(at, "}}"));
    return 0;
}

static int other(void *arg, const struct kymo_event *event, const struct kymo_call_arg *args,
                 unsigned arg_count)
{
    struct chrome *c = arg;
    if (event->kind == KYMO_GAP)
        return write_gap(c, event);
    if (event->kind == KYMO_COMPLETE)
        return write_complete(c, event);
    if (event->kind == KYMO_OFF)
        return write_off(c, event);
    if (event->kind < sizeof(beginnings) / sizeof(beginnings[0]) && beginnings[event->kind])
        return write_mark(c, event, args, arg_count);
    return 0;
}

/* ------------------------------------------------------------------ whole --- */

static bool reserved(const char *key)
{
    static const char *const keys[] = {"schemaVersion",
                                       "deviceProperties",
                                       "displayTimeUnit",
                                       "traceEvents",
                                       "baseTimeNanoseconds",
                                       "traceName",
                                       "systemTraceEvents",
                                       "stackFrames",
                                       "samples",
                                       "process_name",
                                       "kymo"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Everything before the events of threads. */
static int write_beginning(struct chrome *c, const struct kymo_info *info)
{
    struct kymo_buffer b = {0};
    char text[256];
    const char *key, *value, *process = "";
    int rc =
        add_text(&b, "{\n\"schemaVersion\": 1,\n\"kymo\": {\"version\": \"" KYMO_VERSION "\"},\n"
                     "\"deviceProperties\": [],\n");
    for (uint32_t i = 0; kymo_capture_metadata(c->capture, i, &key, &value) == 0; i++) {
        if (strcmp(key, "process_name") == 0)
            process = value;
        if (!reserved(key))
            rc |= add_text(&b, "\"") | add_escaped(&b, key) | add_text(&b, "\": \"") |
                  add_escaped(&b, value) | add_text(&b, "\",\n");
    }
    int64_t wall = info->wall_start, base = wall < 0 ? 0 : wall - wall % BASE_STEP;
    c->shift = wall - base - info->start;
    c->pid = info->pid;
    snprintf(text, sizeof(text),
             "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %" PRId64
             ",\n\"traceEvents\": [\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRId64
             ",\"tid\":0,\"args\":{\"name\":\"",
             base, c->pid);
    rc |= add_text(&b, text) | add_escaped(&b, process);
    snprintf(text, sizeof(text),
             "\"}},\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%" PRId64
             ",\"tid\":0,\"args\":{\"labels\":\"CPU\"}}"
             ",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%" PRId64
             ",\"tid\":0,\"args\":{\"sort_index\":%" PRId64 "}}",
             c->pid, c->pid, c->pid);
    rc |= add_text(&b, text);
    if (rc == 0)
        kymo__outfile_add(c->out, b.bytes, b.len);
    kymo__buffer_fini(&b);
    return rc < 0 ? -ENOMEM : 0;
}

static void write_end(struct chrome *c, const struct kymo_info *info)
{
    kymo_ns end = c->options->to < info->end ? c->options->to : info->end;
    static const char beginning[] =
        ",\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\",\"ts\":";
    char *at = begin(c, beginning, sizeof(beginning) - 1, NULL, 0);
    at = put_time(at, kymo__ns_add(end, c->shift));
    done(c, PUT(at, "}\n]\n}\n"));
}

static int read_thread(struct chrome *c, uint64_t *events, uint64_t all)
{
    const struct kymo_export_options *o = c->options;
    const struct kymo_visitor visitor = {.arg = c, .enter = enter, .leave = leave, .other = other};
    struct kymo_calls *calls = kymo__alloc(sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    int rc = kymo__calls_init(calls, c->capture, c->thread, o->from > 0 ? o->from : INT64_MIN,
                              o->to, &visitor);
    if (rc == 0)
        rc = 1;
    while (rc > 0) {
        rc = kymo__calls_read(calls, STEP);
        rc = c->out->error ? c->out->error : rc;
        *events += STEP;
        if (rc > 0 && o->progress) {
            int told = o->progress(o->progress_arg, *events < all ? *events : all, all);
            rc = told < 0 ? told : rc;
        }
    }
    kymo__calls_fini(calls);
    kymo__free(calls);
    return rc;
}

struct named {
    uint64_t tid;
    uint32_t thread;
};

static int by_tid(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* A system thread id may have been used again; in the file each thread needs its own. The
   ids by thread, to be freed, or NULL. */
static uint64_t *give_tids(const struct kymo_reader *r)
{
    struct named *all = kymo__alloc((r->thread_count + 1) * sizeof(*all));
    uint64_t *tids = kymo__alloc((r->thread_count + 1) * sizeof(*tids));
    if (!all || !tids) {
        kymo__free(all);
        kymo__free(tids);
        return NULL;
    }
    for (uint32_t i = 0; i < r->thread_count; i++)
        all[i] = (struct named){r->threads[i].tid, i};
    if (r->thread_count)
        qsort(all, r->thread_count, sizeof(*all), by_tid);
    for (size_t i = 0; i < r->thread_count; i++) {
        bool again = i && all[i].tid == all[i - 1].tid;
        tids[all[i].thread] = again ? SECOND_TID + all[i].thread : all[i].tid;
    }
    kymo__free(all);
    return tids;
}

static int write_thread(struct chrome *c, const struct kymo_thread_info *info, uint64_t tid,
                        uint64_t *events, uint64_t all)
{
    char unnamed[40];
    snprintf(unnamed, sizeof(unnamed), "thread %" PRId64, info->tid);
    c->thread = info->index;
    c->thread_name = *info->name ? info->name : unnamed;
    c->lane_count = 0;
    c->place_len = (size_t)snprintf(c->place, sizeof(c->place),
                                    "\"pid\":%" PRId64 ",\"tid\":%" PRIu64 ",\"ts\":", c->pid, tid);
    int rc = name_track(c, tid, c->thread_name, "", (uint64_t)info->index * 100);
    return rc < 0 ? rc : read_thread(c, events, all);
}

static int write_threads(struct chrome *c, uint64_t all)
{
    const struct kymo_reader *r = c->capture->reader;
    uint64_t events = 0, *tids = give_tids(r);
    int rc = tids ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < r->thread_count; i++) {
        struct kymo_thread_info info = {.size = sizeof(info)};
        kymo_capture_thread(c->capture, i, &info);
        bool wanted = c->options->thread < 0 || c->options->thread == i;
        if (wanted && (info.records || info.lost))
            rc = write_thread(c, &info, tids[i], &events, all);
    }
    kymo__free(tids);
    return rc;
}

int kymo__chrome_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                       struct kymo_outfile *out)
{
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(capture, &info);
    struct chrome c = {.options = options, .capture = capture, .out = out};
    int rc = kymo__callables_init(&c.callables, capture);
    if (rc == 0) {
        c.heads = kymo__alloc_zeroed(c.callables.count * sizeof(*c.heads));
        c.names = kymo__alloc_zeroed(c.callables.count * sizeof(*c.names));
        rc = c.heads && c.names ? write_beginning(&c, &info) : -ENOMEM;
    }
    if (rc == 0)
        rc = write_threads(&c, info.records);
    if (rc == 0)
        write_end(&c, &info);
    for (size_t i = 0; i < c.callables.count; i++) {
        if (c.heads)
            kymo__free(c.heads[i].bytes);
        if (c.names)
            kymo__free(c.names[i].bytes);
    }
    kymo__free(c.heads);
    kymo__free(c.names);
    kymo__buffer_fini(&c.scratch);
    kymo__callables_fini(&c.callables);
    return rc;
}
