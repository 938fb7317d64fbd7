/* track.h — finished events that a source learns of late and in batches: a device's queue, another
   process, a framework.

   A track is one row of such events. Opening it takes a lock; writing an event takes none,
   allocates nothing and makes no system call. Events are kept like all records: they leave for the
   file while the program runs, and a killed process loses none that were written. Tracks cost no
   memory of their own: those that a thread writes to share its chunks, so there may be thousands.

       struct kymo_track *track = NULL;
       kymo_track_open(&(struct kymo_track_options){.size = sizeof(struct kymo_track_options),
                                                    .name = "stream 7", .device = 0, .stream = 7,
                                                    .clock = KYMO_TRACK_NS}, &track);
       kymo_track_write(track, &(struct kymo_track_event){.size = sizeof(struct kymo_track_event),
                                                          .start = begin, .end = end, .key = key});
       kymo_track_close(track);

   Times are stored as they are given and converted when the capture is read, with all clock
   snapshots there are, so that tracks and calls never drift apart. */
#ifndef KYMO_TRACK_H
#define KYMO_TRACK_H

#include <kymo/payload.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Clocks that every session has. */
enum kymo_track_clock {
    KYMO_TRACK_TICKS = 0, /* kymo_ticks */
    KYMO_TRACK_NS = 1,    /* CLOCK_MONOTONIC in nanoseconds */
};

/* Create a clock called NAME for the running session. RATE is its ticks per second if known, or 0;
   it must tick at least a million times a second. Pass the returned number to kymo_track_open. Give
   the clock two or more snapshots, the more the better: times between two are interpolated, and a
   clock without any is treated as CLOCK_MONOTONIC. Returns the number, -ENOSPC if there are 254
   already, or KYMO_EIDLE. Any thread; takes a lock. */
KYMO_API int kymo_clock_open(const char *name, uint64_t rate);

/* Record that when CLOCK reads TIME, CLOCK_MONOTONIC reads MONOTONIC. Any thread, in any order;
   takes a lock. Returns 0, -EINVAL for a clock that was not opened, -ENOSPC, or KYMO_EIDLE. */
KYMO_API int kymo_clock_snapshot(int clock, uint64_t time, kymo_ns monotonic);

struct kymo_track_options {
    size_t size;      /* sizeof(struct kymo_track_options) */
    const char *name; /* UTF-8; copied. NULL: built from device and stream */
    uint64_t process; /* system id of the process it belongs to; 0: this one */
    uint64_t tid;     /* system id of a thread, or 0 */
    int32_t device;   /* as the source numbers them; -1: none */
    int clock;        /* enum kymo_track_clock, or a number from kymo_clock_open */
    uint64_t stream;  /* queue or stream on the device */
};

struct kymo_track;

/* Open a track in the running session as OPTIONS say. On success *TRACK belongs to the caller, who
   frees it with kymo_track_close. Once the session has ended, writing to the track does nothing.
   Returns 0, -EINVAL, -ENOMEM, -ENOSPC, or KYMO_EIDLE. Any thread; takes a lock. */
KYMO_API int kymo_track_open(const struct kymo_track_options *options, struct kymo_track **track);

struct kymo_track_event {
    size_t size;                      /* sizeof(struct kymo_track_event) */
    uint64_t start, end;              /* on the track's clock */
    uint32_t key;                     /* what it is: from kymo_name_key or kymo_function_key */
    uint64_t correlation;             /* 0: none. Else the id that the call which asked for it
                                         recorded before, on its thread, in a field "correlation" of
                                         type KYMO_FIELD_ID of any payload */
    const struct kymo_schema *schema; /* the payload's schema; NULL: no payload */
    const struct kymo_payload *payload;
};

/* Write one finished event to TRACK. Events may come in any order of time. One thread at a time may
   write to a track; different threads may write to different tracks. Returns 0, KYMO_EIDLE if the
   track's session is over, -ENOSPC if memory is full (the event is counted as missing), or -EINVAL.
   A payload that cannot be recorded is dropped and counted. */
KYMO_API int kymo_track_write(struct kymo_track *track, const struct kymo_track_event *event);

/* Free TRACK, before or after its session ends. Events already written stay. NULL is fine. */
KYMO_API void kymo_track_close(struct kymo_track *track);

/* ------------------------------------------------------------- reading --- */

struct kymo_track_info {
    size_t size;
    int64_t device; /* -1 for none */
    uint64_t stream;
    int clock;
    const char *clock_name; /* lent until kymo_close */
};

/* Fill INFO, whose size the caller sets first, for thread INDEX of CAPTURE. Its texts are lent
   until kymo_close. Returns 0, or -ENOENT if that thread is not a track. */
KYMO_API int kymo_capture_track(const struct kymo_capture *capture, uint32_t index,
                                struct kymo_track_info *info);

#ifdef __cplusplus
}
#endif
#endif
