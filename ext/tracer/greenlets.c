/* greenlets.c — see greenlets.h: the open calls of each greenlet, and what a switch does to them. */
#include "greenlets.h"

#include <stdlib.h>

#include "throttle.h"
#include "tracer.h"

struct open_call {
    uint32_t key;
    uint64_t id; /* of the generator or coroutine; 0: none */
};

/* The open calls of one greenlet. */
struct open_calls {
    const void *greenlet; /* only an address; a greenlet that starts there is a new one */
    struct open_calls *next;
    uint32_t epoch;  /* in which CALLS were recorded; see tracer.h */
    bool still_open; /* recorded as open in this epoch, but not in CALLS */
    bool parked;     /* another one runs, and the fields below are valid */
    int depth;       /* kymo__depth */
    void *hook;      /* the hook's state for them */
    void *budget;    /* the state of throttle.h for them */
    size_t count, capacity;
    struct open_call *calls;
    /* Its lane: an async span from its first call to its end, with another one inside while it does
       not run. Only of a greenlet that started within the session. */
    uint32_t lane_session; /* of the core; the rest is valid in that session only */
    uint32_t lane_key;     /* its first function; 0: it has made no call yet */
    uint64_t lane;         /* the span's id; 0: it has no lane */
    bool away;             /* inside the inner span */
};

__thread struct open_calls *kymo__open_calls;

enum { BUCKETS = 1024 };
static struct open_calls *buckets[BUCKETS];
KYMO_SECTION(buckets_section);

static struct open_calls **bucket_of(const void *greenlet)
{
    return &buckets[((uintptr_t)greenlet >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

/* The stack of GREENLET, created if needed; NULL if memory is short. */
static struct open_calls *stack_of(const void *greenlet)
{
    KYMO_SECTION_LOCK(buckets_section);
    struct open_calls **bucket = bucket_of(greenlet), *stack = *bucket;
    while (stack && stack->greenlet != greenlet)
        stack = stack->next;
    if (!stack && (stack = calloc(1, sizeof *stack))) {
        stack->greenlet = greenlet;
        stack->next = *bucket;
        *bucket = stack;
    }
    KYMO_SECTION_UNLOCK(buckets_section);
    return stack;
}

static uint32_t away_key; /* the name of the inner spans */
static uint32_t away_session;

static uint32_t session_now(void)
{
    return kymo__lane ? kymo__lane->session : KYMO_NO_SESSION;
}

static bool has_lane(const struct open_calls *stack)
{
    return stack->lane && stack->lane_key && stack->lane_session == session_now();
}

/* The greenlet of STACK starts; its lane begins with its first call. */
static void lane_prepare(struct open_calls *stack)
{
    if (away_session != session_now()) {
        away_session = session_now();
        away_key = kymo__name_key("switched out", KYMO_CLASS_WAIT);
    }
    stack->lane_session = session_now();
    stack->lane_key = 0;
    stack->lane = kymo__life_new();
    stack->away = false;
}

static void lane_leave(struct open_calls *stack, bool dead)
{
    if (!has_lane(stack))
        return;
    kymo__trace_value(dead ? KYMO_ASYNC_END : KYMO_ASYNC_BEGIN, dead ? stack->lane_key : away_key,
                      stack->lane);
    stack->away = !dead;
    if (dead)
        stack->lane = 0;
}

static void lane_enter(struct open_calls *stack)
{
    if (has_lane(stack) && stack->away)
        kymo__trace_value(KYMO_ASYNC_END, away_key, stack->lane);
    stack->away = false;
}

/* A call of KEY is about to be recorded in STACK. */
static void lane_begin(struct open_calls *stack, uint32_t key)
{
    if (stack->lane && !stack->lane_key && stack->lane_session == session_now()) {
        stack->lane_key = key;
        kymo__trace_value(KYMO_ASYNC_BEGIN, key, stack->lane);
    }
}

void kymo__open_calls_push(struct open_calls *stack, uint32_t key, uint64_t id)
{
    if (__builtin_expect(stack->lane && !stack->lane_key, 0))
        lane_begin(stack, key);
    if (stack->count == stack->capacity) {
        size_t capacity = stack->capacity ? stack->capacity * 2 : 32;
        struct open_call *grown = realloc(stack->calls, capacity * sizeof *grown);
        if (!grown)
            return;
        stack->calls = grown;
        stack->capacity = capacity;
    }
    stack->calls[stack->count++] = (struct open_call){key, id};
}

/* Bypasses kymo__trace_at: these records do not change which calls are open. */
static void record_switch(unsigned kind, unsigned detail, uint32_t key, uint64_t id, uint64_t ticks)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 2);
    if (!at)
        return;
    kymo_lane_store(at++, ticks, kymo_word(kind, detail | (id ? KYMO_HAS_ID : 0), key));
    if (id)
        kymo_lane_store(at++, id, KYMO_VALUE_WORD);
    kymo_lane_commit(lane, at);
}

bool kymo__open_calls_pop(struct open_calls *stack, uint32_t key, uint64_t ticks)
{
    size_t at = stack->count;
    while (at > 0 && stack->calls[at - 1].key != key)
        at--;
    if (!at)
        return false;
    while (stack->count > at)
        record_switch(KYMO_LEAVE, 0, stack->calls[--stack->count].key, 0, ticks);
    stack->count--;
    return true;
}

static void suspend(const struct open_calls *stack, uint64_t ticks)
{
    for (size_t i = stack->count; i-- > 0;)
        record_switch(KYMO_LEAVE, 1, stack->calls[i].key, 0, ticks);
}

static void resume_calls(const struct open_calls *stack, uint64_t ticks)
{
    for (size_t i = 0; i < stack->count; i++)
        record_switch(KYMO_ENTER, 1, stack->calls[i].key, stack->calls[i].id, ticks);
}

/* The hooks' short paths record without updating the open calls: this thread takes the long
   paths until the session ends. */
static void disable_quick_path(void)
{
    if (kymo__lane)
        kymo__lane->quick = KYMO_NO_SESSION;
}

/* FROM stops running, for good if it is DEAD. */
static void leave_greenlet(struct open_calls *from, bool dead, uint64_t ticks)
{
    from->hook = kymo__hook_stack_take(from->hook);
    from->budget = kymo__throttle_stack_take(from->budget);
    from->depth = kymo__depth;
    from->parked = true;
    if (kymo__open_calls == from) {
        suspend(from, ticks);
    } else {
        /* This is the first switch that we see, or we missed some. */
        kymo__frames_cut(ticks);
        from->epoch = kymo__epoch;
        from->still_open = true;
        from->count = 0;
    }
    lane_leave(from, dead);
    if (dead) { /* another one may get its address, and start unseen */
        from->parked = from->still_open = false;
        from->epoch = 0;
    }
}

/* TO starts to run; if it has just STARTED it has made no call. */
static void enter_greenlet(struct open_calls *to, bool started)
{
    bool known = !started && to->epoch == kymo__epoch, still_open = known && to->still_open;
    kymo__open_calls = to;
    if (started)
        lane_prepare(to);
    else
        lane_enter(to);
    bool parked = to->parked && !started;
    kymo__hook_stack_give(parked ? to->hook : NULL, started);
    kymo__throttle_stack_give(parked ? to->budget : NULL);
    to->parked = to->still_open = false;
    kymo__depth = known ? to->depth : 0;
    if (!known || still_open)
        to->count = 0;
    to->epoch = kymo__epoch;
    disable_quick_path();
    if (known && !still_open)
        resume_calls(to, kymo_ticks());
    else if (!started)
        kymo__frames_record_stack(still_open);
}

/* Has GREENLET ended? Asks its C type, so that none of the program's code runs. */
static bool is_dead(PyObject *greenlet)
{
    PyObject *mro = Py_TYPE(greenlet)->tp_mro, *found = NULL; /* borrowed */
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro) && !found; i++)
        found =
            PyDict_GetItemString(KYMO_TYPE_DICT((PyTypeObject *)PyTuple_GET_ITEM(mro, i)), "dead");
    bool known = found && Py_IS_TYPE(found, &PyGetSetDescr_Type);
    PyObject *dead = known ? Py_TYPE(found)->tp_descr_get(found, greenlet, NULL) : NULL;
    Py_XDECREF(dead);
    PyErr_Clear();
    return dead == Py_True;
}

void kymo__greenlet_switched(PyObject *origin, PyObject *target)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    kymo__frames_check(false);
    struct open_calls *from = stack_of(origin), *to = stack_of(target);
    uint64_t ticks = kymo__stamp_begin();
    if (from && to && from != to) {
        leave_greenlet(from, is_dead(origin), ticks);
        enter_greenlet(to, !PyEval_GetFrame());
    }
    kymo__stamp_end();
    PyErr_Restore(type, value, trace);
}

void kymo__greenlets_forget(void)
{
    kymo__open_calls = NULL;
}
