/* tasktypes.h — what an asyncio task is, and its coroutine; asked without running the program's
   code. */
#ifndef KYMO_EXT_TASKTYPES_H
#define KYMO_EXT_TASKTYPES_H

#include "compat.h"

#include <stdbool.h>

/* Does calling TYPE create a task? */
bool kymo__is_task_type(PyTypeObject *type);

/* The coroutine of OBJECT if that is a task that is not done, new; else NULL. No exception. */
PyObject *kymo__task_coro(PyObject *object);

/* The code of that coroutine in the same way. */
PyObject *kymo__task_code(PyObject *object);

/* The session is over, or about to begin. */
void kymo__task_types_reset(void);

#endif
