/* perfetto_parts.h — what the files of the Perfetto export share: numbers of fields, and
   what is known about a thread while it is written.

   A thread is a sequence of packets of its own. Names are introduced once in a sequence,
   before the first packet that uses them, under the number of their callable plus 1.
   Times of a sequence are differences to the packet before, on a clock of its own. */
#ifndef KYMO_PERFETTO_PARTS_H
#define KYMO_PERFETTO_PARTS_H

#include "callables.h"
#include "crew.h"
#include "lanes.h"
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
    EVENT_SOURCE_ID = 34,
    EVENT_VALUE = 44,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48,

    ANNOTATION_NAME_ID = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_UINT = 3,
    ANNOTATION_TEXT = 6,
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
    CATEGORIES,
};

/* Names of annotations that are not names of the capture, by number from 1; those of the
   capture follow. */
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

/* What a sequence knows of a callable already. */
enum { KNOWS_NAME = 1, KNOWS_NOTE = 2, KNOWS_COUNTER = 4 };

enum { KYMO__PERFETTO_HEAD = 20 };

/* The beginning of a call as it stands in a packet: field, length, track event. */
struct kymo_perfetto_head {
    uint8_t bytes[KYMO__PERFETTO_HEAD];
    uint8_t len;
};

/* What all threads share; nobody changes it while they are written. */
struct kymo_perfetto {
    struct kymo_callables callables;
    struct kymo_perfetto_head *heads; /* by callable */
    uint64_t salt;                    /* makes the tracks of this capture its own */
    struct kymo_samples *samples;     /* NULL: there are none */
};

enum { KYMO__PERFETTO_SHOWN = 1024 };

/* Perfetto mixes up what is nested deeper than 512: every so many levels of calls get a
   track of their own. Moments and arrows inside need some room too. */
enum { KYMO__PERFETTO_DEEP = 500 };

/* A thread's; struct kymo_crew_thread.state. */
struct kymo_perfetto_thread {
    struct kymo_perfetto *p;
    uint8_t *known;      /* by callable: what is known */
    kymo_ns last;        /* time of the last packet on the own clock */
    uint64_t track;      /* of the thread */
    uint64_t process;    /* of its process */
    uint32_t sequence;   /* its number, from 2 */
    unsigned prefix_len; /* of prefix */
    uint8_t prefix[8];   /* sequence and flags, in every packet */
    struct kymo_lanes lanes;
    struct kymo_perfetto_known *sampled;  /* of stacks; NULL until there is a sample */
    uint64_t shown[KYMO__PERFETTO_SHOWN]; /* tracks described not long ago, by their hash */
};

/* The track of the capture for WHAT, the number of a kind, and two numbers; never 0. */
enum {
    TRACK_OF_PROCESS = 1,
    TRACK_OF_THREAD,
    TRACK_OF_LANE,
    TRACK_OF_ASYNC,
    TRACK_OF_VALUE,
    TRACK_OF_DEPTH,
    ARROW
};
uint64_t kymo__perfetto_track(const struct kymo_perfetto *p, unsigned what, uint64_t a, uint64_t b);

/* The visitor's part for slices, and for all other events. */
int kymo__perfetto_begin(struct kymo_crew_thread *thread);
int kymo__perfetto_enter(void *thread, struct kymo_frame *frame, uint32_t depth);
int kymo__perfetto_leave(void *thread, const struct kymo_slice *slice);
int kymo__perfetto_other(void *thread, const struct kymo_event *event,
                         const struct kymo_call_arg *args, unsigned arg_count);

/* A sample of THREAD. Returns 0 or -ENOMEM. */
int kymo__perfetto_sample(struct kymo_proto *out, struct kymo_crew_thread *thread,
                          const struct kymo_event *event);
struct kymo_perfetto_known;
void kymo__perfetto_known_free(struct kymo_perfetto_known *known);

/* A packet of THREAD's sequence: the caller closes what is returned. */
size_t kymo__perfetto_packet(struct kymo_proto *out, struct kymo_perfetto_thread *thread);

/* The same with the time WHEN, on the sequence's own clock unless it has passed that. */
size_t kymo__perfetto_packet_at(struct kymo_proto *out, struct kymo_perfetto_thread *thread,
                                kymo_ns when);

/* Describe TRACK, called NAME and shown below PARENT, unless it was not long ago: a track may
   be described any number of times. */
void kymo__perfetto_show(struct kymo_proto *out, struct kymo_perfetto_thread *thread,
                         uint64_t track, uint64_t parent, const char *name);

/* Introduce the name of callable INDEX, as WHAT, unless the sequence knows it. */
void kymo__perfetto_know(struct kymo_proto *out, struct kymo_perfetto_thread *thread,
                         uint32_t index, unsigned what);

/* Annotations of the track event that is open: a number or a text under a NOTE, and the
   numbers and texts that the capture attached; their names must be known. */
void kymo__perfetto_note(struct kymo_proto *out, unsigned note, uint64_t value);
void kymo__perfetto_note_text(struct kymo_proto *out, unsigned note, const char *text);
void kymo__perfetto_note_false(struct kymo_proto *out, unsigned note);
void kymo__perfetto_know_args(struct kymo_proto *out, struct kymo_perfetto_thread *thread,
                              const struct kymo_call_arg *args, unsigned count);
void kymo__perfetto_args(struct kymo_proto *out, const struct kymo_perfetto_thread *thread,
                         const struct kymo_call_arg *args, unsigned count);

#endif
