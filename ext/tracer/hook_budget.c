/* hook_budget.c — the sys.monitoring callbacks used with an overhead budget. See hook_events.h
   and throttle.h. */
#include "tracer.h"

#if KYMO_HAS_MONITORING

#include "hook_events.h"
#include "tasks.h"
#include "throttle.h"

/* Like CALLBACK, but some of the calls are timed. */
#define TIMED_CALLBACK(name, expression)                                                           \
    CALLBACK(name##_untimed, expression)                                                           \
    static PyObject *name(PyObject *self, PyObject *const *args, size_t count, PyObject *names)    \
    {                                                                                              \
        uint64_t began = kymo__throttle_timer();                                                   \
        PyObject *result = name##_untimed(self, args, count, names);                               \
        if (__builtin_expect(began != 0, 0))                                                       \
            kymo__throttle_took(began);                                                            \
        return result;                                                                             \
    }

static PyObject *switch_off(struct site *site, bool may_disable)
{
    if (!may_disable)
        Py_RETURN_NONE;
    kymo__throttle_switched(site);
    return kymo__switch_off();
}

/* Could CODE, which was not seen before, be a function that creates tasks, or one of an event
   loop? */
static bool may_be_watched(PyObject *code)
{
    static const char *const names[] = {"create_task", "_call_soon", "_run"};
    PyObject *name = ((PyCodeObject *)code)->co_name;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0)
            return true;
    return false;
}

/* The site of CODE's function, or NULL when it is excluded. A function that the budget has no
   room for does not even get a name, since naming costs the most; functions that may have to be
   watched do. */
static struct site *function_site(PyObject *code)
{
    const struct function *f = kymo__function_find(code);
    if (!f && kymo__throttle_is_broke() && PyCode_Check(code) && !may_be_watched(code))
        return kymo__site(code, SITE_FUNCTION);
    f = f ? f : kymo__function_add(code);
    return f->key == KYMO_LEFT_OUT ? NULL : kymo__site(code, SITE_FUNCTION);
}

static PyObject *throttled_enter(PyObject *const *args, unsigned detail, bool may_disable)
{
    kymo__frames_check(true);
    struct site *site = function_site(args[0]);
    if (!site || site->off) {
        const struct function *off = kymo__function_find(args[0]);
        if (off)
            kymo__enter_watched(off);
        return switch_off(site, may_disable && !(off && kymo__is_watched(off)));
    }
    const struct function *f = kymo__function_called(args[0]);
    kymo__throttle_count(site);
    if (!kymo__too_deep_enter()) {
        const void *frame = KYMO_CURRENT_FRAME();
        site->key = f->key;
        if (f->slices)
            kymo__enter_special(f, args, detail);
        else
            kymo__trace_enter(detail, f->key);
        kymo__throttle_push(site, frame, kymo_ticks());
    } else {
        kymo__enter_deep(f, detail);
    }
    Py_RETURN_NONE;
}

static PyObject *leave_at(PyObject *const *args, unsigned detail, bool may_disable, uint64_t ticks)
{
    struct site *site = function_site(args[0]);
    if (site && site->off && !kymo__function_find(args[0]))
        return switch_off(site, may_disable); /* it was never named */
    const struct function *f = kymo__function_called(args[0]);
    may_disable &= !kymo__is_watched(f);
    if (f->slices)
        ticks = kymo__leave_special(f, args, detail, ticks);
    if (!site || (site->off && !site->active))
        return switch_off(site, may_disable);
    if (kymo__throttle_pop(site, KYMO_CURRENT_FRAME(), ticks))
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    kymo__throttle_count(site);
    Py_RETURN_NONE;
}

static PyObject *throttled_leave(PyObject *const *args, unsigned detail, bool may_disable)
{
    kymo__frames_check(false);
    PyObject *result = leave_at(args, detail, may_disable, kymo__stamp_begin());
    kymo__stamp_end();
    return result;
}
TIMED_CALLBACK(on_start, throttled_enter(args, 0, true))
TIMED_CALLBACK(on_resume, throttled_enter(args, 1, true))
CALLBACK(on_throw, (kymo__thrown_into(), throttled_enter(args, 2, false)))
TIMED_CALLBACK(on_return, throttled_leave(args, 0, true))
TIMED_CALLBACK(on_yield, throttled_leave(args, 1, true))
CALLBACK(on_unwind, throttled_leave(args, 2, false))
CALLBACK(on_raise,
         kymo__may_be_late(args) ? kymo__enter_late(args, throttled_enter) : Py_NewRef(Py_None))

/* The site of the call instruction that makes the call of ARGS. */
static struct site *call_site(PyObject *const *args)
{
    return kymo__site(args[0], (uint32_t)kymo__event_offset(args));
}

/* Record a call of KEY whose end will not be reported as ending at once; what it calls back
   appears beside it, because the events that would show its end may be switched off. */
static void record_at_once(uint32_t key)
{
    if (!kymo__too_deep_enter())
        kymo__trace_enter(0, key);
    if (!kymo__too_deep_leave())
        kymo__trace_at(KYMO_LEAVE, 0, key, kymo_ticks());
}

static PyObject *throttled_call(PyObject *const *args)
{
    kymo__frames_check(false);
    struct site *site = call_site(args);
    const struct function *caller = kymo__function_find(args[0]);
    if (!site || (site->off && !site->active) || (caller && caller->key == KYMO_LEFT_OUT))
        return switch_off(site, true);
    if (site->off)
        Py_RETURN_NONE; /* disabling it would also disable the ends of open calls */
    const struct function *f = kymo__event_callable(args);
    site->c_call = f != NULL;
    kymo__throttle_count(site);
    if (!f || f->key == KYMO_LEFT_OUT)
        Py_RETURN_NONE;
    if (kymo__end_is_unseen(args)) {
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

TIMED_CALLBACK(on_call, throttled_call(args))

static PyObject *c_leave_at(PyObject *const *args, unsigned detail, uint64_t ticks)
{
    const struct function *f = kymo__event_callable(args);
    struct site *site = f && f->key != KYMO_LEFT_OUT ? call_site(args) : NULL;
    if (site && !site->active && !site->off)
        (void)kymo__too_deep_leave();
    if (!site || !site->active)
        Py_RETURN_NONE;
    if (kymo__throttle_pop(site, KYMO_CURRENT_FRAME(), ticks))
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    kymo__throttle_count(site); /* last: this may record something itself */
    Py_RETURN_NONE;
}

static PyObject *throttled_c_leave(PyObject *const *args, unsigned detail)
{
    kymo__frames_check(false);
    PyObject *result = c_leave_at(args, detail, kymo__stamp_begin());
    kymo__stamp_end();
    return result;
}
TIMED_CALLBACK(on_c_return, throttled_c_leave(args, 0))
TIMED_CALLBACK(on_c_raise, throttled_c_leave(args, 2))

const vectorcallfunc kymo__budget_callbacks[EVENTS] = {
    [EVENT_START] = on_start,     [EVENT_RESUME] = on_resume, [EVENT_THROW] = on_throw,
    [EVENT_RETURN] = on_return,   [EVENT_YIELD] = on_yield,   [EVENT_UNWIND] = on_unwind,
    [EVENT_RAISE] = on_raise,     [EVENT_CALL] = on_call,     [EVENT_C_RETURN] = on_c_return,
    [EVENT_C_RAISE] = on_c_raise,
};

#endif
