/* tasks.c — see tasks.h. */
#include "tasks.h"

#include <stdlib.h>

#include <kymo/lane.h>

#include "awaits.h"
#include "core.h"
#include "keys.h"
#include "lives.h"
#include "loops.h"
#include "tasktypes.h"
#include "throttle.h"
#include "tracer.h"

struct task {
    const void *frame;   /* NULL: free; REMOVED: was used */
    uint32_t key;        /* of the coroutine's function */
    uint32_t waiting;    /* name of its open "await" span; 0: none */
    bool ready;          /* inside a "ready" span */
    bool begun;          /* its first slice was seen */
    bool returned;       /* the function that created it has returned it */
    bool many_wait;      /* more than one task waits for it */
    const void *waiter;  /* frame of the task that waited for it last, or NULL */
    uint64_t wait;       /* `arrows` of that task when it began to wait */
    uint64_t id;         /* of lives.h */
    uint64_t arrows;     /* while it waits for tasks: the first of one number per task, for arrows
                            from their ends to its next slice; else 0 */
    uint32_t arrow_most; /* how many numbers */
    uint32_t arrow_used; /* how many tasks have ended */
    uint64_t woken;      /* an arrow from the task that woke it to its next slice; or 0 */
    const void *awaited; /* frame of the one task it waits for, or NULL */
};
#define REMOVED ((const void *)1)

unsigned kymo__tasks;
static struct task *tasks; /* open addressing by frame */
static size_t capacity, used;
/* Names of arrows and spans; valid for the session. */
static uint32_t made_key, await_key, ready_key, wake_key;
static __thread const void *running;   /* frame of the task whose step runs */
static __thread const PyObject *ready; /* a task that is ready, and may not be known yet */

KYMO_SECTION(tasks_section);

static struct task *find_task(const void *frame)
{
    if (!capacity)
        return NULL;
    size_t at =
        (size_t)(((uintptr_t)frame >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (capacity - 1);
    for (; tasks[at].frame; at = (at + 1) & (capacity - 1))
        if (tasks[at].frame == frame)
            return &tasks[at];
    return &tasks[at];
}

static bool widen_tasks(void)
{
    if ((used + 1) * 2 <= capacity)
        return true;
    struct task *old = tasks;
    size_t old_capacity = capacity;
    size_t wanted = kymo__tasks * 4 < 256 ? 256 : capacity * (kymo__tasks * 4 > capacity ? 2 : 1);
    struct task *grown = calloc(wanted, sizeof *grown);
    if (!grown)
        return false;
    tasks = grown;
    capacity = wanted;
    used = 0;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].frame && old[i].frame != REMOVED) {
            *find_task(old[i].frame) = old[i];
            used++;
        }
    free(old);
    return true;
}

/* The task whose coroutine has FRAME, or NULL. */
static struct task *task_of(const void *frame)
{
    struct task *task = find_task(frame);
    return task && task->frame == frame ? task : NULL;
}

/* Begin an arrow to WAITER from a task that it waited for. */
static void call_waiter(struct task *waiter)
{
    if (waiter->arrow_used < waiter->arrow_most)
        kymo__trace_value(KYMO_FLOW_OUT, await_key, waiter->arrows + waiter->arrow_used++);
}

/* The same for all tasks that wait for TASK, which has ended. */
static void call_waiters(const struct task *task)
{
    KYMO_SECTION_LOCK(tasks_section);
    struct task *last = task_of(task->waiter);
    if (last && last->arrows && last->arrows == task->wait)
        call_waiter(last);
    for (size_t i = 0; task->many_wait && i < capacity; i++)
        if (&tasks[i] != last && tasks[i].frame && tasks[i].frame != REMOVED &&
            tasks[i].awaited == task->frame)
            call_waiter(&tasks[i]);
    KYMO_SECTION_UNLOCK(tasks_section);
}

/* End what led to the slice of TASK that begins, or was to begin: its waiting, and arrows. */
static void arrive(const struct task *task)
{
    if (task->waiting)
        kymo__trace_value(KYMO_ASYNC_END, task->waiting, task->id);
    if (task->ready)
        kymo__trace_value(KYMO_ASYNC_END, ready_key, task->id);
    for (uint32_t i = 0; i < task->arrow_used; i++)
        kymo__trace_value(KYMO_FLOW_IN, await_key, task->arrows + i);
    if (task->woken)
        kymo__trace_value(KYMO_FLOW_IN, wake_key, task->woken);
}

/* TASK has ended: end its spans, and arrows that were to lead to it. */
static void finish_task(const struct task *task)
{
    if (!task->begun)
        kymo__trace_value(KYMO_FLOW_IN, made_key, task->id);
    arrive(task);
    if (task->waiter)
        call_waiters(task);
    kymo__trace_value(KYMO_ASYNC_END, task->key, task->id);
}

/* Forget TASK; returns what was known about it. */
static struct task forget_task(struct task *task)
{
    struct task was = *task;
    task->frame = REMOVED;
    kymo__tasks--;
    return was;
}

static void define_names(void)
{
    if (made_key)
        return;
    made_key = kymo__name_key("task", KYMO_CLASS_NAME);
    await_key = kymo__name_key("await", KYMO_CLASS_NAME);
    wake_key = kymo__name_key("wake", KYMO_CLASS_NAME);
    ready_key = kymo__name_key("ready", KYMO_CLASS_WAIT);
}

/* The task of CORO was created; it has RETURNED from the function that did it, and is perhaps
   READY to run. */
static void created(PyObject *coro, bool returned, bool ready_now)
{
    const void *frame = KYMO_COROUTINE_FRAME(coro);
    PyObject *code = frame ? KYMO_COROUTINE_CODE(coro) : NULL;
    if (!code)
        return;
    uint32_t key = kymo__function_of(code)->key;
    bool off = kymo__throttle_is_off(code);
    Py_DECREF(code);
    if (key == KYMO_LEFT_OUT || off)
        return;
    define_names();
    KYMO_SECTION_LOCK(tasks_section);
    struct task before = {0};
    uint64_t id = kymo__life_announce(frame);
    bool room = widen_tasks();
    if (room) {
        struct task *task = find_task(frame);
        if (task->frame == frame)
            before = forget_task(task); /* this was a coroutine that never ran */
        used += !task->frame;
        kymo__tasks++;
        *task = (struct task){
            .frame = frame, .key = key, .returned = returned, .id = id, .ready = ready_now};
    }
    KYMO_SECTION_UNLOCK(tasks_section);
    if (before.frame)
        finish_task(&before);
    if (room) {
        kymo__trace_value(KYMO_FLOW_OUT, made_key, id);
        kymo__trace_value(KYMO_ASYNC_BEGIN, key, id);
    }
    if (room && ready_now)
        kymo__trace_value(KYMO_ASYNC_BEGIN, ready_key, id);
}

void kymo__task_created(PyObject *coro)
{
    created(coro, false, false);
}

bool kymo__makes_tasks(const char *file, const char *name)
{
    return kymo__ends_with(name, "create_task") && kymo__ends_with(file, "/asyncio/base_events.py");
}

void kymo__task_returned(PyObject *made)
{
    PyObject *coro = kymo__task_coro(made);
    const void *frame = coro ? KYMO_COROUTINE_FRAME(coro) : NULL;
    KYMO_SECTION_LOCK(tasks_section);
    struct task *task = frame ? task_of(frame) : NULL;
    bool known = task && !task->returned; /* the call of its type was seen */
    if (known)
        task->returned = true;
    KYMO_SECTION_UNLOCK(tasks_section);
    if (frame && !known)
        created(coro, true, ready == made);
    Py_XDECREF(coro);
}

void kymo__task_enter(const void *frame, uint32_t key, bool first)
{
    KYMO_SECTION_LOCK(tasks_section);
    struct task *task = task_of(frame), gone = {0};
    if (task && (task->key != key || (first && task->begun))) {
        gone = forget_task(task); /* it ended unseen, and another coroutine has its address */
        task = NULL;
    }
    struct task now = task ? *task : (struct task){0};
    if (task) {
        task->waiting = 0;
        task->ready = false;
        task->awaited = NULL;
        task->arrows = task->woken = 0;
        task->arrow_most = task->arrow_used = 0;
        task->begun = true;
    }
    KYMO_SECTION_UNLOCK(tasks_section);
    if (gone.frame)
        finish_task(&gone);
    if (!now.frame)
        return;
    running = frame;
    kymo__await_forget();
    kymo__loop_steps(key);
    if (!now.begun)
        kymo__trace_value(KYMO_FLOW_IN, made_key, now.id);
    arrive(&now);
}

/* The frame of the coroutine that OBJECT runs, if that is a task that is not done; else NULL. */
static const void *frame_run_by(PyObject *object)
{
    PyObject *coro = kymo__task_coro(object);
    const void *frame = coro ? KYMO_COROUTINE_FRAME(coro) : NULL;
    Py_XDECREF(coro);
    return frame;
}

/* The task of FRAME waits for OBJECT, if that is a task, from now on; ARROWS are its numbers.
   Returns the frame of OBJECT's coroutine, or NULL. */
static const void *wait_for(PyObject *object, const void *frame, uint64_t arrows)
{
    const void *other = frame_run_by(object);
    KYMO_SECTION_LOCK(tasks_section);
    struct task *awaited = other ? task_of(other) : NULL;
    if (awaited) {
        awaited->many_wait |= awaited->waiter && awaited->waiter != frame;
        awaited->waiter = frame;
        awaited->wait = arrows;
    }
    KYMO_SECTION_UNLOCK(tasks_section);
    return awaited ? other : NULL;
}

/* Let the task of FRAME wait for what it awaits. Returns a struct with `awaited` and numbers for
   its arrows. */
static struct task waits_for(const void *frame, PyObject *awaited)
{
    struct task wait = {0};
    PyObject *target = kymo__await_target(awaited), *member;
    bool group = PyList_CheckExact(target) || PyAnySet_CheckExact(target);
    Py_ssize_t most = !group ? 1 : PyList_Check(target) ? PyList_Size(target) : PySet_Size(target);
    wait.arrows = kymo__life_block((uint64_t)most);
    if (!group)
        wait.awaited = wait_for(target, frame, wait.arrows);
    wait.arrow_most = group ? (uint32_t)most : wait.awaited != NULL;
    PyObject *members = group ? PyObject_GetIter(target) : NULL;
    while (members && (member = PyIter_Next(members))) {
        wait_for(member, frame, wait.arrows);
        Py_DECREF(member);
    }
    PyErr_Clear();
    Py_XDECREF(members);
    Py_DECREF(target);
    return wait;
}

void kymo__task_suspend(const void *frame, const struct place *place, PyObject *awaited)
{
    KYMO_SECTION_LOCK(tasks_section);
    bool known = task_of(frame) != NULL;
    KYMO_SECTION_UNLOCK(tasks_section);
    if (!known) {
        kymo__await_inside(place, awaited);
        return;
    }
    running = NULL;
    struct task wait = waits_for(frame, awaited);
    uint32_t name = kymo__await_name(place, awaited);
    if (!name)
        name = await_key;
    KYMO_SECTION_LOCK(tasks_section);
    struct task *task = task_of(frame);
    uint64_t id = task ? task->id : 0;
    if (task) {
        task->waiting = name;
        task->awaited = wait.awaited;
        task->arrows = wait.arrows;
        task->arrow_most = wait.arrow_most;
    }
    KYMO_SECTION_UNLOCK(tasks_section);
    if (id)
        kymo__trace_value(KYMO_ASYNC_BEGIN, name, id);
}

void kymo__task_ready(PyObject *object)
{
    const void *frame = frame_run_by(object);
    KYMO_SECTION_LOCK(tasks_section);
    struct task *task = frame ? task_of(frame) : NULL, now = {0};
    if (task && !task->ready) {
        now = *task;
        task->ready = true;
        task->waiting = 0;
        if (now.waiting && !now.arrow_used && running && running != frame)
            now.woken = task->woken = kymo__life_new();
    }
    KYMO_SECTION_UNLOCK(tasks_section);
    ready = now.frame ? NULL : object; /* what is known may be of another one at its address */
    if (!now.frame)
        return;
    if (now.waiting)
        kymo__trace_value(KYMO_ASYNC_END, now.waiting, now.id);
    kymo__trace_value(KYMO_ASYNC_BEGIN, ready_key, now.id);
    if (now.woken)
        kymo__trace_value(KYMO_FLOW_OUT, wake_key, now.woken);
}

void kymo__task_end(const void *frame)
{
    KYMO_SECTION_LOCK(tasks_section);
    struct task *task = task_of(frame), gone = {0};
    if (task)
        gone = forget_task(task);
    KYMO_SECTION_UNLOCK(tasks_section);
    if (running == frame)
        running = NULL;
    if (gone.frame)
        finish_task(&gone);
}

void kymo__tasks_drop(uint32_t key)
{
    for (size_t i = 0; kymo__tasks; i++) {
        struct task gone = {0};
        KYMO_SECTION_LOCK(tasks_section);
        bool over = i >= capacity;
        if (!over && tasks[i].frame && tasks[i].frame != REMOVED && tasks[i].key == key)
            gone = forget_task(&tasks[i]);
        KYMO_SECTION_UNLOCK(tasks_section);
        if (over)
            return;
        if (gone.frame)
            finish_task(&gone);
    }
}

void kymo__tasks_reset(void)
{
    free(tasks);
    tasks = NULL;
    capacity = used = 0;
    kymo__tasks = 0;
    made_key = await_key = ready_key = wake_key = 0;
    kymo__task_types_reset();
    kymo__awaits_reset();
    kymo__loops_reset();
}
