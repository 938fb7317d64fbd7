/* types.h — what every other header of Kymograph uses: API macros, time, and error codes.

   The other headers include it; there is rarely a reason to include it alone. */
#ifndef KYMO_TYPES_H
#define KYMO_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KYMO_API __attribute__((visibility("default")))

/* Nanoseconds. A point in time is CLOCK_MONOTONIC's unless stated otherwise. */
typedef int64_t kymo_ns;

/* Every error code of our own: name, value, message. Values are negative, exactly as functions
   return them, and never change meaning. */
#define KYMO_ERROR_MAP(X)                                                                          \
    X(KYMO_ENOTCAPTURE, -4000, "not a kymograph capture")                                          \
    X(KYMO_ENEWER, -4001,                                                                          \
      "the capture was written by a newer kymograph; update kymograph to read it")                 \
    X(KYMO_EDAMAGED, -4002, "the capture's header is damaged")                                     \
    X(KYMO_ERUNNING, -4003, "a session is already running in this process; stop it first")         \
    X(KYMO_EIDLE, -4004, "no session is running")                                                  \
    X(KYMO_EOCCUPIED, -4005, "the file exists and is not a kymograph capture; it was left alone")  \
    X(KYMO_EBUSYFILE, -4006, "another process is recording into this file")                        \
    X(KYMO_EREGISTERED, -4007, "a source of this kind is already registered")                      \
    X(KYMO_ENOTREGISTERED, -4008, "this source is not registered")                                 \
    X(KYMO_EMPTYFILE, -4009, "the file is empty: nothing was recorded into it")                    \
    X(KYMO_EBLOCK, -4010, "a block of the capture is damaged")                                     \
    X(KYMO_EFORMAT, -4011, "there is no such export format")                                       \
    X(KYMO_ENOTFLIGHT, -4012, "the running session is not a flight recorder")                      \
    X(KYMO_ESIGNALS, -4013, "no signal is free to take samples with: the program handles all")     \
    X(KYMO_ENOTSTACKS, -4014, "not a dump of stacks")                                              \
    X(KYMO_ESOURCE, -4015,                                                                         \
      "no source of that name is registered, or it is set to neither on nor off")                  \
    X(KYMO_ETAKEN, -4016,                                                                          \
      "the program closed kymograph's descriptor and the capture cannot be opened again; "         \
      "recording stopped there")                                                                   \
    X(KYMO_ECUT, -4017, "the live file was truncated by somebody else; recording stopped there")   \
    X(KYMO_EDELETED, -4018, "the capture was deleted while it was being recorded")                 \
    X(KYMO_ENOTIMER, -4019,                                                                        \
      "the system refuses the timers that samples need; does a sandbox forbid timer_create?")      \
    X(KYMO_EEXPANDS, -4020,                                                                        \
      "the capture expands to far more than a recording of its size holds; it was not recorded "   \
      "by kymograph, or is damaged")

enum kymo_error {
#define KYMO_ERROR_ENUM(name, value, text) name = value,
    KYMO_ERROR_MAP(KYMO_ERROR_ENUM)
#undef KYMO_ERROR_ENUM
};

/* Return the version of the library, "0.1.0". The text is static. Any thread. */
KYMO_API const char *kymo_version(void);

/* Return the message for CODE, a negative return value of any function of the library: a negative
   errno or one of enum kymo_error. Never NULL. The text is static, or belongs to the calling thread
   until its next call. Any thread. */
KYMO_API const char *kymo_strerror(int code);

/* What happened: the kinds of event that marking calls record and reading gives back. */
enum kymo_kind {
    KYMO_ENTER = 1,       /* a span or call begins */
    KYMO_LEAVE = 2,       /* it ends */
    KYMO_INSTANT = 3,     /* a moment */
    KYMO_COUNTER = 4,     /* value: the new value */
    KYMO_FLOW_OUT = 5,    /* id: an arrow starts at the span open here */
    KYMO_FLOW_IN = 6,     /* id: it ends at the span open here */
    KYMO_ASYNC_BEGIN = 7, /* id: a span that belongs to no thread begins */
    KYMO_ASYNC_END = 8,   /* id: it ends */
    KYMO_GAP = 9,         /* id: how many records are missing; detail: enum kymo_gap */
    KYMO_COMPLETE = 10,   /* id: duration in nanoseconds of a finished event */
    KYMO_ARG = 11,        /* id: a number that belongs to the event before on its thread */
    KYMO_OFF = 12,        /* id: calls until then. Not recorded from here on, to keep to the
                             overhead budget; detail 0: the function, 1: one place calling it */
    KYMO_RESYNC = 13,     /* id: tick at which tracing was paused. Calls open then have ended
                             unseen; those that are open now follow, entered with detail 3 */
    KYMO_SAMPLE = 14,     /* id: low half the stack, see kymo_capture_stack, high half how many
                             periods it represents; detail: enum kymo_sampled */
    KYMO_ARG_TEXT = 15,   /* id: a key. Its name is a text that belongs to the event before */
    KYMO_PAYLOAD = 16,    /* fields that belong to the event before; the name is their schema's.
                             See kymo_event_value in payload.h */
};

/* What the periods of samples measure. */
enum kymo_sampled {
    KYMO_SAMPLED_CPU = 0,  /* time for which the thread has run */
    KYMO_SAMPLED_WALL = 1, /* time that has passed */
};

#ifdef __cplusplus
}
#endif
#endif
