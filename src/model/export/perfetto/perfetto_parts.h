/* perfetto_parts.h — shared by the files of the Perfetto export: field numbers, and state per
   thread.

   Each thread is a separate packet sequence. A name is introduced once per sequence, before the
   first packet that uses it, under its callable's number plus 1. Times in a sequence are deltas to
   the previous packet, on the sequence's own clock. */
#ifndef KYMO_PERFETTO_PARTS_H
#define KYMO_PERFETTO_PARTS_H

#include "callables.h"
#include "crew.h"
#include "lanes.h"
#include "opargs.h"
#include "proto.h"
#include "samples.h"

/* Fields, each with the message it belongs to. */
enum {
    TRACE_PACKET = 1,

    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_COMPRESSED = 50,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_FIRST = 87,

    DEFAULTS_EVENT = 11,
    DEFAULTS_SAMPLE = 12,
    SAMPLE_TIMEBASE = 1,
    TIMEBASE_PERIOD = 1,
    TIMEBASE_COUNTER = 4,
    TIMEBASE_NAME = 10,
    COUNTER_CPU_CLOCK = 1,
    DEFAULTS_CLOCK = 58,

    SNAPSHOT_CLOCK = 1,
    SNAPSHOT_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIME = 2,
    CLOCK_INCREMENTAL = 3,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    COUNTER_UNIT = 3,
    COUNTER_BYTES = 3,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,

    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNT = 30,
    EVENT_SOURCE_ID = 34,
    EVENT_VALUE = 44,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48,

    ANNOTATION_NAME_ID = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_TEXT = 6,
    ANNOTATION_POINTER = 7,
    ANNOTATION_JSON = 9,
    ANNOTATION_NAME = 10,

    INTERNED_CATEGORY = 1,
    INTERNED_NAME = 2,
    INTERNED_ANNOTATION = 3,
    INTERNED_SOURCE = 4,
    NAME_ID = 1,
    NAME_TEXT = 2,
    SOURCE_ID = 1,
    SOURCE_FILE = 2,
    SOURCE_FUNCTION = 3,
    SOURCE_LINE = 4,
};

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2 };                           /* flags of a packet */
enum { CLOCK_REALTIME_ID = 1, CLOCK_MONOTONIC_ID = 3, CLOCK_OWN = 64 }; /* Perfetto's numbers */

/* Categories, by number from 1. */
enum {
    CATEGORY_PYTHON = 1,
    CATEGORY_C,
    CATEGORY_GC,
    CATEGORY_SPAN,
    CATEGORY_INSTANT,
    CATEGORY_COUNTER,
    CATEGORY_FLOW,
    CATEGORY_ASYNC,
    CATEGORY_TRACK,
    CATEGORY_KYMO,
    CATEGORY_OPERATOR,
    CATEGORIES,
};

/* Annotation names that are not from the capture, by number from 1; those from the capture
   follow. */
enum {
    NOTE_GENERATOR = 1,
    NOTE_ENTER,
    NOTE_LEAVE,
    NOTE_STARTED,
    NOTE_FINISHED,
    NOTE_END_LOST,
    NOTE_ID,
    NOTE_EVENTS,
    NOTE_REASON,
    NOTE_CALLS,
    NOTES,
};

/* What a sequence already knows about a callable. */
enum { KNOWS_NAME = 1, KNOWS_NOTE = 2, KNOWS_COUNTER = 4 };

enum { KYMO__PERFETTO_HEAD = 20 };

/* The start of a call as written in a packet: field, length, track event. */
struct kymo_perfetto_head {
    uint8_t bytes[KYMO__PERFETTO_HEAD];
    uint8_t len;
};

/* Shared by all threads; constant while they are written. */
struct kymo_perfetto {
    const struct kymo_capture *capture;
    struct kymo_callables callables;
    struct kymo_perfetto_head *heads; /* by callable */
    uint64_t salt;                    /* makes this capture's track ids unique */
    struct kymo_samples *samples;     /* NULL if there are none */
    struct kymo_op_export ops;
};

enum { KYMO__PERFETTO_SHOWN = 1024 };

/* Perfetto confuses slices nested deeper than 512, so every so many levels of calls get their own
   track. Instants and arrows inside need some room too. */
enum { KYMO__PERFETTO_DEEP = 500 };

/* State per thread; struct kymo_crew_thread.state. */
struct kymo_perfetto_thread {
    struct kymo_perfetto *p;
    uint8_t *known;      /* by callable: KNOWS_ bits */
    kymo_ns last;        /* time of the last packet on the sequence's clock */
    uint64_t track;      /* the thread's track */
    uint64_t process;    /* its process's track */
    uint32_t sequence;   /* its number, from 2 */
    unsigned prefix_len; /* length of prefix */
    uint8_t prefix[8];   /* sequence and flags, in every packet */
    struct kymo_lanes lanes;
    struct kymo_op_track ops;
    struct kymo_perfetto_known *sampled;  /* known stacks; NULL until there is a sample */
    uint64_t shown[KYMO__PERFETTO_SHOWN]; /* recently described tracks, by hash */
};

/* The track id for WHAT, the number of a kind, and two numbers; never 0. */
enum {
    TRACK_OF_PROCESS = 1,
    TRACK_OF_THREAD,
    TRACK_OF_LANE,
    TRACK_OF_ASYNC,
    TRACK_OF_VALUE,
    TRACK_OF_DEPTH,
    TRACK_OF_MEMORY,
    ARROW
};
uint64_t kymo__perfetto_track(const struct kymo_perfetto *p, unsigned what, uint64_t a, uint64_t b);

/* Write memory over time as counters of process track PROCESS. Returns 0 or a negative code. */
int kymo__perfetto_memory(struct kymo_proto *out, const struct kymo_perfetto *p,
                          struct kymo_capture *capture, const struct kymo_export_options *options,
                          uint64_t process);

/* The sequence of packets that belong to no thread; its timestamps need a clock. */
enum { KYMO__PERFETTO_MAIN = 1 };
size_t kymo__perfetto_main_packet(struct kymo_proto *out);

/* Visitor callbacks for slices and for all other events. */
int kymo__perfetto_begin(struct kymo_crew_thread *thread);
int kymo__perfetto_enter(void *thread, struct kymo_open_call *frame, uint32_t depth);
int kymo__perfetto_leave(void *thread, const struct kymo_slice *slice);
int kymo__perfetto_other(void *thread, const struct kymo_event *event,
                         const struct kymo_call_arg *args, unsigned arg_count);

/* Annotate the open track event with the arguments of OP. */
void kymo__perfetto_op(struct kymo_proto *out, const struct kymo_opcall *op);

/* Write a sample of THREAD. Returns 0 or -ENOMEM. */
int kymo__perfetto_sample(struct kymo_proto *out, struct kymo_crew_thread *thread,
                          const struct kymo_event *event);
struct kymo_perfetto_known;
void kymo__perfetto_known_free(struct kymo_perfetto_known *known);

/* Open a packet in THREAD's sequence; the caller closes the result. */
size_t kymo__perfetto_packet(struct kymo_proto *out, struct kymo_perfetto_thread *thread);

/* The same with time WHEN, on the sequence's own clock unless that is already past it. */
size_t kymo__perfetto_packet_at(struct kymo_proto *out, struct kymo_perfetto_thread *thread,
                                kymo_ns when);

/* Describe TRACK, called NAME and shown below PARENT, unless done recently. Describing a track
   again is harmless. */
void kymo__perfetto_show(struct kymo_proto *out, struct kymo_perfetto_thread *thread,
                         uint64_t track, uint64_t parent, const char *name);

/* Introduce the name of callable INDEX, as WHAT, unless the sequence knows it. */
void kymo__perfetto_know(struct kymo_proto *out, struct kymo_perfetto_thread *thread,
                         uint32_t index, unsigned what);

/* Annotate the open track event: a number or text under NOTE, and the numbers and texts attached in
   the capture, whose names must be known. Payloads of operators are left out. */
void kymo__perfetto_note(struct kymo_proto *out, unsigned note, uint64_t value);
void kymo__perfetto_note_text(struct kymo_proto *out, unsigned note, const char *text);
void kymo__perfetto_note_false(struct kymo_proto *out, unsigned note);
void kymo__perfetto_know_args(struct kymo_proto *out, struct kymo_perfetto_thread *thread,
                              const struct kymo_call_arg *args, unsigned count);
void kymo__perfetto_args(struct kymo_proto *out, const struct kymo_perfetto_thread *thread,
                         const struct kymo_call_arg *args, unsigned count);

#endif
