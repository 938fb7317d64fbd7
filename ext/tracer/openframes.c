/* openframes.c — the frames that are open when tracing begins.

   The interpreter will not report their start, but will report their end. They are recorded as
   open from the start, so that later calls nest correctly. */
#include "callsites.h"
#include "ccalls.h"
#include "core.h"
#include "greenlets.h"
#include "pyframes.h"
#include "threadnames.h"
#include "throttle.h"
#include "tracer.h"

#include <frameobject.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#if KYMO_HAS_MONITORING
static struct kymo__running *frames_of(PyThreadState *state, size_t *count)
{
    return kymo__frames_of(state, count);
}
#else
/* With frame objects: before 3.12, calls of a thread whose profile function the program removes nest
   wrongly otherwise. */
static struct kymo__running *frames_of(PyThreadState *state, size_t *count)
{
    size_t capacity = 0;
    struct kymo__running *found = NULL;
    PyFrameObject *frame = PyThreadState_GetFrame(state);
    *count = 0;
    while (frame) {
        if (*count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            struct kymo__running *grown = realloc(found, capacity * sizeof *found);
            if (!grown) {
                Py_DECREF(frame);
                break;
            }
            found = grown;
        }
        PyCodeObject *code = PyFrame_GetCode(frame);
        int offset = KYMO_FRAME_LASTI(frame);
        found[(*count)++] = (struct kymo__running){(PyObject *)code, offset < 0 ? 0 : offset / 2};
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return found;
}
#endif

uint32_t kymo__frames_key(PyObject *code)
{
    if (kymo__throttle_is_off(code))
        return KYMO_LEFT_OUT; /* its end would not be recorded */
    return kymo__function_of(code)->key;
}

/* The lines of FRAMES[I], of COUNT, if they are recorded. */
static struct call_lines lines_of(const struct kymo__running *frames, size_t i, size_t count)
{
    struct code_place own = {frames[i].code, frames[i].unit}, caller = {0};
    if (!kymo__tracing.lines)
        return (struct call_lines){.line = -1};
    if (i + 1 < count)
        caller = (struct code_place){frames[i + 1].code, frames[i + 1].unit};
    return kymo__lines_of_frame(own, false, caller);
}

/* The innermost recorded frame of this thread when its frames were last recorded. */
static __thread struct innermost {
    size_t depth; /* frames around it, and itself */
    const PyObject *code;
    int64_t unit;
} innermost_then;
static __thread uint64_t entered_then;

static struct innermost find_innermost(const struct kymo__running *frames, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kymo__frames_key(frames[i].code) != KYMO_LEFT_OUT)
            return (struct innermost){count - i, frames[i].code, frames[i].unit};
    return (struct innermost){0};
}

/* Record this thread's open frames with DETAIL; SKIP leaves out the innermost. */
static void record_own(bool skip, unsigned detail)
{
    size_t count;
    struct kymo__running *frames = frames_of(PyThreadState_Get(), &count);
    uint64_t ticks = kymo__stamp_begin();
    for (size_t i = count; i-- > (size_t)skip;) {
        uint32_t key = kymo__frames_key(frames[i].code);
        if (key == KYMO_LEFT_OUT)
            continue;
        struct call_lines lines = lines_of(frames, i, count);
        kymo__trace_enter_lines(detail, key, 0, &lines, ticks);
    }
    kymo__stamp_end();
    innermost_then = find_innermost(frames, count);
    entered_then = kymo__lines_entered;
    free(frames);
}

void kymo__frames_open_call(PyObject *callable)
{
    enum { OPEN = 3 };
    const struct tracing *t = &kymo__tracing;
    const void *address = kymo__callable_address(callable);
    /* With a limit or a budget, its end may not be recorded either. */
    if (!t->on || !t->c_calls || t->max_depth || t->overhead > 0 || !address)
        return;
    const struct function *f = kymo__function_find(address);
    if (!f)
        f = kymo__function_add_callable(address, callable);
    if (!f->key || f->key == KYMO_LEFT_OUT)
        return;
    uint64_t ticks = kymo__stamp_begin();
    kymo__trace_at(KYMO_ENTER, OPEN, f->key, ticks);
    kymo__stamp_end();
}

uint32_t kymo__epoch;
__thread uint32_t kymo__epoch_recorded;

/* The threads whose frames this file recorded on their behalf when tracing began. */
static struct frames_of {
    uint32_t tid; /* the system's id */
    size_t frames;
} * for_others;
static size_t for_others_count;
static uint64_t paused; /* tick of the last pause; 0: none */

/* The entry of this thread, or NULL. */
static const struct frames_of *entry_of_this_thread(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    for (size_t i = 0; i < for_others_count; i++)
        if (for_others[i].tid == tid)
            return &for_others[i];
    return NULL;
}

#ifndef Py_GIL_DISABLED
static void remember_recorded(uint32_t tid, size_t frames)
{
    static size_t for_others_capacity;
    if (for_others_count == for_others_capacity) {
        size_t capacity = for_others_capacity ? for_others_capacity * 2 : 64;
        struct frames_of *grown = realloc(for_others, capacity * sizeof *for_others);
        if (!grown)
            return;
        for_others = grown;
        for_others_capacity = capacity;
    }
    for_others[for_others_count++] = (struct frames_of){tid, frames};
}

/* The system's id of STATE's thread, or 0. Versions that do not store it have it in the objects
   of the module threading; not read as `native_id`, which would be a call. */
static uint32_t system_id(PyThreadState *state)
{
    uint32_t id = KYMO_NATIVE_THREAD_ID(state);
    PyObject *modules = id ? NULL : kymo__modules();
    PyObject *threading =
        modules ? PyDict_GetItemString(modules, "threading") : NULL; /* borrowed */
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    PyObject *ident = active ? PyLong_FromUnsignedLong(state->thread_id) : NULL;
    PyObject *thread = ident ? PyDict_GetItemWithError(active, ident) : NULL; /* borrowed */
    PyObject *native = thread ? kymo__own_attribute(thread, "_native_id") : NULL;
    if (native)
        id = (uint32_t)PyLong_AsUnsignedLong(native);
    Py_XDECREF(native);
    Py_XDECREF(ident);
    Py_XDECREF(active);
    PyErr_Clear();
    return id;
}

/* Record the open frames of another thread, unless it must do so itself. */
static void record_other(PyThreadState *state, uint32_t tid, uint64_t ticks)
{
    struct entered {
        uint32_t key;
        struct call_lines lines;
    };
    size_t count;
    struct kymo__running *frames = frames_of(state, &count);
    struct entered *entered = count ? malloc(count * sizeof *entered) : NULL;
    /* Keys first: they cannot be defined inside a claim. */
    for (size_t i = 0; entered && i < count; i++)
        entered[i] = (struct entered){kymo__frames_key(frames[i].code), lines_of(frames, i, count)};
    struct kymo_record *at = NULL;
    struct kymo_lane *lane = entered ? kymo_lane_of_thread(tid, 1, &at) : NULL;
    for (size_t i = count; lane && i-- > 0;) {
        if (entered[i].key == KYMO_LEFT_OUT)
            continue;
        at = kymo_lane_more(lane, at, 1 + KYMO_LINES_MOST);
        if (!at) {
            lane = NULL;
            break;
        }
        kymo_lane_store(at, ticks, kymo_word(KYMO_ENTER, 3, entered[i].key));
        at = kymo__lines_store(at + 1, ticks, &entered[i].lines);
    }
    if (lane)
        kymo_lane_commit(lane, at);
    size_t recorded = 0;
    for (size_t i = 0; lane && i < count; i++)
        if (entered[i].key != KYMO_LEFT_OUT) {
            kymo__throttle_expect(frames[i].code);
            recorded++;
        }
    if (lane)
        remember_recorded(tid, recorded);
    free(entered);
    free(frames);
}

static void record_others(void)
{
    uint64_t ticks = kymo_ticks();
    /* The GIL keeps the other threads from moving. The list of threads changes only under an
       interpreter lock that we cannot take. Even with the GIL held, native code may add or
       remove a thread that is just starting or ending, but that changes only the ends of the
       list. */
    PyThreadState *own = PyThreadState_Get();
    PyInterpreterState *interpreter = PyThreadState_GetInterpreter(own);
    for (PyThreadState *state = PyInterpreterState_ThreadHead(interpreter); state;
         state = PyThreadState_Next(state)) {
        uint32_t tid = state == own ? 0 : system_id(state);
        if (tid)
            record_other(state, tid, ticks);
    }
}
#else
/* Without a GIL nothing stops the others: they report their frames themselves. */
static void record_others(void) {}
#endif

/* What was recorded as open on this thread ended at TICKS, unseen. */
static void record_resync(uint64_t ticks)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (at) {
        kymo_lane_store(at, kymo_ticks(), kymo_word(KYMO_RESYNC, 0, 0));
        kymo_lane_store(at + 1, ticks, KYMO_VALUE_WORD);
        kymo_lane_commit(lane, at + 2);
    }
}

/* The outermost frame of this thread; a new reference, or NULL. */
static PyFrameObject *outermost(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    for (PyFrameObject *back; frame && (back = PyFrame_GetBack(frame));) {
        Py_DECREF(frame);
        frame = back;
    }
    return frame;
}

/* Did the module threading start this thread? */
static bool is_of_threading(void)
{
    size_t count;
    struct kymo__running *frames = frames_of(PyThreadState_Get(), &count);
    const PyCodeObject *first = count ? (const PyCodeObject *)frames[count - 1].code : NULL;
    bool is = first && PyUnicode_CompareWithASCIIString(first->co_name, "_bootstrap") == 0;
    free(frames);
    return is;
}

/* Give this thread the name that it has in the module threading: in the outermost frame of a
   thread that threading started, the variable `self` is the Thread object. */
static void name_thread(void)
{
    PyFrameObject *frame = is_of_threading() ? outermost() : NULL;
    PyObject *self = NULL, *name = NULL, *owner = NULL;
    PyObject *locals = frame ? PyObject_GetAttrString((PyObject *)frame, "f_locals") : NULL;
    if (locals)
        self = PyMapping_GetItemString(locals, "self");
    if (self)
        name = kymo__own_attribute(self, "_name");
    const char *text = name && PyUnicode_Check(name) ? kymo__text_utf8(name, &owner) : NULL;
    if (text)
        kymo_thread_name(text);
    else if (getpid() == (pid_t)syscall(SYS_gettid))
        kymo_thread_name("MainThread");
    Py_XDECREF(owner);
    Py_XDECREF(name);
    Py_XDECREF(self);
    Py_XDECREF(locals);
    Py_XDECREF(frame);
    PyErr_Clear();
}

bool kymo__frames_name(void)
{
    static __thread uint32_t named; /* the epoch in which this thread was named */
    if (named == kymo__epoch || !PyEval_GetFrame())
        return named == kymo__epoch;
    named = kymo__epoch;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    name_thread();
    PyErr_Restore(type, value, trace);
    return true;
}

static void record_open_frames(bool entering)
{
    kymo__epoch_recorded = kymo__epoch;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* an unwinding frame has its exception set */
    kymo__greenlets_forget();
    record_own(entering, 3);
    PyErr_Restore(type, value, trace);
}

bool kymo__frames_were_recorded(void)
{
    return kymo__epoch_recorded == kymo__epoch || (!paused && entry_of_this_thread());
}

void kymo__frames_record(bool entering)
{
    kymo__depth = 0;
    kymo__epoch_recorded = kymo__epoch; /* first: a collection meanwhile is also an event */
    if (paused)
        record_resync(paused);
    const struct frames_of *before = paused ? NULL : entry_of_this_thread();
    if (!before)
        record_open_frames(entering);
    (void)kymo__frames_name();
    kymo__greenlets_meet();
    if (kymo__throttling() && (!before || before->frames))
        kymo__hook_frames_recorded(entering, before ? before->frames : 0);
}

void kymo__frames_cut(uint64_t ticks)
{
    record_resync(ticks);
}

void kymo__frames_record_stack(bool going_on)
{
    record_own(false, going_on ? 1 : 3);
    if (kymo__throttling() && !going_on)
        kymo__hook_frames_recorded(false, 0);
}

void kymo__frames_record_again(void)
{
    kymo__depth = 0;
    if (paused || kymo__frames_were_recorded())
        record_resync(paused ? paused : kymo_ticks());
    record_open_frames(false);
    if (kymo__throttling()) {
        kymo__throttle_close_all();
        kymo__hook_frames_recorded(false, 0);
    }
}

/* Is a frame of this thread at another line than when they were last recorded? If no call was
   entered since, only the innermost can be, or it has ended. */
static bool frames_moved(void)
{
    size_t count;
    struct kymo__running *frames = frames_of(PyThreadState_Get(), &count);
    struct innermost now = find_innermost(frames, count), then = innermost_then;
    free(frames);
    return kymo__lines_entered != entered_then || now.depth != then.depth ||
           now.code != then.code || now.unit != then.unit;
}

void kymo__frames_renew(void)
{
    if (frames_moved())
        kymo__frames_record_again();
}

void kymo__frames_prepare(void)
{
    paused = 0;
    for_others_count = 0;
    kymo__epoch++;
    kymo__greenlets_begin();
}

void kymo__frames_begin(void)
{
    kymo__frames_check(false);
    record_others();
}

void kymo__frames_pause(void)
{
    kymo__recent_stop(); /* lookups there bypass kymo__frames_check */
    paused = kymo_ticks();
    kymo__greenlets_pause();
}

void kymo__frames_resume(void)
{
    kymo__epoch++;
    kymo__greenlets_begin();
}
