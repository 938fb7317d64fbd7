/* hook_profile.c — record calls with a profile function: 3.10 and 3.11. See hook_older.h.

   The interpreter calls it for every call and return of a Python frame and a C function. */
#include "tracer.h"

#if !KYMO_HAS_MONITORING

#include "awaits.h"
#include "callsites.h"
#include "ccalls.h"
#include "greenlets.h"
#include "hook_older.h"
#include "loops.h"
#include "named.h"
#include "tasks.h"
#include "throttle.h"

__thread struct activation *kymo__innermost;
bool kymo__by_frames;
static __thread struct c_call calling_before_us; /* of a frame that has no activation */

/* The site that counts calls of F, whose code is CODE, with an overhead budget; NULL when they
   are switched off. */
static struct site *counted(PyObject *code, const struct function *f)
{
    struct site *site = kymo__site(code, SITE_FUNCTION);
    if (!site || site->off)
        return NULL;
    site->key = f->key;
    kymo__throttle_count(site);
    return site;
}

/* F is entered in FRAME: if it belongs to an event loop, see what it is about to do. */
static void enter_watched(const struct function *f, const kymo_eval_frame *frame)
{
    if (f->slices == LOOP_SCHEDULER)
        kymo__loop_schedules(kymo__eval_local(frame, 1));
    else if (f->slices == LOOP_RUNNER)
        kymo__loop_runs(kymo__eval_local(frame, 0));
}

/* Must the events of F, whose code is CODE, go on, even if it is not recorded? */
static bool is_watched(const struct function *f, const PyObject *code)
{
    return KYMO_ALWAYS_SEEN(f->slices) || (f->slices == 1 && kymo__await_group_code(code));
}

/* The coroutine or generator of F in FRAME yields AWAITED. */
static void suspend(const struct function *f, PyObject *code, const kymo_eval_frame *frame,
                    PyObject *awaited)
{
    const struct place place = {
        .code = code,
        .offset = kymo__eval_offset(frame),
        .key = f->key,
        .first = ((PyCodeObject *)code)->co_argcount > 0 ? kymo__eval_local(frame, 0) : NULL,
    };
    kymo__task_suspend(frame, &place, awaited);
}

/* Record that CODE is entered in FRAME: KEY, and ID for a slice. */
static void record_enter(uint32_t key, uint64_t id, PyObject *code, unsigned detail,
                         const kymo_eval_frame *frame, const void *caller)
{
    if (kymo__tracing.lines) {
        const struct code_place own = {code, kymo__eval_offset(frame) / 2};
        const bool first = own.unit < 0 || (detail == 0 && kymo__begins_at_first_line(code));
        struct call_lines lines = kymo__lines_of_call(own, first, caller);
        kymo__trace_enter_lines(detail, key, id, &lines, 0);
    } else if (id) {
        kymo__trace_enter_slice(detail, key, id);
    } else {
        kymo__trace_enter(detail, key);
    }
}

void kymo__call_enter(PyObject *code, unsigned detail, const void *frame, const void *caller)
{
    const struct function *f = kymo__function_called(code);
    struct site *site = NULL;
    if (f->key == KYMO_LEFT_OUT || (kymo__throttling() && !(site = counted(code, f)))) {
        if (!is_watched(f, code))
            kymo__recent_leave_out(code);
        enter_watched(f, frame);
        return;
    }
    bool deep = kymo__too_deep_enter();
    if (!deep)
        record_enter(f->key, f->slices == 1 ? kymo__life(frame, detail == 0) : 0, code, detail,
                     frame, caller);
    if (f->slices == 1 && kymo__tasks)
        kymo__task_enter(frame, f->key, detail == 0);
    enter_watched(f, frame);
    if (deep)
        return;
    if (kymo__function_named(f))
        kymo__named_argument(f);
    if (site)
        kymo__throttle_push(site, frame, kymo_ticks());
    else if (kymo__by_frames && f->slices <= 1 && f->address == code)
        kymo__recent_add(f); /* for hook_frames.c */
}

/* RESULT is what the call returns or yields. */
void kymo__call_leave(PyObject *code, unsigned detail, const void *frame, PyObject *result,
                      uint64_t ticks)
{
    const struct function *f = kymo__function_called(code);
    if (f->slices == TASK_MAKER || f->slices == LOOP_RUNNER || (f->slices == 1 && kymo__tasks)) {
        if (f->slices == TASK_MAKER)
            kymo__task_returned(result);
        else if (f->slices == LOOP_RUNNER)
            kymo__loop_ran();
        else if (detail == 1)
            suspend(f, code, frame, result);
        else
            kymo__task_end(frame);
        ticks = kymo_ticks(); /* not earlier than what was recorded meanwhile */
    }
    if (f->slices == GREENLET_MODULE)
        kymo__greenlets_meet();
    struct site *site = NULL;
    if (f->key == KYMO_LEFT_OUT ||
        (kymo__throttling() && !(site = kymo__site(code, SITE_FUNCTION))))
        return;
    if (site ? kymo__throttle_pop(site, frame, ticks) : !kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    if (site && !site->off)
        kymo__throttle_count(site);
}

static const struct function *callable_entry(PyObject *callable)
{
    const void *address = kymo__callable_address(callable);
    if (!address)
        return NULL;
    const struct function *f = kymo__function_find(address);
    return f ? f : kymo__function_add_callable(address, callable);
}

/* Are C calls made by FRAME recorded? */
static bool caller_recorded(PyFrameObject *frame)
{
    PyObject *code = kymo__frame_code(frame);
    return kymo__function_of(code)->key != KYMO_LEFT_OUT;
}

/* The activation of FRAME, or NULL when it began before us. */
static struct activation *activation_of(PyFrameObject *frame)
{
    return kymo__innermost && kymo__innermost->frame == kymo__frame_eval(frame) ? kymo__innermost
                                                                                : NULL;
}

static bool is_open(const struct c_call *call)
{
    return call->key && call->epoch == kymo__epoch;
}

/* The C call of CALL has ended. */
void kymo__c_call_end(struct c_call *call, unsigned detail, uint64_t ticks)
{
    if (is_open(call)) {
        kymo__depth = call->depth;
        if (!call->deep)
            kymo__trace_at(KYMO_LEAVE, detail, call->key, ticks);
    }
    if (is_open(call) && call->site) {
        call->site->calls++;
        call->site->ticks += ticks - call->ticks;
        kymo__throttle_count(call->site);
    }
    call->key = 0;
}

/* The site that counts a C call that FRAME is about to make, with an overhead budget; NULL when
   it is switched off. */
static struct site *c_call_counted(PyFrameObject *frame, uint32_t key)
{
    struct site *site = kymo__site(kymo__frame_code(frame), (uint32_t)KYMO_FRAME_LASTI(frame));
    if (!site || site->off || kymo__throttle_without_c_calls())
        return NULL;
    site->key = key;
    site->c_call = 1;
    kymo__throttle_count(site);
    return site;
}

/* Where the C call of FRAME is stored; NULL when FRAME has no activation and made none. */
static struct c_call *c_call_of(kymo_eval_frame *frame)
{
    if (kymo__innermost && kymo__innermost->frame == frame)
        return &kymo__innermost->calling;
    return calling_before_us.frame == frame ? &calling_before_us : NULL;
}

static void on_c_call(PyFrameObject *object, PyObject *callable, uint64_t ticks)
{
    kymo_eval_frame *frame = kymo__frame_eval(object);
    struct c_call *call = c_call_of(frame);
    if (call)
        kymo__c_call_end(call, 0, ticks);
    const struct function *f = callable_entry(callable);
    struct site *site = NULL;
    if (!f || f->key == KYMO_LEFT_OUT || !caller_recorded(object) ||
        (kymo__throttling() && !(site = c_call_counted(object, f->key))))
        return;
    int depth = kymo__depth;
    bool deep = kymo__too_deep_enter();
    *(call ? call : &calling_before_us) = (struct c_call){
        .frame = frame,
        .at = kymo__eval_position(frame),
        .key = f->key,
        .epoch = kymo__epoch,
        .depth = depth,
        .deep = deep,
        .site = site,
        .ticks = ticks,
    };
    if (deep)
        return;
    if (kymo__tracing.lines) {
        const struct code_place caller = {kymo__frame_code(object), kymo__eval_offset(frame) / 2};
        struct call_lines lines = kymo__lines_of_c_call(caller);
        kymo__trace_enter_lines(0, f->key, 0, &lines, 0);
    } else {
        kymo__trace_enter(0, f->key);
    }
}

static void on_c_return(PyFrameObject *object, PyObject *callable, unsigned detail, uint64_t ticks)
{
    struct c_call *call = c_call_of(kymo__frame_eval(object));
    if (call)
        kymo__c_call_end(call, detail, ticks); /* does nothing if we did not see it begin */
    if (kymo__is_greenlet_settrace(callable))
        kymo__greenlets_replaced();
    if (call)
        return;
    /* C calls of frames without an activation are not all remembered. */
    const struct function *f = callable_entry(callable);
    if (f && f->key != KYMO_LEFT_OUT && caller_recorded(object) && !kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
}

/* A frame called by CALLER is about to be evaluated: unless the open C call of CALLER calls it,
   that call has ended. So has the C call of a frame that is gone. */
void kymo__settle(kymo_eval_frame *caller)
{
    struct c_call *call = c_call_of(caller);
    bool gone = !call && !kymo__innermost;
    if (gone)
        call = &calling_before_us;
    if (call && call->key && (gone || call->at != kymo__eval_position(caller)))
        kymo__c_call_end(call, 0, kymo_ticks());
}

static __thread struct {
    uint32_t epoch;
    unsigned frames; /* that only the profile function saw begin */
} alone;

bool kymo__profile_alone(void)
{
    return alone.epoch == kymo__epoch && alone.frames;
}

struct profile_stack kymo__profile_stack_swap(const struct profile_stack *next)
{
    struct profile_stack before = {calling_before_us, alone.epoch, alone.frames};
    calling_before_us = next->before_us;
    alone.epoch = next->epoch;
    alone.frames = next->alone;
    return before;
}

static void on_call(PyFrameObject *frame)
{
    struct activation *mine = activation_of(frame);
    if (!mine && alone.epoch != kymo__epoch) {
        alone.epoch = kymo__epoch;
        alone.frames = 0;
    }
    alone.frames += !mine;
    if (mine && mine->entered)
        return; /* the evaluator has recorded it */
    unsigned detail = mine && mine->throwing ? 2 : kymo__frame_resumes(frame);
    kymo__call_enter(kymo__frame_code(frame), detail, kymo__frame_eval(frame),
                     kymo__eval_back(kymo__frame_eval(frame)));
    if (mine)
        mine->entered = true;
}

static void on_return(PyFrameObject *frame, PyObject *result, uint64_t ticks)
{
    /* The exception of a signal handler may end a frame before its call was reported. */
    const struct activation *mine = activation_of(frame);
    kymo_eval_frame *evaluated = kymo__frame_eval(frame);
    struct c_call *call = c_call_of(evaluated);
    if (call && call->key) {
        kymo__c_call_end(call, 0, ticks);
        ticks = kymo_ticks(); /* the budget may have recorded something */
    }
    if (!mine) {
        alone.frames -= kymo__profile_alone();
        kymo__open_frame_ended(frame);
    }
    if (!mine || mine->entered)
        kymo__call_leave(kymo__frame_code(frame), result ? kymo__frame_yields(frame) : 2, evaluated,
                         result, ticks);
}

int kymo__on_profile_event(PyObject *Py_UNUSED(self), PyFrameObject *frame, int what, PyObject *arg)
{
    kymo__frames_check(what == PyTrace_CALL);
    uint64_t ticks = kymo__stamp_begin();
    kymo__meet_new_threads();
    switch (what) {
    case PyTrace_CALL:
        on_call(frame);
        break;
    case PyTrace_RETURN:
        on_return(frame, arg, ticks);
        break;
    case PyTrace_C_CALL:
        if (kymo__tracing.c_calls && !kymo__by_frames)
            on_c_call(frame, arg, ticks);
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        if (kymo__tracing.c_calls && !kymo__by_frames)
            on_c_return(frame, arg, what == PyTrace_C_EXCEPTION ? 2 : 0, ticks);
        break;
    }
    kymo__stamp_end();
    if (what != PyTrace_RETURN) /* its frame is no longer running */
        kymo__drop_c_calls();
    return 0;
}

/* ---- installing it on threads */

/* Install it, unless there is someone else's. 0, or -1 with an exception: an audit hook refused. */
int kymo__profile_set(PyThreadState *state)
{
    return state->c_profilefunc ? 0 : _PyEval_SetProfile(state, kymo__on_profile_event, NULL);
}

void kymo__profile_unset(PyThreadState *state)
{
    if (state->c_profilefunc != kymo__on_profile_event ||
        _PyEval_SetProfile(state, NULL, NULL) == 0)
        return;
    PyErr_Clear(); /* an audit hook cannot refuse this */
    state->c_profilefunc = NULL;
    if (!state->c_tracefunc)
        state->cframe->use_tracing = 0;
}

PyThreadState *kymo__newest_thread; /* when profile functions were last set */

void kymo__profiles_set(void)
{
    kymo__newest_thread = PyInterpreterState_ThreadHead(kymo__interpreter_here());
    for (PyThreadState *state = kymo__newest_thread; state; state = PyThreadState_Next(state))
        if (kymo__profile_set(state) < 0)
            PyErr_Clear();
}

void kymo__profiles_unset(void)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(kymo__interpreter_here());
    for (; state; state = PyThreadState_Next(state))
        kymo__profile_unset(state);
}

#endif
