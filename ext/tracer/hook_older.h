/* hook_older.h — shared by the two hooks of 3.10 and 3.11.

   hook_profile.c  the profile function: calls of Python and C
   hook_frames.c   the frame evaluator: calls of Python, at a fraction of the cost

   A profile function belongs to a thread, the evaluator to the interpreter. If C calls are
   recorded, the profile function records, and the evaluator installs it on new threads. If they are
   not, or if a thread has someone else's profile function, the evaluator records. */
#ifndef KYMO_EXT_HOOK_OLDER_H
#define KYMO_EXT_HOOK_OLDER_H

#include "tracer.h"

#include KYMO_FRAME_HEADER

/* The C call that a frame is making: at most one at a time. If the program installs its own profile
   function, the ends of calls open then are reported to that one and not to us; we notice when the
   frame continues. */
struct c_call {
    kymo_eval_frame *frame;
    const void *at; /* the call instruction */
    uint32_t key;   /* 0: none is open */
    uint32_t epoch;
    int depth;         /* kymo__depth before it */
    bool deep;         /* too deep to record */
    struct site *site; /* with an overhead budget: the site, and the tick at which the call began */
    uint64_t ticks;
};

/* A frame that our evaluator evaluates, while it does so; on the C stack. */
struct activation {
    struct activation *outer;
    kymo_eval_frame *frame;
    struct c_call calling;
    unsigned depth;
    uint32_t epoch; /* in which this thread reported its frames; see tracer.h */
    bool throwing;  /* it resumes with an exception */
    bool entered;   /* its enter was recorded */
};
extern __thread struct activation *kymo__innermost;

extern bool kymo__by_frames; /* the evaluator records; there is no profile function */

static inline PyInterpreterState *kymo__interpreter_here(void)
{
    return PyThreadState_GetInterpreter(PyThreadState_Get());
}

/* ---- hook_profile.c */

/* A call of CODE, or a slice of one, begins in FRAME, called by CALLER; it ends at TICKS, returning or yielding
   RESULT, or NULL with an exception. */
void kymo__call_enter(PyObject *code, unsigned detail, const void *frame, const void *caller);
void kymo__call_leave(PyObject *code, unsigned detail, const void *frame, PyObject *result,
                      uint64_t ticks);

/* The C call of CALL, if one is open, has ended. */
void kymo__c_call_end(struct c_call *call, unsigned detail, uint64_t ticks);

/* A frame called by CALLER is about to be evaluated: unless the open C call of CALLER calls it,
   that call has ended. */
void kymo__settle(kymo_eval_frame *caller);

/* True if this thread has open frames that only the profile function saw begin, because the
   evaluator was removed. */
bool kymo__profile_alone(void);

/* The profile function. */
int kymo__on_profile_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

/* Install it on STATE, unless there is someone else's. Returns 0, or -1 with an exception if an
   audit hook refused. And remove it; the same for all threads. */
int kymo__profile_set(PyThreadState *state);
void kymo__profile_unset(PyThreadState *state);
void kymo__profiles_set(void);
void kymo__profiles_unset(void);
extern PyThreadState *kymo__newest_thread; /* when profile functions were last set */

/* Its state for the C calls of frames that have no activation. */
struct profile_stack {
    struct c_call before_us;
    uint32_t epoch;
    unsigned alone;
};
struct profile_stack kymo__profile_stack_swap(const struct profile_stack *next);

/* ---- hook_frames.c */

/* The profile function has seen the end of FRAME, which has no activation. */
void kymo__open_frame_ended(const PyFrameObject *frame);

/* Nothing else notices threads that start while the evaluator is removed. */
void kymo__meet_new_threads(void);

/* When the overhead budget has no room for C calls: remove their profile functions, so that the
   evaluator records. Not at the end of a frame. */
void kymo__drop_c_calls(void);

#endif
