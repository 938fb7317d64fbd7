/* tracer.h — the Python tracer: what its files share.

   keys.c       code objects and C callables to keys of the capture
   ccalls.c     what a C callable is called, without running any code of its own
   filters.c    which functions are recorded
   frames.c     the frames that are open when tracing begins
   collector.c  garbage collections
   tasks.c      asyncio tasks
   thunks.c     C calls the cheap way, instead of what the hook reports
   unseen.c     C calls whose end is not reported
   throttle.c   switching off what costs more than the budget allows
   hook_*.c     how the interpreter tells us of calls: hook_events.h for 3.12 and later,
                hook_older.h for those before
   tracer.c     the tracer as the core knows it

   The recording path is kymo__trace below and the look-up in keys.h. */
#ifndef KYMO_EXT_TRACER_H
#define KYMO_EXT_TRACER_H

#include "compat.h"
#include "keys.h"

#include <kymo/lane.h>
#include <stdbool.h>

/* What to trace; set before kymo_start, by the thread that calls it. */
struct tracing {
    int wanted;          /* 0: the session has no tracer */
    int c_calls;         /* C callables too: 1 as the interpreter reports them, 2 by thunks */
    int gc;              /* garbage collections */
    int max_depth;       /* calls nested deeper are not recorded; 0: no limit */
    double overhead;     /* the budget, 0.05 for five percent; 0: none, everything is recorded */
    double cost, c_cost; /* of an event of a Python call and of a C call, in nanoseconds */
    double cost_alone;   /* of a Python call's when C calls are seen no more; 0 where they are
                            switched off one by one */
};
extern struct tracing kymo__tracing;

/* Record KIND (enter or leave) with DETAIL about KEY at TICKS. */
KYMO_INLINE void kymo__trace_at(unsigned kind, unsigned detail, uint32_t key, uint64_t ticks)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (__builtin_expect(at != NULL, 1)) {
        kymo_lane_store(at, ticks, kymo_word(kind, detail, key));
        kymo_lane_commit(lane, at + 1);
    }
}

/* An enter, stamped as late as can be. */
KYMO_INLINE void kymo__trace_enter(unsigned detail, uint32_t key)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (__builtin_expect(at != NULL, 1)) {
        kymo_lane_store(at, kymo_ticks(), kymo_word(KYMO_ENTER, detail, key));
        kymo_lane_commit(lane, at + 1);
    }
}

/* Fill in two records at AT: a slice of the generator or coroutine whose frame is ID begins. */
KYMO_INLINE void kymo__store_slice(struct kymo_record *at, uint64_t ticks, unsigned detail,
                                   uint32_t key, const void *id)
{
    kymo_lane_store(at, ticks, kymo_word(KYMO_ENTER, detail | KYMO_HAS_ID, key));
    kymo_lane_store(at + 1, (uint64_t)(uintptr_t)id, KYMO_VALUE_WORD);
}

/* The same with room for them found. */
KYMO_INLINE void kymo__trace_enter_slice(unsigned detail, uint32_t key, const void *id)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (__builtin_expect(at != NULL, 1)) {
        kymo__store_slice(at, kymo_ticks(), detail, key, id);
        kymo_lane_commit(lane, at + 2);
    }
}

/* A number that belongs to the event recorded before. */
void kymo__trace_argument(uint32_t key, uint64_t value);

/* How deep this thread is in calls that count, for max_depth. */
extern __thread int kymo__depth;

/* True when the call being entered is too deep to be recorded; counts it. */
KYMO_INLINE int kymo__too_deep_enter(void)
{
    return __builtin_expect(kymo__tracing.max_depth != 0, 0) &&
           kymo__depth++ >= kymo__tracing.max_depth;
}

/* The same for the call being left. */
KYMO_INLINE int kymo__too_deep_leave(void)
{
    return __builtin_expect(kymo__tracing.max_depth != 0, 0) &&
           (kymo__depth > 0 ? --kymo__depth : 0) >= kymo__tracing.max_depth;
}

/* hook_*.c. Install: 0, or -1 with an exception and nothing installed. Remove never
   fails; it leaves everything as install found it. All with the GIL. */
int kymo__hook_install(void);
void kymo__hook_remove(void);

/* Tracing has begun: the open frames are recorded. */
void kymo__hook_began(void);
const char *kymo__hook_name(void);

/* This thread's open frames were just recorded, without the innermost when ENTERING; or, when
   EXPECTED is not 0, so many of the outermost were when tracing began. With an overhead budget,
   throttle.h is to know them. */
void kymo__hook_told(bool entering, size_t expected);

/* Can it keep to an overhead budget? */
bool kymo__hook_can_throttle(void);

/* Can it do without C calls from now on? Only asked where all of them are switched off together. */
bool kymo__hook_can_drop_c_calls(void);

/* frames.c: the frames that are open when tracing begins, or goes on after a pause. */

/* The hook is about to be installed: from now on threads tell of their frames. */
void kymo__frames_prepare(void);

/* Tracing begins: record the open frames of every thread that can be looked into now; the
   others tell of theirs with their first event. */
void kymo__frames_begin(void);

/* Tracing pauses; it goes on: every thread tells of its frames with its next event. */
void kymo__frames_pause(void);
void kymo__frames_resume(void);

/* Counted up whenever the frames have to be told anew, and what this thread told. */
extern uint32_t kymo__epoch;
extern __thread uint32_t kymo__epoch_told;
void kymo__frames_tell(bool entering);

/* Record this thread's name, once. False while it has no frame, which the name is found by. */
bool kymo__frames_name(void);

/* The key that an open frame of CODE is told with; KYMO_LEFT_OUT when it is not. */
uint32_t kymo__frames_key(PyObject *code);

/* This thread tells of its frames, whatever was recorded of them before. */
void kymo__frames_tell_again(void);

/* Before an event of this thread is recorded; ENTERING when its innermost frame is the one
   that the event is about to report. */
KYMO_INLINE void kymo__frames_check(bool entering)
{
    if (__builtin_expect(kymo__epoch_told != kymo__epoch, 0))
        kymo__frames_tell(entering);
}

/* collector.c: 0, or -1 with an exception. */
int kymo__collector_install(void);
void kymo__collector_remove(void);

/* filters.c: is the function recorded? FILE and NAME are UTF-8. */
int kymo__filter_allows(const char *file, const char *name);

/* Counted up whenever a session's filters are not those of the session before. */
extern unsigned kymo__filter_version;
PyObject *kymo__filter_set(PyObject *module, PyObject *args);

/* tracer.c */
void kymo__tracer_register(void);
extern PyMethodDef kymo__tracing_methods[];

/* The types the hooks make objects of; 0 or -1 with an exception. */
int kymo__hook_init(PyObject *module);

#endif
