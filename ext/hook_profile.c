/* hook_profile.c — calls as a profile function sees them: 3.10 and 3.11.

   The interpreter calls it for every call and return of a Python frame and of a C
   function. It is a thread's own: it is set on the threads there are, and on later ones
   when the frame evaluator, which is the interpreter's, first meets them. Where a thread
   has somebody else's profile function, that stays, and the frame evaluator records the
   Python calls of that thread. With C calls left out it alone records, at a fraction of
   the cost. */
#include "tracer.h"

#if !KYMO_HAS_MONITORING

#include <stdlib.h>
#include <string.h>

#include "ccalls.h"
#include "named.h"
#include "tasks.h"
#include KYMO_FRAME_HEADER

static PyObject *evaluate(PyThreadState *state, kymo_eval_frame *frame, int throwing);
static _PyFrameEvalFunction evaluator_before; /* what ours calls */
static bool chained; /* ours is called by an evaluator that was set later */
static bool installed;
static bool by_frames; /* the evaluator records; there is no profile function */

static const struct function *code_entry(PyObject *code)
{
    const struct function *f = kymo__function_find(code);
    return f ? f : kymo__function_add(code);
}

/* The same for a call that is entered or left. */
static const struct function *called(PyObject *code)
{
    const struct function *f = code_entry(code);
    return f->slices == KYMO_NAMED ? kymo__named_entry(f) : f;
}

static void enter(PyObject *code, unsigned detail, const void *frame)
{
    const struct function *f = called(code);
    if (f->key == KYMO_LEFT_OUT || kymo__too_deep_enter())
        return;
    if (f->slices == 1)
        kymo__trace_enter_slice(detail, f->key, frame);
    else
        kymo__trace_enter(detail, f->key);
    if (f->slices == 1 && kymo__tasks)
        kymo__task_enter(frame, detail == 0);
    if (kymo__function_named(f))
        kymo__named_argument(f);
    if (by_frames && !f->slices && f->address == code)
        kymo__recent_add(f); /* for plain_function */
}

/* RESULT is what it returns or yields. */
static void leave(PyObject *code, unsigned detail, const void *frame, PyObject *result,
                  uint64_t ticks)
{
    const struct function *f = called(code);
    if (f->slices == TASK_MAKER || (f->slices == 1 && kymo__tasks)) {
        if (f->slices == TASK_MAKER)
            kymo__task_returned(result);
        else if (detail == 1)
            kymo__task_suspend(frame, result);
        else
            kymo__task_end(frame);
        ticks = kymo_ticks(); /* not before what was recorded meanwhile */
    }
    if (f->key != KYMO_LEFT_OUT && !kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
}

static const struct function *callable_entry(PyObject *callable)
{
    const void *address = kymo__callable_address(callable);
    if (!address)
        return NULL;
    const struct function *f = kymo__function_find(address);
    return f ? f : kymo__function_add_callable(address, callable);
}

/* Are calls of C functions made by FRAME recorded? */
static bool caller_recorded(PyFrameObject *frame)
{
    PyObject *code = kymo__frame_code(frame);
    return code_entry(code)->key != KYMO_LEFT_OUT;
}

/* The call of a C function that a frame makes: at most one at a time. When the program sets
   a profile function of its own, the end of the calls open then is reported to that one and
   not to us; it shows when the frame goes on. */
struct c_call {
    kymo_eval_frame *frame;
    const void *at; /* the instruction that calls */
    uint32_t key;   /* 0: none is open */
    uint32_t epoch;
};

/* A frame that our evaluator evaluates, while it does so; on the C stack. */
struct activation {
    struct activation *outer;
    kymo_eval_frame *frame;
    struct c_call calling;
    unsigned depth;
    bool throwing; /* it goes on with an exception */
    bool entered;  /* its enter was recorded */
};
static __thread struct activation *innermost;
static __thread struct c_call calling_before_us; /* of a frame that has no activation */

/* The activation of FRAME, or NULL when it began before us. */
static struct activation *activation_of(PyFrameObject *frame)
{
    return innermost && innermost->frame == kymo__frame_eval(frame) ? innermost : NULL;
}

static bool is_open(const struct c_call *call)
{
    return call->key && call->epoch == kymo__epoch;
}

/* The C call of CALL has ended. */
static void end_c_call(struct c_call *call, unsigned detail, uint64_t ticks)
{
    if (is_open(call) && !kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, detail, call->key, ticks);
    call->key = 0;
}

/* Where the C call of FRAME is kept; NULL when FRAME has no activation and made none. */
static struct c_call *c_call_of(kymo_eval_frame *frame)
{
    if (innermost && innermost->frame == frame)
        return &innermost->calling;
    return calling_before_us.frame == frame ? &calling_before_us : NULL;
}

static void on_c_call(PyFrameObject *object, PyObject *callable, uint64_t ticks)
{
    kymo_eval_frame *frame = kymo__frame_eval(object);
    struct c_call *call = c_call_of(frame);
    if (call)
        end_c_call(call, 0, ticks);
    const struct function *f = callable_entry(callable);
    if (!f || f->key == KYMO_LEFT_OUT || !caller_recorded(object))
        return;
    *(call ? call : &calling_before_us) = (struct c_call){
        .frame = frame,
        .at = kymo__eval_position(frame),
        .key = f->key,
        .epoch = kymo__epoch,
    };
    if (!kymo__too_deep_enter())
        kymo__trace_enter(0, f->key);
}

static void on_c_return(PyFrameObject *object, PyObject *callable, unsigned detail, uint64_t ticks)
{
    struct c_call *call = c_call_of(kymo__frame_eval(object));
    if (call) {
        end_c_call(call, detail, ticks); /* nothing if it began unseen */
        return;
    }
    /* What the frames called that have no activation is not remembered for all of them. */
    const struct function *f = callable_entry(callable);
    if (f && f->key != KYMO_LEFT_OUT && caller_recorded(object) && !kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
}

/* A frame is about to be evaluated, called by CALLER: unless it is the C call of CALLER that
   calls it, that one has ended. */
static void settle(kymo_eval_frame *caller)
{
    struct c_call *call = c_call_of(caller);
    if (call && call->key && call->at != kymo__eval_position(caller))
        end_c_call(call, 0, kymo_ticks());
}

static void on_call(PyFrameObject *frame)
{
    struct activation *mine = activation_of(frame);
    if (mine && mine->entered)
        return; /* the evaluator has recorded it */
    unsigned detail = mine && mine->throwing ? 2 : kymo__frame_resumes(frame);
    enter(kymo__frame_code(frame), detail, kymo__frame_eval(frame));
    if (mine)
        mine->entered = true;
}

static void on_return(PyFrameObject *frame, PyObject *result, uint64_t ticks)
{
    /* The exception of a signal handler may end a frame before its call was reported. */
    const struct activation *mine = activation_of(frame);
    kymo_eval_frame *evaluated = kymo__frame_eval(frame);
    struct c_call *call = c_call_of(evaluated);
    if (call)
        end_c_call(call, 0, ticks);
    if (!mine || mine->entered)
        leave(kymo__frame_code(frame), result ? kymo__frame_yields(frame) : 2, evaluated, result,
              ticks);
}

static void meet_new_threads(void);

static int on_event(PyObject *Py_UNUSED(self), PyFrameObject *frame, int what, PyObject *arg)
{
    kymo__frames_check(what == PyTrace_CALL);
    uint64_t ticks = kymo_ticks();
    meet_new_threads();
    switch (what) {
    case PyTrace_CALL:
        on_call(frame);
        break;
    case PyTrace_RETURN:
        on_return(frame, arg, ticks);
        break;
    case PyTrace_C_CALL:
        if (kymo__tracing.c_calls == 1)
            on_c_call(frame, arg, ticks);
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        if (kymo__tracing.c_calls == 1)
            on_c_return(frame, arg, what == PyTrace_C_EXCEPTION ? 2 : 0, ticks);
        break;
    }
    return 0;
}

/* ---- on which threads it is */

/* Set it, unless there is somebody else's. 0, or -1 with an exception: an audit hook said
   no. */
static int set_profile(PyThreadState *state)
{
    return state->c_profilefunc ? 0 : _PyEval_SetProfile(state, on_event, NULL);
}

static void unset_profile(PyThreadState *state)
{
    if (state->c_profilefunc != on_event || _PyEval_SetProfile(state, NULL, NULL) == 0)
        return;
    PyErr_Clear(); /* audit hooks have no say in this */
    state->c_profilefunc = NULL;
    if (!state->c_tracefunc)
        state->cframe->use_tracing = 0;
}

static PyInterpreterState *interpreter_here(void)
{
    return PyThreadState_GetInterpreter(PyThreadState_Get());
}

static PyThreadState *newest_thread; /* when profile functions were last set */

static void set_profiles(void)
{
    newest_thread = PyInterpreterState_ThreadHead(interpreter_here());
    for (PyThreadState *state = newest_thread; state; state = PyThreadState_Next(state))
        if (set_profile(state) < 0)
            PyErr_Clear();
}

static void unset_profiles(void)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(interpreter_here());
    for (; state; state = PyThreadState_Next(state))
        unset_profile(state);
}

/* ---- the evaluator */

/* With an evaluator every Python call uses more C stack, and on 3.11 without one it uses
   none. A program that recurses as deep as it can must not notice: from DEEP on the
   evaluator stands aside, for all threads, and profile functions do its work. */
enum { DEEP = 1000 };
static unsigned standing_aside; /* how many frames want it to */

static void stand_aside(void)
{
    if (!standing_aside++ && _PyInterpreterState_GetEvalFrameFunc(interpreter_here()) == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(interpreter_here(), evaluator_before);
    set_profiles();
}

static void stand_back(PyThreadState *state)
{
    if (--standing_aside || !installed)
        return;
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter_here()) == evaluator_before)
        _PyInterpreterState_SetEvalFrameFunc(interpreter_here(), evaluate);
    if (by_frames)
        unset_profile(state); /* on other threads it still has frames to see the end of */
}

/* Nobody else notices threads that begin meanwhile. */
static void meet_new_threads(void)
{
    if (standing_aside && PyInterpreterState_ThreadHead(interpreter_here()) != newest_thread)
        set_profiles();
}

/* Where there is no profile function, nobody tells of the end of frames that began before
   us. These are those of this thread, outermost first; at the next call it shows, by the
   frame that makes it, which have ended. */
struct open_frame {
    PyFrameObject *frame; /* an address only */
    uint32_t key;
};
static __thread struct open_frame *open_frames;
static __thread size_t open_count;
static __thread uint32_t open_epoch; /* in which they were read */

/* The frame that called FRAME, borrowed: it is running. */
static PyFrameObject *back(PyFrameObject *frame)
{
    PyFrameObject *result = PyFrame_GetBack(frame);
    Py_XDECREF(result);
    return result;
}

static void read_open_frames(void)
{
    free(open_frames);
    open_frames = NULL;
    open_count = 0;
    open_epoch = kymo__epoch;
    size_t count = 0;
    for (PyFrameObject *frame = PyEval_GetFrame(); frame; frame = back(frame))
        count++;
    if (!count || !(open_frames = calloc(count, sizeof *open_frames)))
        return;
    const struct activation *active = innermost; /* these tell of their end themselves */
    size_t next = count;
    for (PyFrameObject *frame = PyEval_GetFrame(); frame && next; frame = back(frame)) {
        if (active && active->frame == kymo__frame_eval(frame))
            active = active->outer;
        else
            open_frames[--next] =
                (struct open_frame){frame, code_entry(kymo__frame_code(frame))->key};
    }
    open_count = count - next;
    memmove(open_frames, open_frames + next, open_count * sizeof *open_frames);
}

/* FRAME makes a call: those further in have ended. */
static void close_frames(PyFrameObject *frame)
{
    if (open_epoch != kymo__epoch) {
        kymo__frames_tell_again();
        read_open_frames();
    }
    uint64_t ticks = kymo_ticks();
    while (open_count && open_frames[open_count - 1].frame != frame) {
        uint32_t key = open_frames[--open_count].key;
        if (key != KYMO_LEFT_OUT && !kymo__too_deep_leave())
            kymo__trace_at(KYMO_LEAVE, 0, key, ticks);
    }
    if (!open_count && open_frames) {
        free(open_frames);
        open_frames = NULL;
    }
}

/* True when STATE, which is this thread's, has no profile function of ours, nor will. */
static bool unprofiled(PyThreadState *state)
{
    static __thread uint32_t refused; /* the epoch in which an audit hook said no */
    if (!by_frames && refused != kymo__epoch && set_profile(state) < 0) {
        refused = kymo__epoch;
        PyErr_Clear();
    }
    return state->c_profilefunc != on_event;
}

/* MINE, whose evaluation gave RESULT, has ended at TICKS. */
static void ended(PyThreadState *state, struct activation *mine, PyObject *code, PyObject *result,
                  uint64_t ticks)
{
    if (!installed || !mine->entered || state->c_profilefunc == on_event)
        return;
    end_c_call(&mine->calling, 0, ticks);
    leave(code, result ? kymo__eval_leave_detail(code, mine->frame) : 2, mine->frame, result,
          ticks);
}

/* The function of CODE when it is one met lately, that runs in one piece, and nothing is special
   about this thread now; else NULL. */
static inline const struct function *plain_function(PyThreadState *state, PyObject *code)
{
    const struct function *f = kymo__recent_slot(code);
    bool plain = f->address == code && !f->slices && by_frames && !state->c_profilefunc &&
                 innermost && innermost->depth + 1 < DEEP && kymo__epoch_told == kymo__epoch;
    return __builtin_expect(plain, 1) ? f : NULL;
}

/* What is done for most calls. AT is the room for the enter in LANE. */
static inline PyObject *evaluate_plain(PyThreadState *state, kymo_eval_frame *frame, PyObject *code,
                                       uint32_t key, struct kymo_lane *lane, struct kymo_record *at)
{
    struct activation mine; /* field by field: the rest is not looked at */
    mine.outer = innermost;
    mine.frame = frame;
    mine.calling.key = 0;
    mine.depth = innermost->depth + 1;
    mine.throwing = false;
    mine.entered = true;
    const uint32_t session = lane->session;
    Py_INCREF(code);
    kymo_lane_store(at, kymo__counter_read(), kymo_word(KYMO_ENTER, 0, key));
    kymo_lane_commit(lane, at + 1);
    innermost = &mine;
    PyObject *result = evaluator_before(state, frame, 0);
    innermost = mine.outer;
    uint64_t ticks = kymo__counter_read(); /* not used where it is not sound */
    at = result && installed && !state->c_profilefunc ? kymo_lane_try(&lane, 1) : NULL;
    if (__builtin_expect(at != NULL && lane->session == session, 1)) {
        kymo_lane_store(at, ticks, kymo_word(KYMO_LEAVE, 0, key));
        kymo_lane_commit(lane, at + 1);
    } else {
        if (at)
            kymo_lane_release(lane, at); /* the key was another session's */
        ended(state, &mine, code, result, kymo_ticks());
    }
    Py_DECREF(code);
    return result;
}

/* The interpreter evaluates every frame through this. */
static PyObject *evaluate(PyThreadState *state, kymo_eval_frame *frame, int throwing)
{
    /* What profile and trace functions do themselves is nobody's to see. */
    if (!installed || state->tracing || kymo__eval_creates_generator(frame))
        return evaluator_before(state, frame, throwing);
    PyObject *code = kymo__eval_code(frame);
    const struct function *f = throwing ? NULL : plain_function(state, code);
    struct kymo_lane *lane;
    struct kymo_record *at = f ? kymo_lane_try(&lane, 1) : NULL;
    if (__builtin_expect(at != NULL, 1))
        return evaluate_plain(state, frame, code, f->key, lane, at);
    struct activation mine = {
        .outer = innermost,
        .frame = frame,
        .depth = innermost ? innermost->depth + 1 : 0,
        .throwing = throwing != 0,
    };
    Py_INCREF(code); /* a frame may drop its code's last reference when it ends */
    if (state->c_profilefunc != on_event)
        settle(kymo__current(state));
    if (state->c_profilefunc != on_event && unprofiled(state)) {
        if (!innermost)
            close_frames(kymo__caller(state));
        kymo__frames_check(false); /* the frame to come is not on the stack yet */
        enter(code, throwing ? 2 : kymo__eval_resumes(frame), frame);
        mine.entered = true;
    }
    bool deep = mine.depth >= DEEP;
    if (deep)
        stand_aside();
    innermost = &mine;
    PyObject *result = evaluator_before(state, frame, throwing);
    innermost = mine.outer;
    uint64_t ticks = kymo_ticks();
    bool reported = state->c_profilefunc == on_event;
    if (deep)
        stand_back(state);
    if (!reported)
        ended(state, &mine, code, result, ticks);
    Py_DECREF(code);
    return result;
}

int kymo__hook_init(PyObject *module)
{
    (void)module;
    return 0;
}

const char *kymo__hook_name(void)
{
    return kymo__tracing.c_calls == 1 ? "profile function" : "frame evaluator";
}

int kymo__hook_install(void)
{
    by_frames = kymo__tracing.c_calls != 1 && kymo__frames_are_exact();
    if (!by_frames && set_profile(PyThreadState_Get()) < 0)
        return -1;
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter_here());
    if (current == _PyEval_EvalFrameDefault)
        chained = false;
    if (current != evaluate && !chained) {
        evaluator_before = current;
        if (!standing_aside)
            _PyInterpreterState_SetEvalFrameFunc(interpreter_here(), evaluate);
    }
    installed = true;
    if (!by_frames || standing_aside)
        set_profiles();
    return 0;
}

void kymo__hook_began(void)
{
    if (by_frames)
        read_open_frames();
}

void kymo__hook_remove(void)
{
    if (!installed)
        return;
    installed = false;
    /* Somebody who came after us calls us; then ours stays in the chain and does nothing. */
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interpreter_here());
    chained = current != evaluate && current != evaluator_before;
    if (current == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(interpreter_here(), evaluator_before);
    unset_profiles();
}

#endif
