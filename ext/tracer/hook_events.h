/* hook_events.h — shared by the callbacks of sys.monitoring.

   hook_monitoring.c  the tool and its callbacks as objects
   hook_events.c      what they do
   hook_budget.c      what they do within an overhead budget

   ARGS are an event's arguments: a code object, an offset in it, and the event's own. */
#ifndef KYMO_EXT_HOOK_EVENTS_H
#define KYMO_EXT_HOOK_EVENTS_H

#include "tracer.h"

#include <opcode.h>

#include "ccalls.h"
#include "named.h"

/* The events, in the order of the tables of callbacks. */
enum event {
    EVENT_START,
    EVENT_RESUME,
    EVENT_THROW,
    EVENT_RETURN,
    EVENT_YIELD,
    EVENT_UNWIND,
    EVENT_RAISE,
    EVENT_CALL,
    EVENT_C_RETURN,
    EVENT_C_RAISE,
    EVENTS,
};
extern const vectorcallfunc kymo__callbacks[EVENTS], kymo__budget_callbacks[EVENTS];
extern const vectorcallfunc kymo__call_filtered; /* EVENT_CALL when the user chose filters */

#define CALLBACK(name, expression)                                                                 \
    static PyObject *name(PyObject *Py_UNUSED(self), PyObject *const *args,                        \
                          size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))                     \
    {                                                                                              \
        return expression;                                                                         \
    }

/* hook_monitoring.c: the value that a callback returns to disable the location it was called
   for. */
PyObject *kymo__switch_off(void);

/* Where in the code the event of ARGS happened. */
KYMO_INLINE long kymo__event_offset(PyObject *const *args)
{
    const PyLongObject *offset = (const PyLongObject *)args[1];
    return __builtin_expect(PyUnstable_Long_IsCompact(offset), 1)
               ? (long)PyUnstable_Long_CompactValue(offset)
               : PyLong_AsLong(args[1]);
}

/* The entry of the C callable of ARGS, or NULL if it is a Python function. Used at the call and at
   its end alike: the interpreter reports both for some Python functions too (the __exit__ of a with
   statement, anything while a frame evaluator is installed). */
KYMO_INLINE const struct function *kymo__event_callable(PyObject *const *args)
{
    const void *address = kymo__callable_address(args[2]);
    if (!address)
        return NULL;
    const struct function *f = kymo__function_find(address);
    return __builtin_expect(f != NULL, 1) ? f : kymo__function_add_callable(address, args[2]);
}

/* True if the end of the call that begins with ARGS will not be reported: methods around a C
   callable called with *arguments. */
bool kymo__end_is_unseen(PyObject *const *args);

/* F, whose `slices` is not 0, is entered: usually a slice of a generator or coroutine. Also
   called where it is too deep to be recorded: the lanes of tasks are separate from the calls. */
void kymo__enter_special(const struct function *f, PyObject *const *args, unsigned detail);
void kymo__enter_deep(const struct function *f, unsigned detail);

/* F is entered: if it belongs to an event loop, see what it is about to do. */
void kymo__enter_watched(const struct function *f);

/* Must the events of F go on, even if it is not recorded? */
bool kymo__is_watched(const struct function *f);

/* F ends at TICKS, which is recorded next; ARGS are those of the event. Returns the tick to
   record, which is not earlier than anything recorded meanwhile. */
uint64_t kymo__leave_special(const struct function *f, PyObject *const *args, unsigned detail,
                             uint64_t ticks);

/* The frame that resumes with an exception thrown into it, until that is raised. */
extern __thread const void *kymo__thrown;
void kymo__thrown_into(void);

/* An exception is raised in the frame of ARGS. A signal handler may raise one at the instruction
   that starts a frame or resumes it after a yield, before the start is reported; the frame may
   then handle the exception and continue. So it is ENTERed now. */
PyObject *kymo__enter_late(PyObject *const *args,
                           PyObject *(*enter_now)(PyObject *const *, unsigned, bool));

/* False if ARGS report an exception at an instruction that cannot start a frame. */
KYMO_INLINE bool kymo__may_be_late(PyObject *const *args)
{
    return PyCode_Check(args[0]) &&
           (kymo__thrown || KYMO_MAY_RESUME(args[0], kymo__event_offset(args)));
}

#endif
