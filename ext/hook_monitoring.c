/* hook_monitoring.c — calls as sys.monitoring reports them: 3.12 and later.

   The callbacks are objects of a type of our own with a vectorcall slot, one object for
   each kind of event, so that which it is costs nothing to find out and nothing is
   unpacked. Tool 4 is used, or 3 when that is taken; never 2, which the interpreter's own
   profiler and other tools fight over. */
#include "tracer.h"

#if KYMO_HAS_MONITORING

#include <opcode.h>
#include <stddef.h>
#include <stdlib.h>

#include "ccalls.h"
#include "named.h"
#include "tasks.h"
#include "throttle.h"
#include "unseen.h"

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static PyTypeObject *callback_type;
static PyObject *monitoring; /* sys.monitoring, while installed */
static PyObject *disable;    /* sys.monitoring.DISABLE */
static int tool = -1;

static int discard(PyObject *result)
{
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* What was switched off since events were last restarted. Restarting them brings back what
   other tools switched off too, so it is not done when the next session would switch off
   the same. */
static struct {
    bool any, by_budget;
    unsigned filters; /* the version of the filters that said so */
} disabled;

static PyObject *switch_off(void)
{
    disabled.any = true;
    disabled.by_budget |= kymo__throttling();
    disabled.filters = kymo__filter_version;
    return Py_NewRef(disable);
}

/* 0, or -1 with an exception. */
static int switch_on_again(void)
{
    if (!disabled.any || (!disabled.by_budget && disabled.filters == kymo__filter_version))
        return 0;
    disabled.any = disabled.by_budget = false;
    return discard(PyObject_CallMethod(monitoring, "restart_events", NULL));
}

/* The entry of ARGS' code object. */
KYMO_INLINE const struct function *code_of(PyObject *const *args)
{
    const struct function *f = kymo__function_find(args[0]);
    return __builtin_expect(f != NULL, 1) ? f : kymo__function_add(args[0]);
}

/* The same for a call that is entered or left. */
KYMO_INLINE const struct function *called(PyObject *const *args)
{
    const struct function *f = code_of(args);
    return __builtin_expect(f->slices == KYMO_NAMED, 0) ? kymo__named_entry(f) : f;
}

/* Where in the code the event of ARGS happened. */
KYMO_INLINE long offset_of(PyObject *const *args)
{
    const PyLongObject *offset = (const PyLongObject *)args[1];
    return __builtin_expect(PyUnstable_Long_IsCompact(offset), 1)
               ? (long)PyUnstable_Long_CompactValue(offset)
               : PyLong_AsLong(args[1]);
}

/* An instruction, without what the interpreter made of it. */
struct instruction {
    int code; /* -1: there is none */
    unsigned argument;
};

/* The instruction at OFFSET of CODE. */
static struct instruction instruction_at(PyObject *code, long offset)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *bytes = PyCode_GetCode((PyCodeObject *)code); /* kept by the code object */
    const char *units = bytes ? PyBytes_AS_STRING(bytes) : NULL;
    struct instruction found = {.code = -1};
    if (bytes && offset >= 0 && offset < PyBytes_GET_SIZE(bytes)) {
        while (units[offset] == CACHE && offset >= 2)
            offset -= 2; /* what an instruction keeps behind itself */
        found.code = (unsigned char)units[offset];
        found.argument = (unsigned char)units[offset + 1];
    }
    Py_XDECREF(bytes);
    PyErr_Restore(type, value, trace);
    return found;
}

/* F, whose `slices` is not 0, is entered: a slice of a generator or coroutine mostly. */
static void enter_special(const struct function *f, unsigned detail)
{
    if (f->slices != 1) {
        kymo__trace_enter(detail, f->key);
        if (kymo__function_named(f))
            kymo__named_argument(f);
        return;
    }
    const void *frame = KYMO_CURRENT_FRAME();
    kymo__trace_enter_slice(detail, f->key, frame);
    if (kymo__tasks)
        kymo__task_enter(frame, f->key, detail == 0);
}

/* The same where it is too deep to be recorded: the lanes of tasks lie beside the calls. */
static void enter_deep(const struct function *f, unsigned detail)
{
    if (f->slices == 1 && kymo__tasks)
        kymo__task_enter(KYMO_CURRENT_FRAME(), f->key, detail == 0);
}

/* It ends at TICKS, which is recorded next; ARGS are those of the event. Returns the tick to
   record, which is not before anything recorded meanwhile. */
static uint64_t leave_special(const struct function *f, PyObject *const *args, unsigned detail,
                              uint64_t ticks)
{
    if (f->slices == TASK_MAKER && detail == 0)
        kymo__task_returned(args[2]);
    else if (f->slices != 1 || !kymo__tasks)
        return ticks;
    else if (detail == 1)
        kymo__task_suspend(KYMO_CURRENT_FRAME(), args[2]);
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

KYMO_INLINE PyObject *enter(PyObject *const *args, unsigned detail, bool may_disable)
{
    before_event(true);
    const struct function *f = called(args);
    if (__builtin_expect(f->key == KYMO_LEFT_OUT, 0))
        return may_disable ? switch_off() : Py_NewRef(Py_None);
    if (!kymo__too_deep_enter()) {
        if (__builtin_expect(f->slices, 0))
            enter_special(f, detail);
        else
            kymo__trace_enter(detail, f->key);
    } else {
        enter_deep(f, detail);
    }
    Py_RETURN_NONE;
}

KYMO_INLINE PyObject *leave(PyObject *const *args, unsigned detail, bool may_disable)
{
    before_event(false);
    uint64_t ticks = kymo_ticks();
    const struct function *f = called(args);
    if (__builtin_expect(f->slices, 0))
        ticks = leave_special(f, args, detail, ticks);
    if (__builtin_expect(f->key == KYMO_LEFT_OUT, 0))
        return may_disable && f->slices != TASK_MAKER ? switch_off() : Py_NewRef(Py_None);
    if (!kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    Py_RETURN_NONE;
}

#define CALLBACK(name, expression)                                                                 \
    static PyObject *name(PyObject *Py_UNUSED(self), PyObject *const *args,                        \
                          size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))                     \
    {                                                                                              \
        return expression;                                                                         \
    }

/* The frame that goes on with an exception thrown into it, until that is raised. */
static __thread const void *thrown;

static void thrown_into(void)
{
    thrown = KYMO_CURRENT_FRAME();
}

/* An exception is raised in the frame of ARGS. Where signals come first, that of a signal
   handler may be raised at the instruction that begins a frame or goes on after a yield,
   before that is reported; and the frame may handle it, and go on. It is ENTERed now. */
static __attribute__((noinline)) PyObject *
enter_late(PyObject *const *args, PyObject *(*enter_now)(PyObject *const *, unsigned, bool))
{
    const void *was_thrown = thrown;
    thrown = NULL;
    if (was_thrown == KYMO_CURRENT_FRAME())
        Py_RETURN_NONE;
    struct instruction at = instruction_at(args[0], offset_of(args));
    return at.code == RESUME ? enter_now(args, (at.argument & 3) != 0, false) : Py_NewRef(Py_None);
}

/* False where ARGS tell of an exception at an instruction that no frame begins with. */
KYMO_INLINE bool may_be_late(PyObject *const *args)
{
    return PyCode_Check(args[0]) && (thrown || KYMO_MAY_RESUME(args[0], offset_of(args)));
}

/* Out of line, so that the callbacks below keep nothing on the stack. */
static __attribute__((noinline)) PyObject *enter_slowly(PyObject *const *args, unsigned detail)
{
    PyObject *result = enter(args, detail, true);
    const struct function *f = kymo__function_find(args[0]);
    if (f)
        kymo__recent_add(f);
    return result;
}

static __attribute__((noinline)) PyObject *leave_slowly(PyObject *const *args, unsigned detail)
{
    return leave(args, detail, detail != 2); /* an unwinding may not be switched off */
}

/* True when the end of a call of F is more than its record: for the chosen function (named.h), and
   for what runs in slices while there are tasks. */
KYMO_INLINE bool is_special(const struct function *f)
{
    return __builtin_expect(f->slices, 0) && (f->slices != 1 || kymo__tasks);
}

/* A slice begins, or something else that the short path of a call is not for: the short path of
   slices, and the long way for the rest. */
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
    kymo__store_slice(at, kymo__counter_read(), detail, f->key, frame);
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

/* A call or a slice of one ends. */
KYMO_INLINE PyObject *leave_recent(PyObject *const *args, unsigned detail)
{
    uint64_t ticks = kymo__counter_read(); /* not used where it is not sound */
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
CALLBACK(on_throw, (thrown_into(), enter(args, 2, false))) /* may not be switched off */
CALLBACK(on_yield, leave_recent(args, 1))
CALLBACK(on_unwind, leave_recent(args, 2))
CALLBACK(on_raise, may_be_late(args) ? enter_late(args, enter) : Py_NewRef(Py_None))

/* The entry of the C callable of ARGS, or NULL when it is a Python function. Asked at the
   call and at its end alike: the interpreter reports both for some Python functions too
   (the __exit__ of a with statement, anything while a frame evaluator is installed). */
KYMO_INLINE const struct function *callable_of(PyObject *const *args)
{
    const void *address = kymo__callable_address(args[2]);
    if (!address)
        return NULL;
    const struct function *f = kymo__function_find(address);
    return __builtin_expect(f != NULL, 1) ? f : kymo__function_add_callable(address, args[2]);
}

/* True when the end of the call that begins with ARGS will not be reported: so it is for
   methods around a C callable that are called with *arguments. */
KYMO_INLINE bool end_is_unseen(PyObject *const *args)
{
    return __builtin_expect(Py_TYPE(args[2]) == &PyMethod_Type, 0) && PyCode_Check(args[0]) &&
           instruction_at(args[0], offset_of(args)).code == CALL_FUNCTION_EX;
}

static __attribute__((noinline)) PyObject *call_slowly(PyObject *const *args)
{
    before_event(false);
    const struct function *f = callable_of(args);
    const struct function *caller = code_of(args);
    if (!f || f->key == KYMO_LEFT_OUT || caller->key == KYMO_LEFT_OUT)
        Py_RETURN_NONE;
    if (end_is_unseen(args)) {
        kymo__unseen_begin(f->key);
    } else if (!kymo__too_deep_enter()) {
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
    uint64_t ticks = kymo_ticks();
    const struct function *f = callable_of(args);
    if (f && f->key != KYMO_LEFT_OUT && code_of(args)->key != KYMO_LEFT_OUT &&
        !kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    Py_RETURN_NONE;
}

/* The entry of the callable of ARGS if both it and the caller are among those met lately and
   there is nothing special about the call; else NULL. */
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

/* ---- the same within an overhead budget; see throttle.h */

static PyObject *throttled_enter(PyObject *const *args, unsigned detail, bool may_disable)
{
    kymo__frames_check(true);
    const struct function *f = called(args);
    struct site *site = f->key == KYMO_LEFT_OUT ? NULL : kymo__site(args[0], SITE_FUNCTION);
    if (!site || site->off)
        return may_disable ? switch_off() : Py_NewRef(Py_None);
    kymo__throttle_count(site);
    if (!kymo__too_deep_enter()) {
        const void *frame = KYMO_CURRENT_FRAME();
        site->key = f->key;
        if (f->slices)
            enter_special(f, detail);
        else
            kymo__trace_enter(detail, f->key);
        kymo__throttle_push(site, frame, kymo_ticks());
    } else {
        enter_deep(f, detail);
    }
    Py_RETURN_NONE;
}

static PyObject *throttled_leave(PyObject *const *args, unsigned detail, bool may_disable)
{
    kymo__frames_check(false);
    uint64_t ticks = kymo_ticks();
    const struct function *f = called(args);
    struct site *site = f->key == KYMO_LEFT_OUT ? NULL : kymo__site(args[0], SITE_FUNCTION);
    may_disable &= f->slices != TASK_MAKER;
    if (f->slices)
        ticks = leave_special(f, args, detail, ticks);
    if (!site || (site->off && !site->active))
        return may_disable ? switch_off() : Py_NewRef(Py_None);
    if (kymo__throttle_pop(site, KYMO_CURRENT_FRAME(), ticks))
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    kymo__throttle_count(site);
    Py_RETURN_NONE;
}
CALLBACK(on_start_throttled, throttled_enter(args, 0, true))
CALLBACK(on_resume_throttled, throttled_enter(args, 1, true))
CALLBACK(on_throw_throttled, (thrown_into(), throttled_enter(args, 2, false)))
CALLBACK(on_return_throttled, throttled_leave(args, 0, true))
CALLBACK(on_yield_throttled, throttled_leave(args, 1, true))
CALLBACK(on_unwind_throttled, throttled_leave(args, 2, false))
CALLBACK(on_raise_throttled,
         may_be_late(args) ? enter_late(args, throttled_enter) : Py_NewRef(Py_None))

/* The place in the code that makes the call of ARGS. */
static struct site *call_site(PyObject *const *args)
{
    return kymo__site(args[0], (uint32_t)offset_of(args));
}

/* A call of KEY whose end nobody will tell. Here it is recorded as over at once, and what it calls
   back lies beside it: what would show its end may be switched off. */
static void record_at_once(uint32_t key)
{
    if (!kymo__too_deep_enter())
        kymo__trace_enter(0, key);
    if (!kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, 0, key, kymo_ticks());
}

static PyObject *on_call_throttled(PyObject *Py_UNUSED(self), PyObject *const *args,
                                   size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    kymo__frames_check(false);
    struct site *site = call_site(args);
    if (!site || (site->off && !site->active) || code_of(args)->key == KYMO_LEFT_OUT)
        return switch_off();
    if (site->off)
        Py_RETURN_NONE; /* it would go with the ends of the calls that are open */
    const struct function *f = callable_of(args);
    site->c_call = f != NULL;
    kymo__throttle_count(site);
    if (!f || f->key == KYMO_LEFT_OUT)
        Py_RETURN_NONE;
    if (end_is_unseen(args)) {
        site->key = f->key;
        site->calls++;
        record_at_once(f->key);
    } else if (!kymo__too_deep_enter()) {
        site->key = f->key;
        kymo__trace_enter(0, f->key);
        if (f->slices == TASK_TYPE)
            kymo__task_created(args[3]);
        kymo__throttle_push(site, KYMO_CURRENT_FRAME(), kymo_ticks());
    }
    Py_RETURN_NONE;
}

static PyObject *throttled_c_leave(PyObject *const *args, unsigned detail)
{
    kymo__frames_check(false);
    uint64_t ticks = kymo_ticks();
    const struct function *f = callable_of(args);
    struct site *site = f && f->key != KYMO_LEFT_OUT ? call_site(args) : NULL;
    if (site && !site->active && !site->off)
        (void)kymo__too_deep_leave();
    if (!site || !site->active)
        Py_RETURN_NONE;
    if (kymo__throttle_pop(site, KYMO_CURRENT_FRAME(), ticks))
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    kymo__throttle_count(site); /* last: it may record something itself */
    Py_RETURN_NONE;
}
CALLBACK(on_c_return_throttled, throttled_c_leave(args, 0))
CALLBACK(on_c_raise_throttled, throttled_c_leave(args, 2))

static const struct {
    const char *event;
    vectorcallfunc call, throttled;
    bool c_call;
} events[] = {
    {"PY_START", on_start, on_start_throttled, false},
    {"PY_RESUME", on_resume, on_resume_throttled, false},
    {"PY_THROW", on_throw, on_throw_throttled, false},
    {"PY_RETURN", on_return, on_return_throttled, false},
    {"PY_YIELD", on_yield, on_yield_throttled, false},
    {"PY_UNWIND", on_unwind, on_unwind_throttled, false},
    {"RAISE", on_raise, on_raise_throttled, false}, /* only where signals come first */
    {"CALL", on_call, on_call_throttled, true},
    {"C_RETURN", on_c_return, on_c_return_throttled, true},
    {"C_RAISE", on_c_raise, on_c_raise_throttled, true},
};
enum { EVENTS = sizeof events / sizeof events[0] };

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct callback, call), Py_READONLY, NULL},
    {0},
};

static void callback_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot callback_slots[] = {
    {Py_tp_members, callback_members},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, callback_dealloc},
    {0, NULL},
};

static PyType_Spec callback_spec = {
    .name = "kymo._core.Callback",
    .basicsize = sizeof(struct callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

int kymo__hook_init(PyObject *module)
{
    (void)module;
    if (!callback_type)
        callback_type = (PyTypeObject *)PyType_FromSpec(&callback_spec);
    return callback_type ? 0 : -1;
}

const char *kymo__hook_name(void)
{
    return "sys.monitoring";
}

/* Register CALLBACK, or None, for EVENT; returns the event's bit, or -1. */
static long set_callback(const char *event, PyObject *callback)
{
    PyObject *all = PyObject_GetAttrString(monitoring, "events");
    PyObject *bit = all ? PyObject_GetAttrString(all, event) : NULL;
    PyObject *before =
        bit ? PyObject_CallMethod(monitoring, "register_callback", "iOO", tool, bit, callback)
            : NULL;
    long result = before ? PyLong_AsLong(bit) : -1;
    Py_XDECREF(before);
    Py_XDECREF(bit);
    Py_XDECREF(all);
    return result;
}

static int set_events(long bits)
{
    return discard(PyObject_CallMethod(monitoring, "set_events", "il", tool, bits));
}

/* Take tool 4 or 3. */
static int take_tool(void)
{
    for (int id = 4; id >= 3; id--) {
        if (discard(PyObject_CallMethod(monitoring, "use_tool_id", "is", id, "kymo")) == 0) {
            tool = id;
            return 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError,
                    "sys.monitoring has no free tool: 3 and 4 are both taken by other tools");
    return -1;
}

bool kymo__hook_can_throttle(void)
{
    return true;
}

bool kymo__hook_can_drop_c_calls(void)
{
    return false;
}

int kymo__hook_install(void)
{
    long bits = 0;
    PyObject *sys = PyImport_ImportModule("sys");
    monitoring = sys ? PyObject_GetAttrString(sys, "monitoring") : NULL;
    Py_XDECREF(sys);
    disable = monitoring ? PyObject_GetAttrString(monitoring, "DISABLE") : NULL;
    if (!disable || take_tool() < 0)
        goto fail;
    for (int i = 0; i < EVENTS; i++) {
        if (events[i].c_call && kymo__tracing.c_calls != 1)
            continue;
        if (events[i].call == on_raise && !KYMO_SIGNALS_COME_FIRST)
            continue;
        struct callback *callback = PyObject_New(struct callback, callback_type);
        if (!callback)
            goto fail;
        callback->call = kymo__throttling() ? events[i].throttled : events[i].call;
        long bit = set_callback(events[i].event, (PyObject *)callback);
        Py_DECREF(callback);
        if (bit < 0)
            goto fail;
        bits |= bit;
    }
    if (switch_on_again() < 0 || set_events(bits) < 0)
        goto fail;
    return 0;
fail:
    kymo__hook_remove();
    return -1;
}

void kymo__hook_began(void) {}

void kymo__hook_told(bool entering, size_t expected)
{
    const struct _PyInterpreterFrame *innermost = KYMO_CURRENT_FRAME(), **frames = NULL;
    size_t count = 0;
    for (const struct _PyInterpreterFrame *frame = innermost; frame; frame = frame->previous)
        count++;
    if (!count || !(frames = malloc(count * sizeof *frames)))
        return;
    size_t next = 0;
    for (const struct _PyInterpreterFrame *frame = innermost; frame; frame = frame->previous)
        if (frame->owner < KYMO_OWNED_BY_NOBODY)
            frames[next++] = frame;
    for (size_t known = 0; next-- > (size_t)entering && (!expected || known < expected);) {
        PyObject *code = (PyObject *)(uintptr_t)KYMO_FRAME_CODE(frames[next]);
        if (code_of(&code)->key == KYMO_LEFT_OUT)
            continue;
        kymo__throttle_open(code, frames[next], expected);
        known++;
    }
    free(frames);
}

void kymo__hook_remove(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (tool >= 0) {
        set_events(0);
        for (int i = 0; i < EVENTS; i++) {
            PyErr_Clear();
            set_callback(events[i].event, Py_None);
        }
        PyErr_Clear();
        discard(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool));
        tool = -1;
    }
    PyErr_Clear();
    Py_CLEAR(disable);
    Py_CLEAR(monitoring);
    PyErr_Restore(type, value, trace);
}

#endif
