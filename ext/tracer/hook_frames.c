/* hook_frames.c — record calls with a frame evaluator: 3.10 and 3.11. See hook_older.h.

   The interpreter evaluates every frame through it, on every thread. */
#include "tracer.h"

#if !KYMO_HAS_MONITORING

#include <stdlib.h>
#include <string.h>

#include "hook_older.h"
#include "tasks.h"
#include "throttle.h"

static PyObject *evaluate_frame(PyThreadState *state, kymo_eval_frame *frame, int throwing);
static _PyFrameEvalFunction evaluator_before; /* the evaluator that ours calls */
static bool chained;                          /* an evaluator that was set later calls ours */
static bool installed;
static uint32_t usual_epoch; /* the epoch, while only the evaluator records; else 0 */

/* With an evaluator every Python call uses more C stack; on 3.11 without one it uses none. A
   program that recurses as deep as it can must not notice, so from depth DEEP on the evaluator
   is removed, for all threads, and profile functions do its work. */
enum { DEEP = 1000 };
static unsigned standing_aside; /* how many frames need it removed */
static bool stood_aside;        /* since tracing began or resumed, with more than one thread */

static void stand_aside(void)
{
    if (!standing_aside++ &&
        _PyInterpreterState_GetEvalFrameFunc(kymo__interpreter_here()) == evaluate_frame)
        _PyInterpreterState_SetEvalFrameFunc(kymo__interpreter_here(), evaluator_before);
    kymo__profiles_set();
    stood_aside |= kymo__newest_thread && PyThreadState_Next(kymo__newest_thread);
}

static void stand_back(PyThreadState *state)
{
    if (--standing_aside || !installed)
        return;
    if (_PyInterpreterState_GetEvalFrameFunc(kymo__interpreter_here()) == evaluator_before)
        _PyInterpreterState_SetEvalFrameFunc(kymo__interpreter_here(), evaluate_frame);
    if (kymo__by_frames && !kymo__profile_alone())
        kymo__profile_unset(state); /* on other threads it must still see the end of some frames */
}

/* Nothing else notices threads that start meanwhile. */
void kymo__meet_new_threads(void)
{
    if (standing_aside &&
        PyInterpreterState_ThreadHead(kymo__interpreter_here()) != kymo__newest_thread)
        kymo__profiles_set();
}

/* Without a profile function nobody reports the end of frames that began before us. These are
   this thread's, outermost first; at the next call, the calling frame shows which have ended. */
struct open_frame {
    PyFrameObject *frame; /* only an address, like the next */
    const void *owner;    /* the owner of its call; throttle.h */
    uint32_t key;
    const struct activation *inside; /* the next activation further out when it was read; or NULL */
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
    const struct activation *active = kymo__innermost; /* these report their end themselves */
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

void kymo__hook_frames_recorded(bool entering, size_t expected)
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

/* The innermost activation, if it belongs to CURRENT, the running frame; else NULL. Activations are
   on the C stack. If someone switches that without our knowledge, this points into the old stack,
   which can be read but means nothing. */
KYMO_INLINE struct activation *innermost_of(kymo_eval_frame *current)
{
    struct activation *innermost = kymo__innermost;
    return innermost && innermost->frame == current ? innermost : NULL;
}

/* The same where frames without an activation may be in between: those that began while the
   evaluator was removed. */
static struct activation *innermost_below(kymo_eval_frame *current)
{
    struct activation *found = innermost_of(current);
    while (kymo__innermost && !found && current)
        found = innermost_of(current = kymo__eval_back(current));
    return found;
}

struct hook_stack {
    struct activation *innermost;
    struct profile_stack profile;
    struct open_frame *open_frames;
    size_t open_count;
    uint32_t open_epoch;
};

void *kymo__hook_stack_take(void *before)
{
    static const struct profile_stack nothing;
    struct hook_stack *taken = before ? before : malloc(sizeof *taken);
    struct profile_stack profile = kymo__profile_stack_swap(&nothing);
    if (taken)
        *taken = (struct hook_stack){kymo__innermost, profile, open_frames, open_count, open_epoch};
    else
        free(open_frames);
    kymo__innermost = NULL;
    open_frames = NULL;
    open_count = 0;
    return taken;
}

void kymo__hook_stack_give(const void *given, bool started)
{
    const struct hook_stack *stack = given;
    PyThreadState *state = PyThreadState_Get();
    if (stack) {
        kymo__innermost = stack->innermost;
        kymo__innermost = innermost_below(kymo__current(state));
        (void)kymo__profile_stack_swap(&stack->profile);
        open_frames = stack->open_frames;
        open_count = stack->open_count;
        open_epoch = stack->open_epoch;
    } else if (started) {
        open_epoch = kymo__epoch;
    } else if (kymo__by_frames) {
        read_open_frames();
    }
    /* A greenlet remembers whether it is being profiled, possibly from before we started. */
    if (state->c_profilefunc)
        state->cframe->use_tracing = KYMO_USE_TRACING;
}

/* The innermost of them, if it is directly inside ACTIVE; else NULL. */
static const struct open_frame *open_inside(const struct activation *active)
{
    bool found =
        open_count && open_epoch == kymo__epoch && open_frames[open_count - 1].inside == active;
    return found ? &open_frames[open_count - 1] : NULL;
}

/* Those inside ACTIVE have ended, up to FRAME; record that at TICKS, unless it is 0. */
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
        kymo__frames_record_again();
        read_open_frames();
    }
    if (open_inside(kymo__innermost))
        close_inside(kymo__innermost, frame, kymo_ticks());
}

/* While the evaluator is removed, nobody remembers all open C calls. */
bool kymo__hook_can_drop_c_calls(void)
{
    return !standing_aside;
}

/* When the overhead budget has no room for C calls: remove their profile functions, so that the
   evaluator records. One stays on a thread where it must see the end of frames that began while
   the evaluator was removed. */
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

/* True when STATE, this thread's, has no profile function of ours and will get none. */
static bool unprofiled(PyThreadState *state)
{
    static __thread uint32_t refused; /* the epoch in which an audit hook refused */
    bool removed = !kymo__by_frames && !state->c_profilefunc && refused != kymo__epoch;
    if (removed && kymo__profile_set(state) < 0) {
        refused = kymo__epoch;
        PyErr_Clear();
    } else if (removed && !kymo__innermost && kymo__epoch_recorded == kymo__epoch) {
        kymo__frames_record_again(); /* the program removed it, and frames may have ended unseen */
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
    /* It began before a pause or in an earlier session, and its enter was not recorded since. */
    if (mine->epoch != kymo__epoch && !kymo__frames_were_recorded())
        return;
    close_inside(mine, NULL, ticks);
    if (mine->calling.key) {
        kymo__c_call_end(&mine->calling, 0, ticks);
        ticks = kymo_ticks(); /* the budget may have recorded something */
    }
    kymo__call_leave(code, result ? kymo__eval_leave_detail(code, mine->frame) : 2, mine->frame,
                     result, ticks);
}

/* Begin MINE, the evaluation of FRAME. */
KYMO_INLINE void activate_frame(struct activation *mine, kymo_eval_frame *frame, bool entered)
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

/* A call of CODE that is not recorded, unless the frames are reported again meanwhile. */
static __attribute__((noinline)) PyObject *evaluate_left_out(PyThreadState *state,
                                                             kymo_eval_frame *frame, PyObject *code)
{
    struct activation mine;
    if (kymo__innermost->calling.key)
        kymo__settle(kymo__current(state));
    activate_frame(&mine, frame, !kymo__eval_creates_generator(frame));
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
    activate_frame(&mine, frame, true);
    Py_INCREF(code); /* a frame may drop the last reference to its code when it ends */
    PyObject *result = evaluator_before(state, frame, 0);
    kymo__innermost = mine.outer;
    uint64_t ticks = kymo__counter_read(); /* not used where the counter is unreliable */
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
    unsigned resumes = kymo__eval_resumes(frame);
    uint64_t id = kymo__life(frame, !resumes);
    kymo__store_slice(at, kymo__counter_read(), resumes, key, id);
    kymo_lane_commit(lane, at + 2);
    return evaluate_entered(state, frame, code, key, true);
}

/* Everything else: when something is special about the call, the thread or the moment. */
static __attribute__((noinline)) PyObject *evaluate_slowly(PyThreadState *state,
                                                           kymo_eval_frame *frame, int throwing)
{
    /* What profile and trace functions do themselves is not recorded. */
    if (!installed || state->tracing || kymo__eval_creates_generator(frame))
        return evaluator_before(state, frame, throwing);
    PyObject *code = kymo__eval_code(frame);
    struct activation *outer = innermost_below(kymo__current(state));
    struct activation mine = {
        .outer = outer,
        .frame = frame,
        .depth = outer ? outer->depth + 1 : 0,
        .throwing = throwing != 0,
    };
    kymo__innermost = outer;
    Py_INCREF(code);
    if (state->c_profilefunc != kymo__on_profile_event)
        kymo__settle(kymo__current(state));
    if (state->c_profilefunc != kymo__on_profile_event && unprofiled(state)) {
        close_frames(kymo__caller(state));
        kymo__frames_check(false); /* the new frame is not on the stack yet */
        kymo__call_enter(code, throwing ? 2 : kymo__eval_resumes(frame), frame,
                         kymo__current(state));
        mine.entered = true;
    } else if (!throwing && kymo__eval_resumes_unseen(frame)) {
        kymo__frames_check(false);
        kymo__call_enter(code, 1, frame, kymo__current(state));
        mine.entered = true;
    }
    /* The first frame of a thread is not on the stack yet; the frames it calls come here, too. */
    mine.epoch = kymo__frames_name() ? kymo__epoch_recorded : 0;
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

/* The interpreter evaluates every frame through this. The common case is handled here: calls of
   recently used functions, while nothing is special about this thread. */
static PyObject *evaluate_frame(PyThreadState *state, kymo_eval_frame *frame, int throwing)
{
    PyObject *code = kymo__eval_code(frame);
    const struct function *f = kymo__recent_slot(code);
    const struct activation *outer = innermost_of(kymo__current(state));
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
    return kymo__tracing.c_calls ? "profile function" : "frame evaluator";
}

bool kymo__hook_can_stay(void)
{
    return false;
}

bool kymo__hook_can_throttle(void)
{
    return kymo__frames_are_exact();
}

int kymo__hook_install(void)
{
    kymo__by_frames =
        kymo__frames_are_exact() && (!kymo__tracing.c_calls || kymo__throttle_without_c_calls());
    if (!kymo__by_frames && kymo__profile_set(PyThreadState_Get()) < 0)
        return -1;
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(kymo__interpreter_here());
    if (current == _PyEval_EvalFrameDefault)
        chained = false;
    if (current != evaluate_frame && !chained) {
        evaluator_before = current;
        if (!standing_aside)
            _PyInterpreterState_SetEvalFrameFunc(kymo__interpreter_here(), evaluate_frame);
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
    /* If a later evaluator calls us, ours stays in the chain and does nothing. */
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(kymo__interpreter_here());
    chained = current != evaluate_frame && current != evaluator_before;
    if (current == evaluate_frame)
        _PyInterpreterState_SetEvalFrameFunc(kymo__interpreter_here(), evaluator_before);
    kymo__profiles_unset();
}

#endif
