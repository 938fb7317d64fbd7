/* frames.c — the frames that are open when tracing begins.

   Nobody will report their beginning, but their ends will be reported; recorded as open
   from the start they give every later call its right place. */
#include "core.h"
#include "throttle.h"
#include "tracer.h"

#include <frameobject.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The code objects of FRAME and those that called it, innermost first, borrowed; *COUNT of
   them, to be freed. The frames keep them alive, and the GIL the frames. */
static PyObject **codes_of(PyFrameObject *frame, size_t *count)
{
    size_t capacity = 0;
    PyObject **codes = NULL;
    *count = 0;
    Py_XINCREF(frame);
    while (frame) {
        if (*count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            PyObject **grown = realloc(codes, capacity * sizeof *codes);
            if (!grown) {
                Py_DECREF(frame);
                break;
            }
            codes = grown;
        }
        PyCodeObject *code = PyFrame_GetCode(frame);
        codes[(*count)++] = (PyObject *)code;
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return codes;
}

uint32_t kymo__frames_key(PyObject *code)
{
    if (kymo__throttle_is_off(code))
        return KYMO_LEFT_OUT; /* its end would not be recorded */
    return kymo__function_of(code)->key;
}

/* Record this thread's open frames, without the innermost when SKIP. */
static void record_own(bool skip)
{
    PyFrameObject *frame = PyEval_GetFrame();
    size_t count;
    PyObject **codes = codes_of(frame, &count);
    /* Now: frame objects were made, which may collect garbage. */
    uint64_t ticks = kymo_ticks();
    while (count-- > (size_t)skip) {
        uint32_t key = kymo__frames_key(codes[count]);
        if (key != KYMO_LEFT_OUT)
            kymo__trace_at(KYMO_ENTER, 3, key, ticks);
    }
    free(codes);
}

uint32_t kymo__epoch;
__thread uint32_t kymo__epoch_told;

/* The threads whose frames were recorded for them when tracing began. */
static struct told {
    uint32_t tid; /* the system's id */
    size_t frames;
} * told;
static size_t told_count;
static uint64_t paused; /* tick of the last pause; 0: there was none */

/* The one of this thread, or NULL. */
static const struct told *told_of_this(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    for (size_t i = 0; i < told_count; i++)
        if (told[i].tid == tid)
            return &told[i];
    return NULL;
}

#ifndef Py_GIL_DISABLED
static void remember_told(uint32_t tid, size_t frames)
{
    static size_t told_capacity;
    if (told_count == told_capacity) {
        size_t capacity = told_capacity ? told_capacity * 2 : 64;
        struct told *grown = realloc(told, capacity * sizeof *told);
        if (!grown)
            return;
        told = grown;
        told_capacity = capacity;
    }
    told[told_count++] = (struct told){tid, frames};
}

/* The system's id of STATE's thread, or 0. Versions that do not keep it have it in the
   objects of the module threading; not asked for as `native_id`, which would be a call. */
static uint32_t system_id(PyThreadState *state)
{
    uint32_t id = KYMO_NATIVE_THREAD_ID(state);
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *threading = id ? NULL : PyDict_GetItemString(modules, "threading");
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    PyObject *ident = active ? PyLong_FromUnsignedLong(state->thread_id) : NULL;
    PyObject *thread = ident ? PyDict_GetItemWithError(active, ident) : NULL; /* borrowed */
    PyObject *native = thread ? PyObject_GetAttrString(thread, "_native_id") : NULL;
    if (native)
        id = (uint32_t)PyLong_AsUnsignedLong(native);
    Py_XDECREF(native);
    Py_XDECREF(ident);
    Py_XDECREF(active);
    PyErr_Clear();
    return id;
}

/* Record the open frames of another thread, unless it has to do so itself. */
static void record_other(PyThreadState *state, uint32_t tid, uint64_t ticks)
{
    PyFrameObject *frame = PyThreadState_GetFrame(state);
    size_t count;
    PyObject **codes = codes_of(frame, &count);
    Py_XDECREF(frame);
    uint32_t *keys = count ? malloc(count * sizeof *keys) : NULL;
    /* Keys first: they may not be defined inside a claim. */
    for (size_t i = 0; keys && i < count; i++)
        keys[i] = kymo__frames_key(codes[i]);
    struct kymo_record *at = NULL;
    struct kymo_lane *lane = keys ? kymo_lane_of_thread(tid, 1, &at) : NULL;
    for (size_t i = count; lane && i-- > 0;) {
        if (keys[i] == KYMO_LEFT_OUT)
            continue;
        at = kymo_lane_more(lane, at, 1);
        if (!at) {
            lane = NULL;
            break;
        }
        kymo_lane_store(at++, ticks, kymo_word(KYMO_ENTER, 3, keys[i]));
    }
    if (lane)
        kymo_lane_commit(lane, at);
    size_t recorded = 0;
    for (size_t i = 0; lane && i < count; i++)
        if (keys[i] != KYMO_LEFT_OUT) {
            kymo__throttle_expect(codes[i]);
            recorded++;
        }
    if (lane)
        remember_told(tid, recorded);
    free(keys);
    free(codes);
}

static void record_others(void)
{
    uint64_t ticks = kymo_ticks();
    /* The GIL keeps the others from moving. Their list changes only under a lock of the
       interpreter's that we cannot take; with the GIL held, threads may still be added
       or removed by native code at its very beginning or end, which touches the ends of
       the list only. */
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
/* Nothing keeps the others from moving: they tell of their frames themselves. */
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

/* Give this thread the name that the module threading has for it: in the outermost frame of
   a thread of its own the Thread object is the variable `self`. */
static void name_thread(void)
{
    PyFrameObject *frame = outermost();
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    PyObject *locals = NULL, *self = NULL, *name = NULL, *owner = NULL;
    if (code && PyUnicode_CompareWithASCIIString(code->co_name, "_bootstrap") == 0)
        locals = PyObject_GetAttrString((PyObject *)frame, "f_locals");
    if (locals)
        self = PyMapping_GetItemString(locals, "self");
    if (self)
        name = PyObject_GetAttrString(self, "_name");
    const char *text = name && PyUnicode_Check(name) ? kymo__text_utf8(name, &owner) : NULL;
    if (text)
        kymo_thread_name(text);
    else if (getpid() == (pid_t)syscall(SYS_gettid))
        kymo_thread_name("MainThread");
    Py_XDECREF(owner);
    Py_XDECREF(name);
    Py_XDECREF(self);
    Py_XDECREF(locals);
    Py_XDECREF(code);
    Py_XDECREF(frame);
    PyErr_Clear();
}

bool kymo__frames_name(void)
{
    static __thread uint32_t named; /* the epoch in which this thread was */
    if (named == kymo__epoch || !PyEval_GetFrame())
        return named == kymo__epoch;
    named = kymo__epoch;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    name_thread();
    PyErr_Restore(type, value, trace);
    return true;
}

static void tell(bool entering)
{
    kymo__epoch_told = kymo__epoch;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* an unwinding frame has its exception set */
    record_own(entering);
    PyErr_Restore(type, value, trace);
}

/* Were this thread's frames recorded when tracing began? */
static bool told_before(void)
{
    return kymo__epoch_told == kymo__epoch || told_of_this();
}

void kymo__frames_tell(bool entering)
{
    kymo__depth = 0;
    kymo__epoch_told = kymo__epoch; /* first: a collection meanwhile is an event, too */
    if (paused)
        record_resync(paused);
    const struct told *before = paused ? NULL : told_of_this();
    if (!before)
        tell(entering);
    (void)kymo__frames_name();
    if (kymo__throttling() && (!before || before->frames))
        kymo__hook_told(entering, before ? before->frames : 0);
}

void kymo__frames_tell_again(void)
{
    kymo__depth = 0;
    if (paused || told_before())
        record_resync(paused ? paused : kymo_ticks());
    tell(false);
    if (kymo__throttling()) {
        kymo__throttle_close_all();
        kymo__hook_told(false, 0);
    }
}

void kymo__frames_prepare(void)
{
    paused = 0;
    told_count = 0;
    kymo__epoch++;
}

void kymo__frames_begin(void)
{
    kymo__frames_check(false);
    record_others();
}

void kymo__frames_pause(void)
{
    kymo__recent_stop(); /* what is found there goes past kymo__frames_check */
    paused = kymo_ticks();
}

void kymo__frames_resume(void)
{
    kymo__epoch++;
}
