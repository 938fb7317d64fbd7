/* tasks.c — see tasks.h. */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

#include <kymo/lane.h>

#include "core.h"
#include "keys.h"
#include "throttle.h"

struct task {
    const void *frame;   /* NULL: free; REMOVED: was used */
    uint32_t key;        /* of the coroutine's function */
    bool waiting;        /* inside an "await" span */
    bool begun;          /* its first slice was seen */
    bool returned;       /* by the function that made it */
    const void *awaited; /* frame of the task it waits for, or NULL */
};
#define REMOVED ((const void *)1)

unsigned kymo__tasks;
static struct task *tasks; /* open addressing by frame */
static size_t capacity, used;
static uint32_t made_key, await_key; /* names of arrows and spans, the session's */

KYMO_SECTION(tasks_section);

static struct task *find(const void *frame)
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

static bool widen(void)
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
            *find(old[i].frame) = old[i];
            used++;
        }
    free(old);
    return true;
}

/* The task whose coroutine has FRAME, or NULL. */
static struct task *task_of(const void *frame)
{
    struct task *task = find(frame);
    return task && task->frame == frame ? task : NULL;
}

static void mark(unsigned kind, uint32_t key, const void *id, unsigned tag)
{
    struct kymo_lane *lane;
    struct kymo_record *at = key ? kymo_lane_claim(&lane, 2) : NULL;
    if (at) {
        kymo_lane_store(at, kymo_ticks(), kymo_word(kind, 0, key));
        kymo_lane_store(at + 1, (uint64_t)(uintptr_t)id | tag, KYMO_VALUE_WORD);
        kymo_lane_commit(lane, at + 2);
    }
}

/* TASK is no more: its spans end. */
static void finish(const struct task *task)
{
    if (task->waiting)
        mark(KYMO_ASYNC_END, await_key, task->frame, 0);
    mark(KYMO_FLOW_OUT, await_key, task->frame, 1);
    mark(KYMO_ASYNC_END, task->key, task->frame, 0);
}

/* Nothing more is known of TASK; returns what was. */
static struct task forget(struct task *task)
{
    struct task was = *task;
    task->frame = REMOVED;
    kymo__tasks--;
    return was;
}

/* The type of tasks that TYPE is or is derived from, or NULL. */
static PyTypeObject *task_type(const PyTypeObject *type)
{
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (strcmp(base->tp_name, "_asyncio.Task") == 0)
            return base;
    }
    return NULL;
}

bool kymo__is_task_type(PyTypeObject *type)
{
    return task_type(type) != NULL;
}

/* What METHOD of OBJECT returns if that is a task, else NULL; no exception. It is the method of
   the type of tasks: a derived type's own would be code of the program. */
static PyObject *ask_task(PyObject *object, const char *method)
{
    PyTypeObject *type = object ? task_type(Py_TYPE(object)) : NULL;
    if (!type)
        return NULL;
    PyObject *answer = PyObject_CallMethod((PyObject *)type, method, "O", object);
    PyErr_Clear();
    return answer;
}

/* The coroutine of OBJECT if that is a task that is not done, else NULL; no exception. One that
   was done when it was made has none, and 3.12.1 crashes when it is asked for. */
static PyObject *coro_of(PyObject *object)
{
    PyObject *done = ask_task(object, "done");
    PyObject *coro = done == Py_False ? ask_task(object, "get_coro") : NULL;
    Py_XDECREF(done);
    return coro;
}

static void created(PyObject *coro, bool returned)
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
    if (!made_key) {
        made_key = kymo__name_key("task", KYMO_CLASS_NAME);
        await_key = kymo__name_key("await", KYMO_CLASS_NAME);
    }
    KYMO_SECTION_LOCK(tasks_section);
    struct task before = {0};
    bool room = widen();
    if (room) {
        struct task *task = find(frame);
        if (task->frame == frame)
            before = forget(task); /* a coroutine that never ran was here */
        used += !task->frame;
        kymo__tasks++;
        *task = (struct task){.frame = frame, .key = key, .returned = returned};
    }
    KYMO_SECTION_UNLOCK(tasks_section);
    if (before.frame)
        finish(&before);
    if (room) {
        mark(KYMO_FLOW_OUT, made_key, frame, 0);
        mark(KYMO_ASYNC_BEGIN, key, frame, 0);
    }
}

void kymo__task_created(PyObject *coro)
{
    created(coro, false);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

bool kymo__makes_tasks(const char *file, const char *name)
{
    return ends_with(name, "create_task") && ends_with(file, "/asyncio/base_events.py");
}

void kymo__task_returned(PyObject *made)
{
    PyObject *coro = coro_of(made);
    const void *frame = coro ? KYMO_COROUTINE_FRAME(coro) : NULL;
    KYMO_SECTION_LOCK(tasks_section);
    struct task *task = frame ? task_of(frame) : NULL;
    bool known = task && !task->returned; /* the call of its type was seen */
    if (known)
        task->returned = true;
    KYMO_SECTION_UNLOCK(tasks_section);
    if (frame && !known)
        created(coro, true);
    Py_XDECREF(coro);
}

void kymo__task_enter(const void *frame, uint32_t key, bool first)
{
    KYMO_SECTION_LOCK(tasks_section);
    struct task *task = task_of(frame), gone = {0};
    if (task && (task->key != key || (first && task->begun))) {
        gone = forget(task); /* it ended unseen, and another coroutine is at its place */
        task = NULL;
    }
    bool waiting = task && task->waiting;
    const void *awaited = task ? task->awaited : NULL;
    if (task) {
        task->waiting = false;
        task->awaited = NULL;
        task->begun = true;
    }
    KYMO_SECTION_UNLOCK(tasks_section);
    if (gone.frame)
        finish(&gone);
    if (task && first)
        mark(KYMO_FLOW_IN, made_key, frame, 0);
    if (waiting)
        mark(KYMO_ASYNC_END, await_key, frame, 0);
    if (awaited)
        mark(KYMO_FLOW_IN, await_key, awaited, 1);
}

/* The frame of the coroutine that AWAITED runs, if it is a task; else NULL. */
static const void *frame_awaited(PyObject *awaited)
{
    PyObject *coro = coro_of(awaited);
    const void *frame = coro ? KYMO_COROUTINE_FRAME(coro) : NULL;
    Py_XDECREF(coro);
    return frame;
}

void kymo__task_suspend(const void *frame, PyObject *awaited)
{
    const void *other = frame_awaited(awaited);
    KYMO_SECTION_LOCK(tasks_section);
    struct task *task = task_of(frame);
    if (task) {
        task->waiting = true;
        task->awaited = other && task_of(other) ? other : NULL;
    }
    KYMO_SECTION_UNLOCK(tasks_section);
    if (task)
        mark(KYMO_ASYNC_BEGIN, await_key, frame, 0);
}

void kymo__task_end(const void *frame)
{
    KYMO_SECTION_LOCK(tasks_section);
    struct task *task = task_of(frame), gone = {0};
    if (task)
        gone = forget(task);
    KYMO_SECTION_UNLOCK(tasks_section);
    if (gone.frame)
        finish(&gone);
}

void kymo__tasks_drop(uint32_t key)
{
    for (size_t i = 0; kymo__tasks; i++) {
        struct task gone = {0};
        KYMO_SECTION_LOCK(tasks_section);
        bool over = i >= capacity;
        if (!over && tasks[i].frame && tasks[i].frame != REMOVED && tasks[i].key == key)
            gone = forget(&tasks[i]);
        KYMO_SECTION_UNLOCK(tasks_section);
        if (over)
            return;
        if (gone.frame)
            finish(&gone);
    }
}

void kymo__tasks_reset(void)
{
    free(tasks);
    tasks = NULL;
    capacity = used = 0;
    kymo__tasks = 0;
    made_key = await_key = 0;
}
