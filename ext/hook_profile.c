/* hook_profile.c — calls as a profile function sees them: 3.10 and 3.11.

   The interpreter calls it for every call and return of a Python frame and of a C
   function. It is a thread's own: it is set on the threads there are, and on later ones
   when the frame evaluator, which is the interpreter's, first meets them. With C calls
   left out the frame evaluator alone records, at a fraction of the cost. */
#include "tracer.h"

#if !KYMO_HAS_MONITORING

#include "ccalls.h"
#include KYMO_FRAME_HEADER

static _PyFrameEvalFunction evaluator_before; /* what ours calls, while installed */
static bool installed;
static bool by_frames; /* the evaluator records; there is no profile function */

static const struct function *code_entry(PyObject *code)
{
    const struct function *f = kymo__function_find(code);
    return f ? f : kymo__function_add(code);
}

static void enter(PyObject *code, unsigned detail, const void *frame)
{
    const struct function *f = code_entry(code);
    if (f->key == KYMO_LEFT_OUT || kymo__too_deep_enter())
        return;
    if (f->slices)
        kymo__trace_enter_slice(detail, f->key, frame);
    else
        kymo__trace_enter(detail, f->key);
}

static void leave(PyObject *code, unsigned detail, uint64_t ticks)
{
    const struct function *f = code_entry(code);
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

static int on_event(PyObject *Py_UNUSED(self), PyFrameObject *frame, int what, PyObject *arg)
{
    uint64_t ticks = kymo_ticks();
    const struct function *f;
    kymo__frames_check(what == PyTrace_CALL);
    switch (what) {
    case PyTrace_CALL:
        enter(kymo__frame_code(frame), kymo__frame_enter_detail(frame), frame);
        break;
    case PyTrace_RETURN:
        if (arg)
            leave(kymo__frame_code(frame), kymo__frame_leave_detail(frame), ticks);
        else if (!kymo__frame_never_entered(frame))
            leave(kymo__frame_code(frame), 2, ticks);
        break;
    case PyTrace_C_CALL:
        if (kymo__tracing.c_calls != 1)
            break;
        f = callable_entry(arg);
        if (f && f->key != KYMO_LEFT_OUT && caller_recorded(frame) && !kymo__too_deep_enter())
            kymo__trace_enter(0, f->key);
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        if (kymo__tracing.c_calls != 1)
            break;
        f = callable_entry(arg);
        if (f && f->key != KYMO_LEFT_OUT && caller_recorded(frame) && !kymo__too_deep_leave())
            kymo__trace_at(KYMO_LEAVE, what == PyTrace_C_EXCEPTION ? 2 : 0, f->key, ticks);
        break;
    }
    return 0;
}

/* A profile function of somebody else's stays: its thread is not traced, and we say so in
   the capture by not having its calls. */
static void set_profile(PyThreadState *state)
{
    if (state->c_profilefunc)
        return;
    if (_PyEval_SetProfile(state, on_event, NULL) < 0)
        PyErr_Clear(); /* an audit hook said no */
}

static void unset_profile(PyThreadState *state)
{
    if (state->c_profilefunc == on_event && _PyEval_SetProfile(state, NULL, NULL) < 0)
        PyErr_Clear();
}

static void each_thread(void (*function)(PyThreadState *))
{
    PyInterpreterState *interpreter = PyThreadState_GetInterpreter(PyThreadState_Get());
    for (PyThreadState *state = PyInterpreterState_ThreadHead(interpreter); state;
         state = PyThreadState_Next(state))
        function(state);
}

/* The interpreter evaluates every frame through this. */
static PyObject *evaluate(PyThreadState *state, kymo_eval_frame *frame, int throwing)
{
    if (!installed || !by_frames) {
        if (installed && state->c_profilefunc != on_event)
            set_profile(state);
        return evaluator_before(state, frame, throwing);
    }
    PyObject *code = kymo__eval_code(frame);
    if (kymo__eval_creates_generator(frame))
        return evaluator_before(state, frame, throwing); /* it only makes the object */
    kymo__frames_check(false); /* the frame to come is not on the stack yet */
    Py_INCREF(code); /* a frame may drop its code's last reference when it ends */
    enter(code, throwing ? 2 : kymo__eval_resumes(frame), frame);
    PyObject *result = evaluator_before(state, frame, throwing);
    uint64_t ticks = kymo_ticks();
    if (installed)
        leave(code, result ? kymo__eval_leave_detail(code, frame) : 2, ticks);
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
    PyInterpreterState *interpreter = PyThreadState_GetInterpreter(PyThreadState_Get());
    by_frames = kymo__tracing.c_calls != 1 && kymo__frames_are_exact();
    evaluator_before = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    installed = true;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    if (!by_frames)
        each_thread(set_profile);
    return 0;
}

void kymo__hook_remove(void)
{
    if (!installed)
        return;
    installed = false;
    PyInterpreterState *interpreter = PyThreadState_GetInterpreter(PyThreadState_Get());
    /* Somebody who came after us calls us; then ours stays in the chain and does nothing. */
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluator_before);
    each_thread(unset_profile);
}

#endif
