/* loops.h — what asyncio's event loops schedule and run.

   Two functions of asyncio are watched, even if filters leave them out: the one that adds
   a callback to those that the loop runs next, which shows when a task is ready to run, and the one
   that runs a callback. If that takes 10 ms or more, nothing else ran on the loop meanwhile: an
   instant "loop blocked" is recorded, with the callback and the duration. */
#ifndef KYMO_EXT_LOOPS_H
#define KYMO_EXT_LOOPS_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* Is NAME of FILE the function that schedules, or the one that runs? */
bool kymo__loop_is_scheduler(const char *file, const char *name);
bool kymo__loop_is_runner(const char *file, const char *name);

/* The loop schedules CALLBACK. */
void kymo__loop_schedules(PyObject *callback);

/* The loop begins to run HANDLE; that ends. Call these inside the recorded call, if it is. */
void kymo__loop_runs(PyObject *handle);
void kymo__loop_ran(void);

/* What it runs is a step of a task whose coroutine is of the function KEY. */
void kymo__loop_steps(uint32_t key);

/* The session is over, or about to begin. */
void kymo__loops_reset(void);

#endif
