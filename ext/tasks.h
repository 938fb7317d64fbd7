/* tasks.h — asyncio tasks as lanes of their own.

   A task is known by the frame of its coroutine, from the call that makes it to the
   coroutine's end. Two calls make one: that of its type, where the interpreter reports it,
   and that of the event loop's create_task. Its life is an async span named after the coroutine; while it waits an
   async span "await" lies inside. Arrows lead from where it was made to its first step,
   and from its end to the step of a task that awaited it. */
#ifndef KYMO_EXT_TASKS_H
#define KYMO_EXT_TASKS_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* How many tasks are alive; nothing below needs to be called while it is 0. */
extern unsigned kymo__tasks;

/* True when TYPE makes tasks. */
bool kymo__is_task_type(PyTypeObject *type);

/* A task type is called with CORO as its first argument. */
void kymo__task_created(PyObject *coro);

/* True when the function NAME of FILE returns a task that it made. */
bool kymo__makes_tasks(const char *file, const char *name);

/* Such a function returns MADE. */
void kymo__task_returned(PyObject *made);

/* A slice of the coroutine whose frame is FRAME begins (after its enter was recorded): the
   first when FIRST. KEY is its function's. */
void kymo__task_enter(const void *frame, uint32_t key, bool first);

/* It ends (before its leave is recorded): for good, or waiting for AWAITED. */
void kymo__task_suspend(const void *frame, PyObject *awaited);
void kymo__task_end(const void *frame);

/* Coroutines of the function KEY are seen no more: their tasks have no lanes from now on. */
void kymo__tasks_drop(uint32_t key);

/* The session is over, or about to begin. */
void kymo__tasks_reset(void);

#endif
