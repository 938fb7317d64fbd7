/* tasks.h — asyncio tasks on separate lanes.

   A task is identified by the frame of its coroutine, from the call that creates it to the
   coroutine's end. Two calls create one: that of its type, where the interpreter reports it, and
   that of the event loop's create_task. Its life is an async span named after the coroutine. Inside
   are a span per wait, named after what it awaits (awaits.h), and a span "ready" from when the
   event loop could run it until it does (loops.h). Arrows lead from where it was created to its
   first step; from its end to the step of a task that awaited it, alone or in a group; and from
   the step of a task that woke it in another way, by a queue, say. */
#ifndef KYMO_EXT_TASKS_H
#define KYMO_EXT_TASKS_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* How many tasks are alive; while it is 0, none of the functions below have to be called. */
extern unsigned kymo__tasks;

/* A task type is called with CORO as its first argument. */
void kymo__task_created(PyObject *coro);

/* True when the function NAME of FILE returns a task that it created. */
bool kymo__makes_tasks(const char *file, const char *name);

/* Such a function returns MADE. */
void kymo__task_returned(PyObject *made);

/* A slice of the coroutine whose frame is FRAME begins (call this after recording its enter);
   FIRST: its first slice. KEY is its function's. */
void kymo__task_enter(const void *frame, uint32_t key, bool first);

/* Where a coroutine is: the instruction at OFFSET of CODE, whose function is KEY; and its first
   argument, or NULL. All borrowed. */
struct place {
    PyObject *code;
    int offset;
    uint32_t key;
    PyObject *first;
};

/* The slice ends (call this before recording its leave): for good, or at PLACE waiting for
   AWAITED. */
void kymo__task_suspend(const void *frame, const struct place *place, PyObject *awaited);
void kymo__task_end(const void *frame);

/* An event loop is to run the next step of OBJECT, which is a task, as soon as it can. */
void kymo__task_ready(PyObject *object);

/* Coroutines of the function KEY are not reported any more: their tasks have no lanes from now
   on. */
void kymo__tasks_drop(uint32_t key);

/* The session is over, or about to begin. */
void kymo__tasks_reset(void);

#endif
