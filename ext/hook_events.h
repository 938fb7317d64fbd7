/* hook_events.h — what the callbacks of sys.monitoring share.

   hook_monitoring.c  the tool and its callbacks as objects
   hook_events.c      what they do
   hook_budget.c      what they do within an overhead budget

   ARGS are those of an event: a code object, an offset in it, and what the event is about. */
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

#define CALLBACK(name, expression)                                                                 \
    static PyObject *name(PyObject *Py_UNUSED(self), PyObject *const *args,                        \
                          size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))                     \
    {                                                                                              \
        return expression;                                                                         \
    }

/* hook_monitoring.c: what a callback returns so that the place it was called for is reported no
   more. */
PyObject *kymo__switch_off(void);

/* Where in the code the event of ARGS happened. */
KYMO_INLINE long kymo__event_offset(PyObject *const *args)
{
    const PyLongObject *offset = (const PyLongObject *)args[1];
    return __builtin_expect(PyUnstable_Long_IsCompact(offset), 1)
               ? (long)PyUnstable_Long_CompactValue(offset)
               : PyLong_AsLong(args[1]);
}

/* The entry of the C callable of ARGS, or NULL when it is a Python function. Asked at the
   call and at its end alike: the interpreter reports both for some Python functions too
   (the __exit__ of a with statement, anything while a frame evaluator is installed). */
KYMO_INLINE const struct function *kymo__event_callable(PyObject *const *args)
{
    const void *address = kymo__callable_address(args[2]);
    if (!address)
        return NULL;
    const struct function *f = kymo__function_find(address);
    return __builtin_expect(f != NULL, 1) ? f : kymo__function_add_callable(address, args[2]);
}

/* True when the end of the call that begins with ARGS will not be reported: so it is for
   methods around a C callable that are called with *arguments. */
bool kymo__end_is_unseen(PyObject *const *args);

/* F, whose `slices` is not 0, is entered: a slice of a generator or coroutine mostly. The same where
   it is too deep to be recorded: the lanes of tasks lie beside the calls. */
void kymo__enter_special(const struct function *f, unsigned detail);
void kymo__enter_deep(const struct function *f, unsigned detail);

/* It ends at TICKS, which is recorded next; ARGS are those of the event. Returns the tick to
   record, which is not before anything recorded meanwhile. */
uint64_t kymo__leave_special(const struct function *f, PyObject *const *args, unsigned detail,
                             uint64_t ticks);

/* The frame that goes on with an exception thrown into it, until that is raised. */
extern __thread const void *kymo__thrown;
void kymo__thrown_into(void);

/* An exception is raised in the frame of ARGS. Where signals come first, that of a signal
   handler may be raised at the instruction that begins a frame or goes on after a yield,
   before that is reported; and the frame may handle it, and go on. It is ENTERed now. */
PyObject *kymo__enter_late(PyObject *const *args,
                           PyObject *(*enter_now)(PyObject *const *, unsigned, bool));

/* False where ARGS tell of an exception at an instruction that no frame begins with. */
KYMO_INLINE bool kymo__may_be_late(PyObject *const *args)
{
    return PyCode_Check(args[0]) &&
           (kymo__thrown || KYMO_MAY_RESUME(args[0], kymo__event_offset(args)));
}

#endif
