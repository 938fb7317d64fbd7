/* hook_older.h — what the two hooks of 3.10 and 3.11 share.

   hook_profile.c  the profile function: calls of Python and of C
   hook_frames.c   the frame evaluator: calls of Python, at a fraction of the cost

   The profile function is a thread's own, the evaluator the interpreter's. With C calls the
   profile function records, and the evaluator sets it on threads that begin later; with C calls
   left out, and on a thread that has somebody else's profile function, the evaluator records. */
#ifndef KYMO_EXT_HOOK_OLDER_H
#define KYMO_EXT_HOOK_OLDER_H

#include "tracer.h"

#include KYMO_FRAME_HEADER

/* The call of a C function that a frame makes: at most one at a time. When the program sets
   a profile function of its own, the end of the calls open then is reported to that one and
   not to us; it shows when the frame goes on. */
struct c_call {
    kymo_eval_frame *frame;
    const void *at; /* the instruction that calls */
    uint32_t key;   /* 0: none is open */
    uint32_t epoch;
    int depth;         /* kymo__depth before it */
    bool deep;         /* too deep to be recorded */
    struct site *site; /* when there is an overhead budget, with the tick it began at */
    uint64_t ticks;
};

/* A frame that our evaluator evaluates, while it does so; on the C stack. */
struct activation {
    struct activation *outer;
    kymo_eval_frame *frame;
    struct c_call calling;
    unsigned depth;
    uint32_t epoch; /* for which this thread told of its frames; see tracer.h */
    bool throwing;  /* it goes on with an exception */
    bool entered;   /* its enter was recorded */
};
extern __thread struct activation *kymo__innermost;

extern bool kymo__by_frames; /* the evaluator records; there is no profile function */

static inline PyInterpreterState *kymo__interpreter_here(void)
{
    return PyThreadState_GetInterpreter(PyThreadState_Get());
}

/* ---- hook_profile.c */

/* A call of CODE, or a slice of one, begins in FRAME; it ends at TICKS, returning or yielding
   RESULT, NULL with an exception. */
void kymo__call_enter(PyObject *code, unsigned detail, const void *frame);
void kymo__call_leave(PyObject *code, unsigned detail, const void *frame, PyObject *result,
                      uint64_t ticks);

/* The C call of CALL, if one is open, has ended. */
void kymo__c_call_end(struct c_call *call, unsigned detail, uint64_t ticks);

/* A frame is about to be evaluated, called by CALLER: unless it is the C call of CALLER that
   calls it, that one has ended. */
void kymo__settle(kymo_eval_frame *caller);

/* True when this thread has open frames that only the profile function saw begin: the evaluator
   stood aside. */
bool kymo__profile_alone(void);

/* The profile function. */
int kymo__on_profile_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

/* Set it on STATE, unless there is somebody else's. 0, or -1 with an exception: an audit hook said
   no. And take it away; the same for all threads. */
int kymo__profile_set(PyThreadState *state);
void kymo__profile_unset(PyThreadState *state);
void kymo__profiles_set(void);
void kymo__profiles_unset(void);
extern PyThreadState *kymo__newest_thread; /* when profile functions were last set */

/* ---- hook_frames.c */

/* The profile function has seen the end of FRAME, which has no activation. */
void kymo__open_frame_ended(const PyFrameObject *frame);

/* Nobody else notices threads that begin while the evaluator stands aside. */
void kymo__meet_new_threads(void);

/* When the overhead budget has no room for C calls: their profile functions go, and the evaluator
   records. Not at the end of a frame. */
void kymo__drop_c_calls(void);

#endif
