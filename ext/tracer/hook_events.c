/* hook_events.c — the callbacks of sys.monitoring. See hook_events.h.

   Most events need a lookup among recently used functions and one record; everything else is out
   of line. */
#include "tracer.h"

#if KYMO_HAS_MONITORING

#include "awaits.h"
#include "callsites.h"
#include "greenlets.h"
#include "hook_events.h"
#include "loops.h"
#include "tasks.h"
#include "unseen.h"

/* An instruction as compiled, without the interpreter's specialisation. */
struct instruction {
    int code; /* -1: there is none */
    unsigned argument;
};

/* The instruction at OFFSET of CODE. */
static struct instruction instruction_at(PyObject *code, long offset)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *bytes = PyCode_GetCode((PyCodeObject *)code); /* the code object keeps it */
    const char *units = bytes ? PyBytes_AS_STRING(bytes) : NULL;
    struct instruction found = {.code = -1};
    if (bytes && offset >= 0 && offset < PyBytes_GET_SIZE(bytes)) {
        while (units[offset] == CACHE && offset >= 2)
            offset -= 2; /* the inline cache after an instruction */
        found.code = (unsigned char)units[offset];
        found.argument = (unsigned char)units[offset + 1];
    }
    Py_XDECREF(bytes);
    PyErr_Restore(type, value, trace);
    return found;
}

void kymo__enter_watched(const struct function *f)
{
    if (f->slices == LOOP_SCHEDULER)
        kymo__loop_schedules(KYMO_FRAME_LOCAL(KYMO_CURRENT_FRAME(), 1));
    else if (f->slices == LOOP_RUNNER)
        kymo__loop_runs(KYMO_FRAME_LOCAL(KYMO_CURRENT_FRAME(), 0));
}

/* The instruction of the event of ARGS. */
KYMO_INLINE struct code_place place_of_event(PyObject *const *args)
{
    return (struct code_place){args[0], kymo__event_offset(args) / 2};
}

/* Record that the running frame is entered with the event of ARGS: KEY, and ID for a slice. */
static void enter_with_lines(uint32_t key, uint64_t id, PyObject *const *args, unsigned detail)
{
    const struct _PyInterpreterFrame *frame = KYMO_CURRENT_FRAME();
    const bool first = detail == 0 && kymo__begins_at_first_line(args[0]);
    struct call_lines lines = kymo__lines_of_call(place_of_event(args), first, frame->previous);
    kymo__trace_enter_lines(detail, key, id, &lines, 0);
}

void kymo__enter_special(const struct function *f, PyObject *const *args, unsigned detail)
{
    if (f->slices != 1) {
        if (kymo__tracing.lines)
            enter_with_lines(f->key, 0, args, detail);
        else
            kymo__trace_enter(detail, f->key);
        kymo__enter_watched(f);
        if (kymo__function_named(f))
            kymo__named_argument(f);
        return;
    }
    const void *frame = KYMO_CURRENT_FRAME();
    uint64_t id = kymo__life(frame, detail == 0);
    if (kymo__tracing.lines)
        enter_with_lines(f->key, id, args, detail);
    else
        kymo__trace_enter_slice(detail, f->key, id);
    if (kymo__tasks)
        kymo__task_enter(frame, f->key, detail == 0);
}

void kymo__enter_deep(const struct function *f, unsigned detail)
{
    if (f->slices == 1 && kymo__tasks)
        kymo__task_enter(KYMO_CURRENT_FRAME(), f->key, detail == 0);
    kymo__enter_watched(f);
}

bool kymo__is_watched(const struct function *f)
{
    return KYMO_ALWAYS_SEEN(f->slices) || (f->slices == 1 && kymo__await_group_code(f->address));
}

/* A coroutine, or a generator, yields with the event of ARGS. */
static void suspend(const struct function *f, PyObject *const *args)
{
    const void *frame = KYMO_CURRENT_FRAME();
    const PyCodeObject *code = (PyCodeObject *)args[0];
    const struct place place = {
        .code = args[0],
        .offset = (int)kymo__event_offset(args),
        .key = f->key,
        .first = code->co_argcount > 0 ? KYMO_FRAME_LOCAL(frame, 0) : NULL,
    };
    kymo__task_suspend(frame, &place, args[2]);
}

uint64_t kymo__leave_special(const struct function *f, PyObject *const *args, unsigned detail,
                             uint64_t ticks)
{
    if (f->slices == TASK_MAKER && detail == 0)
        kymo__task_returned(args[2]);
    else if (f->slices == GREENLET_MODULE)
        kymo__greenlets_meet();
    else if (f->slices == LOOP_RUNNER)
        kymo__loop_ran();
    else if (f->slices != 1 || !kymo__tasks)
        return ticks;
    else if (detail == 1)
        suspend(f, args);
    else
        kymo__task_end(KYMO_CURRENT_FRAME());
    return kymo_ticks();
}

/* An event is about to be recorded; see kymo__frames_check. */
KYMO_INLINE void before_event(bool entering)
{
    kymo__frames_check(entering);
    if (__builtin_expect(kymo__unseen, 0))
        kymo__unseen_settle();
}

KYMO_INLINE PyObject *enter_call(PyObject *const *args, unsigned detail, bool may_disable)
{
    before_event(true);
    const struct function *f = kymo__function_called(args[0]);
    if (__builtin_expect(f->key == KYMO_LEFT_OUT, 0)) {
        kymo__enter_watched(f);
        return may_disable && !kymo__is_watched(f) ? kymo__switch_off() : Py_NewRef(Py_None);
    }
    if (!kymo__too_deep_enter()) {
        if (__builtin_expect(f->slices, 0))
            kymo__enter_special(f, args, detail);
        else if (__builtin_expect(kymo__tracing.lines, 0))
            enter_with_lines(f->key, 0, args, detail);
        else
            kymo__trace_enter(detail, f->key);
    } else {
        kymo__enter_deep(f, detail);
    }
    Py_RETURN_NONE;
}

KYMO_INLINE PyObject *leave_call(PyObject *const *args, unsigned detail, bool may_disable,
                                 uint64_t ticks)
{
    const struct function *f = kymo__function_called(args[0]);
    if (__builtin_expect(f->slices, 0))
        ticks = kymo__leave_special(f, args, detail, ticks);
    if (__builtin_expect(f->key == KYMO_LEFT_OUT, 0))
        return may_disable && !kymo__is_watched(f) ? kymo__switch_off() : Py_NewRef(Py_None);
    if (!kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    Py_RETURN_NONE;
}

__thread const void *kymo__thrown;

void kymo__thrown_into(void)
{
    kymo__thrown = KYMO_CURRENT_FRAME();
}

PyObject *kymo__enter_late(PyObject *const *args,
                           PyObject *(*enter_now)(PyObject *const *, unsigned, bool))
{
    const void *was_thrown = kymo__thrown;
    kymo__thrown = NULL;
    if (was_thrown == KYMO_CURRENT_FRAME())
        Py_RETURN_NONE;
    struct instruction at = instruction_at(args[0], kymo__event_offset(args));
    return at.code == RESUME ? enter_now(args, (at.argument & 3) != 0, false) : Py_NewRef(Py_None);
}

/* Out of line, so that the callbacks below need no stack space. */
static __attribute__((noinline)) PyObject *enter_slowly(PyObject *const *args, unsigned detail)
{
    PyObject *result = enter_call(args, detail, true);
    const struct function *f = kymo__function_find(args[0]);
    if (f)
        kymo__recent_add(f);
    return result;
}

static __attribute__((noinline)) PyObject *leave_slowly(PyObject *const *args, unsigned detail)
{
    before_event(false);
    /* An unwind event cannot be switched off. */
    PyObject *result = leave_call(args, detail, detail != 2, kymo__stamp_begin());
    kymo__stamp_end();
    return result;
}

/* Does the end of a call of F need more than its record? True for the chosen function (named.h),
   and for code that runs in slices while there are tasks. */
KYMO_INLINE bool is_special(const struct function *f)
{
    return __builtin_expect(f->slices, 0) && (f->slices != 1 || kymo__tasks);
}

/* A slice begins, or a call that the short path does not handle: the short path of slices, and
   the long path for the rest. */
static __attribute__((noinline)) PyObject *enter_slice_or_slowly(PyObject *const *args,
                                                                 unsigned detail)
{
    const struct function *f = kymo__recent_slot(args[0]);
    const void *frame = KYMO_CURRENT_FRAME();
    struct kymo_lane *lane;
    struct kymo_record *at;
    if (__builtin_expect(f->address != args[0] || f->slices != 1 || kymo__tasks ||
                             !(at = kymo_lane_try(&lane, 2)),
                         0))
        return enter_slowly(args, detail);
    uint64_t id = kymo__life(frame, detail == 0);
    kymo__store_slice(at, kymo__counter_read(), detail, f->key, id);
    kymo_lane_commit(lane, at + 2);
    Py_RETURN_NONE;
}

/* A call begins. */
static PyObject *on_start(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(count),
                          PyObject *Py_UNUSED(names))
{
    const struct function *f = kymo__recent_slot(args[0]);
    struct kymo_lane *lane;
    struct kymo_record *at;
    if (__builtin_expect(f->address != args[0] || f->slices || !(at = kymo_lane_try(&lane, 1)), 0))
        return enter_slice_or_slowly(args, 0);
    kymo_lane_store(at, kymo__counter_read(), kymo_word(KYMO_ENTER, 0, f->key));
    kymo_lane_commit(lane, at + 1);
    Py_RETURN_NONE;
}

/* A call, or a slice of one, ends. */
KYMO_INLINE PyObject *leave_recent(PyObject *const *args, unsigned detail)
{
    uint64_t ticks = kymo__counter_read(); /* not used where the counter is unreliable */
    const struct function *f = kymo__recent_slot(args[0]);
    struct kymo_lane *lane;
    struct kymo_record *at;
    if (__builtin_expect(f->address != args[0] || is_special(f) || !(at = kymo_lane_try(&lane, 1)),
                         0))
        return leave_slowly(args, detail);
    kymo_lane_store(at, ticks, kymo_word(KYMO_LEAVE, detail, f->key));
    kymo_lane_commit(lane, at + 1);
    Py_RETURN_NONE;
}
CALLBACK(on_return, leave_recent(args, 0))
CALLBACK(on_resume, enter_slice_or_slowly(args, 1))
CALLBACK(on_throw, (kymo__thrown_into(), enter_call(args, 2, false))) /* cannot be switched off */
CALLBACK(on_yield, leave_recent(args, 1))
CALLBACK(on_unwind, leave_recent(args, 2))
CALLBACK(on_raise,
         kymo__may_be_late(args) ? kymo__enter_late(args, enter_call) : Py_NewRef(Py_None))

bool kymo__end_is_unseen(PyObject *const *args)
{
    return __builtin_expect(Py_TYPE(args[2]) == &PyMethod_Type, 0) && PyCode_Check(args[0]) &&
           instruction_at(args[0], kymo__event_offset(args)).code == CALL_FUNCTION_EX;
}

static __attribute__((noinline)) PyObject *call_slowly(PyObject *const *args)
{
    before_event(false);
    const struct function *caller = kymo__function_of(args[0]);
    if (caller->key == KYMO_LEFT_OUT)
        return kymo__switch_off();
    const struct function *f = kymo__event_callable(args);
    if (!f || f->key == KYMO_LEFT_OUT)
        Py_RETURN_NONE;
    struct call_lines lines = {0};
    if (kymo__tracing.lines)
        lines = kymo__lines_of_c_call(place_of_event(args));
    if (kymo__end_is_unseen(args)) {
        kymo__unseen_begin(f->key, kymo__tracing.lines ? &lines : NULL);
    } else if (!kymo__too_deep_enter()) {
        if (kymo__tracing.lines)
            kymo__trace_enter_lines(0, f->key, 0, &lines, 0);
        else
            kymo__trace_enter(0, f->key);
        if (f->slices == TASK_TYPE)
            kymo__task_created(args[3]);
        kymo__recent_add(f);
        kymo__recent_add(caller);
    }
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *c_leave(PyObject *const *args, unsigned detail)
{
    before_event(false);
    uint64_t ticks = kymo__stamp_begin();
    const struct function *f = kymo__event_callable(args);
    if (f && f->key != KYMO_LEFT_OUT && kymo__function_of(args[0])->key != KYMO_LEFT_OUT &&
        !kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    kymo__stamp_end();
    if (f && f->slices == GREENLET_SETTRACE)
        kymo__greenlets_replaced();
    Py_RETURN_NONE;
}

/* The entry of the callable of ARGS if both it and the caller were used recently and nothing is
   special about the call; else NULL. */
KYMO_INLINE const struct function *recent_callable(PyObject *const *args, const void *address)
{
    const struct function *f = kymo__recent_slot(address);
    bool usual = f->address == address && !f->slices && Py_TYPE(args[2]) != &PyMethod_Type &&
                 kymo__recent_slot(args[0])->address == args[0];
    return __builtin_expect(usual, 1) ? f : NULL;
}

static PyObject *on_call(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(count),
                         PyObject *Py_UNUSED(names))
{
    if (Py_IS_TYPE(args[2], &PyFunction_Type))
        Py_RETURN_NONE; /* it reports itself */
    const void *address = kymo__callable_address(args[2]);
    const struct function *f = address ? recent_callable(args, address) : NULL;
    struct kymo_lane *lane;
    struct kymo_record *at = f ? kymo_lane_try(&lane, 1) : NULL;
    if (__builtin_expect(!at, 0))
        return call_slowly(args);
    kymo_lane_store(at, kymo__counter_read(), kymo_word(KYMO_ENTER, 0, f->key));
    kymo_lane_commit(lane, at + 1);
    Py_RETURN_NONE;
}

/* The code that CALLABLE runs if it is a Python function; else NULL. */
static PyObject *python_code(PyObject *callable)
{
    if (Py_IS_TYPE(callable, &PyMethod_Type))
        callable = PyMethod_GET_FUNCTION(callable);
    return Py_IS_TYPE(callable, &PyFunction_Type) ? PyFunction_GET_CODE(callable) : NULL;
}

/* Like on_call, when the user chose filters: call sites that only call excluded functions are
   switched off after a while; those inside an excluded function, at once. */
static PyObject *on_call_filtered(PyObject *self, PyObject *const *args, size_t count,
                                  PyObject *names)
{
    const struct function *caller = kymo__function_find(args[0]);
    if (caller && caller->key == KYMO_LEFT_OUT)
        return kymo__switch_off();
    PyObject *code = python_code(args[2]);
    const struct function *f = code ? kymo__function_find(code) : kymo__event_callable(args);
    const long offset = kymo__event_offset(args);
    if (f && f->key == KYMO_LEFT_OUT && kymo__place_is_idle(args[0], offset))
        return kymo__switch_off();
    if (f && !code && f->key != KYMO_LEFT_OUT)
        kymo__place_keep(args[0], offset);
    return on_call(self, args, count, names);
}

static PyObject *on_c_return(PyObject *Py_UNUSED(self), PyObject *const *args,
                             size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    uint64_t ticks = kymo__counter_read();
    const void *address = kymo__callable_address(args[2]);
    const struct function *f = address ? recent_callable(args, address) : NULL;
    struct kymo_lane *lane;
    struct kymo_record *at = f ? kymo_lane_try(&lane, 1) : NULL;
    if (__builtin_expect(!at, 0))
        return c_leave(args, 0);
    kymo_lane_store(at, ticks, kymo_word(KYMO_LEAVE, 0, f->key));
    kymo_lane_commit(lane, at + 1);
    Py_RETURN_NONE;
}
CALLBACK(on_c_raise, c_leave(args, 2))

const vectorcallfunc kymo__call_filtered = on_call_filtered;
const vectorcallfunc kymo__callbacks[EVENTS] = {
    [EVENT_START] = on_start,     [EVENT_RESUME] = on_resume, [EVENT_THROW] = on_throw,
    [EVENT_RETURN] = on_return,   [EVENT_YIELD] = on_yield,   [EVENT_UNWIND] = on_unwind,
    [EVENT_RAISE] = on_raise,     [EVENT_CALL] = on_call,     [EVENT_C_RETURN] = on_c_return,
    [EVENT_C_RAISE] = on_c_raise,
};

#endif
