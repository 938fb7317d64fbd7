/* tracer.h — the Python tracer: declarations that its files share.

   keys.c       map code objects and C callables to keys of the capture
   ccalls.c     name a C callable without running any of its code
   filters.c    which functions are recorded
   callsites.c  the lines from which calls are made
   openframes.c the frames that are open when tracing begins
   collector.c  garbage collections
   tasks.c      asyncio tasks
   unseen.c     C calls whose end is not reported
   throttle.c   switching off what costs more than the budget allows; throttle_sites.c has
                the places that it counts, throttle_stack.c the calls that are open
   lives.c      numbers for generators and coroutines
   awaits.c     what tasks await, and where
   loops.c      what event loops schedule and run
   greenlets.c  threads that switch between greenlets
   interpreters.c  subinterpreters, which are only counted
   hook_*.c     how the interpreter reports calls to us: hook_events.h for 3.12 and later,
                hook_older.h for earlier versions
   tracer.c     the tracer as a source of the core

   The recording path is kymo__trace below and the lookup in keys.h. */
#ifndef KYMO_EXT_TRACER_H
#define KYMO_EXT_TRACER_H

#include "compat.h"
#include "keys.h"
#include "lives.h"

#include <kymo/lane.h>
#include <stdbool.h>

/* What the running session traces; all zero without one. Set when the session starts and reset when
   it ends or the process forks, under the session's lock. */
struct tracing {
    int on;              /* 0: calls are not traced */
    int c_calls;         /* C callables too */
    int gc;              /* garbage collections */
    int lines;           /* the lines from which calls are made; not with a budget */
    int max_depth;       /* calls nested deeper are not recorded; 0: no limit */
    double overhead;     /* the budget, 0.05 for five percent; 0: none, record everything */
    double cost, c_cost; /* of an event of a Python call and of a C call, in nanoseconds */
    double cost_alone;   /* of a Python call when C calls are not reported; 0 where C calls are
                            switched off one by one */
    double own_ticks;    /* the part of the cost that is our callback, in ticks; 0: unknown */
    double start_cost;   /* nanoseconds that starting the session took */
};
extern struct tracing kymo__tracing;

/* greenlets.c: the open calls of this thread, where they are tracked; else NULL. POP returns
   false for a call that is not among them: its end must not be recorded. Calls inside it have
   ended unseen, which is recorded. */
struct open_calls;
extern __thread struct open_calls *kymo__open_calls;
void kymo__open_calls_push(struct open_calls *calls, uint32_t key, uint64_t id);
bool kymo__open_calls_pop(struct open_calls *calls, uint32_t key, uint64_t ticks);

/* Record KIND (enter or leave) with DETAIL about KEY at TICKS. */
KYMO_INLINE void kymo__trace_at(unsigned kind, unsigned detail, uint32_t key, uint64_t ticks)
{
    if (__builtin_expect(kymo__open_calls != NULL, 0)) {
        if (kind == KYMO_ENTER)
            kymo__open_calls_push(kymo__open_calls, key, 0);
        else if (!kymo__open_calls_pop(kymo__open_calls, key, ticks))
            return;
    }
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (__builtin_expect(at != NULL, 1)) {
        kymo_lane_store(at, ticks, kymo_word(kind, detail, key));
        kymo_lane_commit(lane, at + 1);
    }
}

/* Record an enter, stamped as late as possible. */
KYMO_INLINE void kymo__trace_enter(unsigned detail, uint32_t key)
{
    if (__builtin_expect(kymo__open_calls != NULL, 0))
        kymo__open_calls_push(kymo__open_calls, key, 0);
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (__builtin_expect(at != NULL, 1)) {
        kymo_lane_store(at, kymo_ticks(), kymo_word(KYMO_ENTER, detail, key));
        kymo_lane_commit(lane, at + 1);
    }
}

/* Fill in two records at AT: a slice of the generator or coroutine ID (lives.h) begins. */
KYMO_INLINE void kymo__store_slice(struct kymo_record *at, uint64_t ticks, unsigned detail,
                                   uint32_t key, uint64_t id)
{
    kymo_lane_store(at, ticks, kymo_word(KYMO_ENTER, detail | KYMO_HAS_ID, key));
    kymo_lane_store(at + 1, id, KYMO_VALUE_WORD);
}

/* The same, and claim room for them. */
KYMO_INLINE void kymo__trace_enter_slice(unsigned detail, uint32_t key, uint64_t id)
{
    if (__builtin_expect(kymo__open_calls != NULL, 0))
        kymo__open_calls_push(kymo__open_calls, key, id);
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (__builtin_expect(at != NULL, 1)) {
        kymo__store_slice(at, kymo_ticks(), detail, key, id);
        kymo_lane_commit(lane, at + 2);
    }
}

/* Record a KIND of event that carries a number, which for KYMO_ARG belongs to the event recorded
   last; nothing when KEY is 0. */
void kymo__trace_value(unsigned kind, uint32_t key, uint64_t value);

/* The depth of this thread in calls that count for max_depth. */
extern __thread int kymo__depth;

/* True when the call being entered is too deep to record; counts it. */
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

/* hook_*.c. Install: 0, or -1 with an exception and nothing installed. Remove never fails; it
   restores everything to what install found. All with the GIL. */
int kymo__hook_install(void);
void kymo__hook_remove(void);

/* May the hook of the parent stay where it is in a forked child, until install? */
bool kymo__hook_can_stay(void);

/* Tracing has begun: the open frames have been recorded. */
void kymo__hook_began(void);
const char *kymo__hook_name(void);

/* This thread's open frames were just recorded, without the innermost when ENTERING; or, when
   EXPECTED is not 0, that many of the outermost were recorded when tracing began. With an
   overhead budget, pass them to throttle.h. */
void kymo__hook_frames_recorded(bool entering, size_t expected);

/* Save and restore the hook's state for this thread's open calls, when another stack of calls is
   about to run: TAKE moves it to BEFORE, memory that an earlier TAKE returned, or to new memory;
   GIVE restores it, or nothing for NULL. STARTED: no frame is open. */
void *kymo__hook_stack_take(void *before);
void kymo__hook_stack_give(const void *taken, bool started);

/* Does this hook support an overhead budget? */
bool kymo__hook_can_throttle(void);

/* Can C calls be dropped from now on? Asked only where all of them are switched off together. */
bool kymo__hook_can_drop_c_calls(void);

/* openframes.c: the frames that are open when tracing begins or resumes after a pause. */

/* The hook is about to be installed: from now on threads report their frames. */
void kymo__frames_prepare(void);

/* Tracing begins: record the open frames of every thread that can be inspected now; the others
   report theirs with their first event. */
void kymo__frames_begin(void);

/* Record that this thread is inside a call of CALLABLE, a C function, whose frames have been
   recorded: a forked child begins inside os.fork. */
void kymo__frames_open_call(PyObject *callable);

/* Tracing pauses; tracing resumes: every thread reports its frames with its next event. */
void kymo__frames_pause(void);
void kymo__frames_resume(void);

/* Incremented whenever threads must report their frames again; and the epoch in which this
   thread did. */
extern uint32_t kymo__epoch;
extern __thread uint32_t kymo__epoch_recorded;
void kymo__frames_record(bool entering);

/* Have this thread's open frames been recorded since tracing began or resumed? */
bool kymo__frames_were_recorded(void);

/* Record this thread's name, once. False while it has no frame, from which the name is read. */
bool kymo__frames_name(void);

/* The key under which an open frame of CODE is reported; KYMO_LEFT_OUT when it is not. */
uint32_t kymo__frames_key(PyObject *code);

/* For readers, the calls of this thread that were recorded as open end at TICKS. */
void kymo__frames_cut(uint64_t ticks);

/* Record this thread's open frames, none of which was recorded; or, when GOING_ON, as
   continuations of calls that were. */
void kymo__frames_record_stack(bool going_on);

/* This thread reports its frames again, whatever was recorded about them before. */
void kymo__frames_record_again(void);

/* The same, if lines are recorded and this thread's frames are at others than were recorded last: what
   was recorded until now will not be shown. */
void kymo__frames_renew(void);

/* Call this before recording an event of this thread; ENTERING when the event is about to report
   its innermost frame. */
KYMO_INLINE void kymo__frames_check(bool entering)
{
    if (__builtin_expect(kymo__epoch_recorded != kymo__epoch, 0))
        kymo__frames_record(entering);
}

/* collector.c: 0, or -1 with an exception. */
int kymo__collector_install(void);
void kymo__collector_remove(void);

/* filters.c: is the function recorded? FILE and NAME are UTF-8. */
int kymo__filter_allows(const char *file, const char *name);

/* Incremented whenever a session's filters differ from those of the session before. */
extern unsigned kymo__filter_version;

/* True when the user chose filters: not only Kymograph's own functions are excluded. */
extern bool kymo__filter_chosen;

/* The call instruction at OFFSET of CODE called something that is excluded. True when it has
   done only that for a while, so that it can be switched off. */
bool kymo__place_is_idle(const void *code, long offset);

/* It called something that is recorded: it stays on, whatever it calls later. */
void kymo__place_keep(const void *code, long offset);

/* A session begins; forget all call sites. */
void kymo__places_begin(void);

/* Make filters from two sequences of str; CHOSEN by the user. NULL with an exception. */
struct kymo__filters *kymo__filters_new(PyObject *include, PyObject *exclude, bool chosen);
void kymo__filters_free(struct kymo__filters *filters);

/* Use FILTERS, NULL for none, for the session that starts; takes ownership. ORIGIN is what they were
   made from, or NULL. */
void kymo__filters_use(struct kymo__filters *filters, PyObject *origin);

/* Are the filters that were used last made from ORIGIN? It is alive, so it is the same object. */
bool kymo__filters_are_of(const PyObject *origin);

/* tracer.c */

/* Options of the source "python" (kymo_options.source_options). The caller of kymo_start owns
   what it points to. */
struct kymo__python_options {
    size_t size;
    struct tracing tracing;
    struct kymo__filters **filters; /* taken, and set to NULL, when the source starts */
    PyObject *origin;               /* borrowed: the tuple of all this; NULL for none */
    PyObject *named;                /* borrowed: a code object, see named.h; NULL for none */
    PyObject *watched;              /* the same */
    const char *named_prefix;
    PyObject **failure; /* receives the exception if the source cannot start */
};

/* Fill OPTIONS from a tuple (c_calls, gc, max_depth, include, exclude, whether the user chose
   those, overhead, (cost, c_cost, cost_alone, own_ticks, start_cost), named code or None, watched
   code or None, the prefix of names, lines); the caller frees *FILTERS, which is NULL if those of
   the last session are of the same tuple. 0, or -1 with an exception. */
int kymo__python_options_from(PyObject *tuple, struct kymo__python_options *options,
                              struct kymo__filters **filters);

void kymo__tracer_register(void);

/* In a forked child that runs Python again: remove what the parent's session left in the
   interpreter. With RECORDED, some of it may stay for the session that begins now, and this must be
   called again afterwards, without. With the GIL. */
void kymo__tracer_forked(bool recorded);

/* The process ends as soon as its session has: the hooks need not be removed. FALSE: it did not end;
   remove them. With the GIL. */
void kymo__tracer_leaves(bool leaves);
extern PyMethodDef kymo__tracing_methods[];

/* Create the types of the hooks' objects; 0 or -1 with an exception. */
int kymo__hook_init(PyObject *module);

#endif
