/* hook_budget.c — what the callbacks of sys.monitoring do within an overhead budget. See
   hook_events.h and throttle.h. */
#include "tracer.h"

#if KYMO_HAS_MONITORING

#include "hook_events.h"
#include "tasks.h"
#include "throttle.h"

static PyObject *throttled_enter(PyObject *const *args, unsigned detail, bool may_disable)
{
    kymo__frames_check(true);
    const struct function *f = kymo__function_called(args[0]);
    struct site *site = f->key == KYMO_LEFT_OUT ? NULL : kymo__site(args[0], SITE_FUNCTION);
    if (!site || site->off)
        return may_disable ? kymo__switch_off() : Py_NewRef(Py_None);
    kymo__throttle_count(site);
    if (!kymo__too_deep_enter()) {
        const void *frame = KYMO_CURRENT_FRAME();
        site->key = f->key;
        if (f->slices)
            kymo__enter_special(f, detail);
        else
            kymo__trace_enter(detail, f->key);
        kymo__throttle_push(site, frame, kymo_ticks());
    } else {
        kymo__enter_deep(f, detail);
    }
    Py_RETURN_NONE;
}

static PyObject *throttled_leave(PyObject *const *args, unsigned detail, bool may_disable)
{
    kymo__frames_check(false);
    uint64_t ticks = kymo_ticks();
    const struct function *f = kymo__function_called(args[0]);
    struct site *site = f->key == KYMO_LEFT_OUT ? NULL : kymo__site(args[0], SITE_FUNCTION);
    may_disable &= f->slices != TASK_MAKER;
    if (f->slices)
        ticks = kymo__leave_special(f, args, detail, ticks);
    if (!site || (site->off && !site->active))
        return may_disable ? kymo__switch_off() : Py_NewRef(Py_None);
    if (kymo__throttle_pop(site, KYMO_CURRENT_FRAME(), ticks))
        kymo__trace_at(KYMO_LEAVE, detail, f->key, ticks);
    kymo__throttle_count(site);
    Py_RETURN_NONE;
}
CALLBACK(on_start, throttled_enter(args, 0, true))
CALLBACK(on_resume, throttled_enter(args, 1, true))
CALLBACK(on_throw, (kymo__thrown_into(), throttled_enter(args, 2, false)))
CALLBACK(on_return, throttled_leave(args, 0, true))
CALLBACK(on_yield, throttled_leave(args, 1, true))
CALLBACK(on_unwind, throttled_leave(args, 2, false))
CALLBACK(on_raise,
         kymo__may_be_late(args) ? kymo__enter_late(args, throttled_enter) : Py_NewRef(Py_None))

/* The place in the code that makes the call of ARGS. */
static struct site *call_site(PyObject *const *args)
{
    return kymo__site(args[0], (uint32_t)kymo__event_offset(args));
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

static PyObject *on_call(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(count),
                         PyObject *Py_UNUSED(names))
{
    kymo__frames_check(false);
    struct site *site = call_site(args);
    if (!site || (site->off && !site->active) || kymo__function_of(args[0])->key == KYMO_LEFT_OUT)
        return kymo__switch_off();
    if (site->off)
        Py_RETURN_NONE; /* it would go with the ends of the calls that are open */
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

static PyObject *throttled_c_leave(PyObject *const *args, unsigned detail)
{
    kymo__frames_check(false);
    uint64_t ticks = kymo_ticks();
    const struct function *f = kymo__event_callable(args);
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
CALLBACK(on_c_return, throttled_c_leave(args, 0))
CALLBACK(on_c_raise, throttled_c_leave(args, 2))

const vectorcallfunc kymo__budget_callbacks[EVENTS] = {
    [EVENT_START] = on_start,     [EVENT_RESUME] = on_resume, [EVENT_THROW] = on_throw,
    [EVENT_RETURN] = on_return,   [EVENT_YIELD] = on_yield,   [EVENT_UNWIND] = on_unwind,
    [EVENT_RAISE] = on_raise,     [EVENT_CALL] = on_call,     [EVENT_C_RETURN] = on_c_return,
    [EVENT_C_RAISE] = on_c_raise,
};

#endif
