/* hook_frames.c — calls as a frame evaluator sees them: 3.10 and 3.11. See hook_older.h.

   The interpreter evaluates every frame through it, on every thread. */
#include "tracer.h"

#if !KYMO_HAS_MONITORING

#include <stdlib.h>
#include <string.h>

#include "hook_older.h"
#include "tasks.h"
#include "throttle.h"

static PyObject *evaluate(PyThreadState *state, kymo_eval_frame *frame, int throwing);
static _PyFrameEvalFunction evaluator_before; /* what ours calls */
static bool chained; /* ours is called by an evaluator that was set later */
static bool installed;
static uint32_t usual_epoch; /* the epoch, while the evaluator alone records; else 0 */

/* With an evaluator every Python call uses more C stack, and on 3.11 without one it uses
   none. A program that recurses as deep as it can must not notice: from DEEP on the
   evaluator stands aside, for all threads, and profile functions do its work. */
enum { DEEP = 1000 };
static unsigned standing_aside; /* how many frames want it to */
static bool stood_aside;        /* since tracing began or went on, with more than one thread */

static void stand_aside(void)
{
    if (!standing_aside++ &&
        _PyInterpreterState_GetEvalFrameFunc(kymo__interpreter_here()) == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(kymo__interpreter_here(), evaluator_before);
    kymo__profiles_set();
    stood_aside |= kymo__newest_thread && PyThreadState_Next(kymo__newest_thread);
}

static void stand_back(PyThreadState *state)
{
    if (--standing_aside || !installed)
        return;
    if (_PyInterpreterState_GetEvalFrameFunc(kymo__interpreter_here()) == evaluator_before)
        _PyInterpreterState_SetEvalFrameFunc(kymo__interpreter_here(), evaluate);
    if (kymo__by_frames && !kymo__profile_alone())
        kymo__profile_unset(state); /* on other threads it still has frames to see the end of */
}

/* Nobody else notices threads that begin meanwhile. */
void kymo__meet_new_threads(void)
{
    if (standing_aside &&
        PyInterpreterState_ThreadHead(kymo__interpreter_here()) != kymo__newest_thread)
        kymo__profiles_set();
}

/* Where there is no profile function, nobody tells of the end of frames that began before
   us. These are those of this thread, outermost first; at the next call it shows, by the
   frame that makes it, which have ended. */
struct open_frame {
    PyFrameObject *frame; /* an address only, as the next */
    const void *owner;    /* of its call; throttle.h */
    uint32_t key;
    const struct activation *inside; /* the next further out, of before; or NULL */
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
    const struct activation *active = kymo__innermost; /* these tell of their end themselves */
    size_t next = count;
    for (PyFrameObject *frame = PyEval_GetFrame(); frame && next; frame = back(frame)) {
        if (active && active->frame == kymo__frame_eval(frame))
            active = active->outer;
        else
            open_frames[--next] = (struct open_frame){
                .frame = frame,
                .owner = kymo__frame_eval(frame),
                .key = kymo__frames_key(kymo__frame_code(frame)),
                .inside = active,
            };
    }
    open_count = count - next;
    memmove(open_frames, open_frames + next, open_count * sizeof *open_frames);
}

void kymo__hook_told(bool entering, size_t expected)
{
    size_t count = 0;
    for (PyFrameObject *frame = PyEval_GetFrame(); frame; frame = back(frame))
        count++;
    PyFrameObject **frames = count ? malloc(count * sizeof *frames) : NULL;
    if (!frames)
        return;
    count = 0;
    for (PyFrameObject *frame = PyEval_GetFrame(); frame; frame = back(frame))
        frames[count++] = frame;
    for (size_t known = 0; count-- > (size_t)entering && (!expected || known < expected);) {
        PyObject *code = kymo__frame_code(frames[count]);
        if (kymo__function_of(code)->key == KYMO_LEFT_OUT)
            continue;
        kymo__throttle_open(code, kymo__frame_eval(frames[count]), expected);
        known++;
    }
    free(frames);
}

/* The innermost of them, when it lies right inside ACTIVE; else NULL. */
static const struct open_frame *open_inside(const struct activation *active)
{
    bool found =
        open_count && open_epoch == kymo__epoch && open_frames[open_count - 1].inside == active;
    return found ? &open_frames[open_count - 1] : NULL;
}

/* Those inside ACTIVE have ended, up to FRAME; recorded at TICKS, unless that is 0. */
static void close_inside(const struct activation *active, const PyFrameObject *frame,
                         uint64_t ticks)
{
    const struct open_frame *open;
    while ((open = open_inside(active)) && open->frame != frame) {
        open_count--;
        if (open->key != KYMO_LEFT_OUT && kymo__throttling())
            kymo__throttle_close(open->owner);
        if (ticks && open->key != KYMO_LEFT_OUT) {
            kymo__depth = 0; /* they do not count for max_depth */
            kymo__trace_at(KYMO_LEAVE, 0, open->key, ticks);
        }
    }
    if (!open_count && open_frames) {
        free(open_frames);
        open_frames = NULL;
    }
}

/* The profile function has seen the end of FRAME. */
void kymo__open_frame_ended(const PyFrameObject *frame)
{
    if (open_count && open_frames[open_count - 1].frame == frame)
        open_count--;
}

/* FRAME makes a call: those further in have ended. */
static void close_frames(PyFrameObject *frame)
{
    /* Inside an activation of this epoch all frames have one. */
    if (open_epoch != kymo__epoch && (!kymo__innermost || kymo__innermost->epoch != kymo__epoch)) {
        kymo__frames_tell_again();
        read_open_frames();
    }
    if (open_inside(kymo__innermost))
        close_inside(kymo__innermost, frame, kymo_ticks());
}

/* While the evaluator stands aside, nobody remembers all C calls that are open. */
bool kymo__hook_can_drop_c_calls(void)
{
    return !standing_aside;
}

/* When the overhead budget has no room for C calls: their profile functions go, and the evaluator
   records. One stays where it has frames to see the end of: those that began while the evaluator
   stood aside. */
void kymo__drop_c_calls(void)
{
    if (kymo__by_frames || !kymo__throttle_without_c_calls())
        return;
    kymo__by_frames = true;
    usual_epoch = kymo__epoch;
    if (standing_aside || kymo__profile_alone())
        return;
    read_open_frames();
    if (stood_aside)
        kymo__profile_unset(PyThreadState_Get());
    else
        kymo__profiles_unset();
}

/* True when STATE, which is this thread's, has no profile function of ours, nor will. */
static bool unprofiled(PyThreadState *state)
{
    static __thread uint32_t refused; /* the epoch in which an audit hook said no */
    bool removed = !kymo__by_frames && !state->c_profilefunc && refused != kymo__epoch;
    if (removed && kymo__profile_set(state) < 0) {
        refused = kymo__epoch;
        PyErr_Clear();
    } else if (removed && !kymo__innermost && kymo__epoch_told == kymo__epoch) {
        kymo__frames_tell_again(); /* the program took it away, and frames may have ended unseen */
    }
    return state->c_profilefunc != kymo__on_profile_event;
}

/* MINE, whose evaluation gave RESULT, has ended at TICKS. */
static void ended(PyThreadState *state, struct activation *mine, PyObject *code, PyObject *result,
                  uint64_t ticks)
{
    if (!installed || !mine->entered || state->c_profilefunc == kymo__on_profile_event) {
        close_inside(mine, NULL, 0);
        return;
    }
    close_inside(mine, NULL, ticks);
    if (mine->calling.key) {
        kymo__c_call_end(&mine->calling, 0, ticks);
        ticks = kymo_ticks(); /* the budget may have recorded something */
    }
    kymo__call_leave(code, result ? kymo__eval_leave_detail(code, mine->frame) : 2, mine->frame,
                     result, ticks);
}

/* Begin MINE, the evaluation of FRAME: one of many, of which the rest is not looked at. */
KYMO_INLINE void activate(struct activation *mine, kymo_eval_frame *frame, bool entered)
{
    struct activation *outer = kymo__innermost;
    mine->outer = outer;
    mine->frame = frame;
    mine->calling.key = 0;
    mine->depth = outer->depth + 1;
    mine->epoch = outer->epoch;
    mine->throwing = false;
    mine->entered = entered;
    kymo__innermost = mine;
}

/* A call of CODE that is not recorded. Where the frames are told anew meanwhile it may be. */
static __attribute__((noinline)) PyObject *evaluate_left_out(PyThreadState *state,
                                                             kymo_eval_frame *frame, PyObject *code)
{
    struct activation mine;
    if (kymo__innermost->calling.key)
        kymo__settle(kymo__current(state));
    activate(&mine, frame, !kymo__eval_creates_generator(frame));
    Py_INCREF(code);
    PyObject *result = evaluator_before(state, frame, 0);
    kymo__innermost = mine.outer;
    if (__builtin_expect(mine.epoch != usual_epoch, 0))
        ended(state, &mine, code, result, kymo_ticks());
    Py_DECREF(code);
    return result;
}

/* A call of CODE, or with SLICES one slice of it, whose enter is recorded as KEY. */
KYMO_INLINE PyObject *evaluate_entered(PyThreadState *state, kymo_eval_frame *frame, PyObject *code,
                                       uint32_t key, bool slices)
{
    struct activation mine;
    activate(&mine, frame, true);
    Py_INCREF(code); /* a frame may drop its code's last reference when it ends */
    PyObject *result = evaluator_before(state, frame, 0);
    kymo__innermost = mine.outer;
    uint64_t ticks = kymo__counter_read(); /* not used where it is not sound */
    bool usual = mine.epoch == usual_epoch && !state->c_profilefunc && !(slices && kymo__tasks);
    struct kymo_lane *lane;
    struct kymo_record *at = __builtin_expect(usual, 1) ? kymo_lane_try(&lane, 1) : NULL;
    if (__builtin_expect(at != NULL, 1)) {
        unsigned detail = !result ? 2 : slices ? kymo__eval_leave_detail(code, frame) : 0;
        kymo_lane_store(at, ticks, kymo_word(KYMO_LEAVE, detail, key));
        kymo_lane_commit(lane, at + 1);
    } else {
        ended(state, &mine, code, result, kymo_ticks());
    }
    Py_DECREF(code);
    return result;
}

static PyObject *evaluate_slowly(PyThreadState *state, kymo_eval_frame *frame, int throwing);

/* A slice of a generator or coroutine, whose function is KEY. */
static __attribute__((noinline)) PyObject *
evaluate_slice(PyThreadState *state, kymo_eval_frame *frame, PyObject *code, uint32_t key)
{
    struct kymo_lane *lane;
    struct kymo_record *at;
    if (kymo__tasks || kymo__eval_creates_generator(frame) || !(at = kymo_lane_try(&lane, 2)))
        return evaluate_slowly(state, frame, 0);
    kymo__store_slice(at, kymo__counter_read(), kymo__eval_resumes(frame), key, frame);
    kymo_lane_commit(lane, at + 2);
    return evaluate_entered(state, frame, code, key, true);
}

/* Whatever is special about the call, the thread or the time. */
static __attribute__((noinline)) PyObject *evaluate_slowly(PyThreadState *state,
                                                           kymo_eval_frame *frame, int throwing)
{
    /* What profile and trace functions do themselves is nobody's to see. */
    if (!installed || state->tracing || kymo__eval_creates_generator(frame))
        return evaluator_before(state, frame, throwing);
    PyObject *code = kymo__eval_code(frame);
    struct activation mine = {
        .outer = kymo__innermost,
        .frame = frame,
        .depth = kymo__innermost ? kymo__innermost->depth + 1 : 0,
        .throwing = throwing != 0,
    };
    Py_INCREF(code);
    if (state->c_profilefunc != kymo__on_profile_event)
        kymo__settle(kymo__current(state));
    if (state->c_profilefunc != kymo__on_profile_event && unprofiled(state)) {
        close_frames(kymo__caller(state));
        kymo__frames_check(false); /* the frame to come is not on the stack yet */
        kymo__call_enter(code, throwing ? 2 : kymo__eval_resumes(frame), frame);
        mine.entered = true;
    }
    /* The first frame of a thread is not on the stack yet; what it calls comes here, too. */
    mine.epoch = kymo__frames_name() ? kymo__epoch_told : 0;
    bool deep = mine.depth >= DEEP;
    if (deep)
        stand_aside();
    kymo__innermost = &mine;
    PyObject *result = evaluator_before(state, frame, throwing);
    kymo__innermost = mine.outer;
    uint64_t ticks = kymo_ticks();
    bool reported = state->c_profilefunc == kymo__on_profile_event;
    if (deep)
        stand_back(state);
    if (!reported)
        ended(state, &mine, code, result, ticks);
    else
        close_inside(&mine, NULL, 0);
    Py_DECREF(code);
    return result;
}

/* The interpreter evaluates every frame through this. What can be is done here: calls of functions
   met lately, while nothing is special about this thread. */
static PyObject *evaluate(PyThreadState *state, kymo_eval_frame *frame, int throwing)
{
    PyObject *code = kymo__eval_code(frame);
    const struct function *f = kymo__recent_slot(code);
    const struct activation *outer = kymo__innermost;
    bool usual = outer && outer->epoch == usual_epoch && outer->depth + 1 < DEEP &&
                 f->address == code && !throwing && !state->tracing && !state->c_profilefunc;
    if (__builtin_expect(!usual, 0))
        return evaluate_slowly(state, frame, throwing);
    const uint32_t key = f->key;
    if (__builtin_expect(key == KYMO_LEFT_OUT, 0))
        return evaluate_left_out(state, frame, code);
    if (__builtin_expect(f->slices, 0))
        return evaluate_slice(state, frame, code, key);
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_try(&lane, 1);
    if (__builtin_expect(!at, 0))
        return evaluate_slowly(state, frame, throwing);
    kymo_lane_store(at, kymo__counter_read(), kymo_word(KYMO_ENTER, 0, key));
    kymo_lane_commit(lane, at + 1);
    return evaluate_entered(state, frame, code, key, false);
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

bool kymo__hook_can_throttle(void)
{
    return kymo__frames_are_exact();
}

int kymo__hook_install(void)
{
    kymo__by_frames = kymo__frames_are_exact() &&
                      (kymo__tracing.c_calls != 1 || kymo__throttle_without_c_calls());
    if (!kymo__by_frames && kymo__profile_set(PyThreadState_Get()) < 0)
        return -1;
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(kymo__interpreter_here());
    if (current == _PyEval_EvalFrameDefault)
        chained = false;
    if (current != evaluate && !chained) {
        evaluator_before = current;
        if (!standing_aside)
            _PyInterpreterState_SetEvalFrameFunc(kymo__interpreter_here(), evaluate);
    }
    installed = true;
    stood_aside = standing_aside;
    usual_epoch = kymo__by_frames ? kymo__epoch : 0;
    if (!kymo__by_frames || standing_aside)
        kymo__profiles_set();
    return 0;
}

void kymo__hook_began(void)
{
    if (kymo__by_frames)
        read_open_frames();
}

void kymo__hook_remove(void)
{
    if (!installed)
        return;
    installed = false;
    usual_epoch = 0;
    /* Somebody who came after us calls us; then ours stays in the chain and does nothing. */
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(kymo__interpreter_here());
    chained = current != evaluate && current != evaluator_before;
    if (current == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(kymo__interpreter_here(), evaluator_before);
    kymo__profiles_unset();
}

#endif
