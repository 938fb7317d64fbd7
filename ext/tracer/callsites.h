/* callsites.h — the lines from which calls are made, for sessions that record them.

   A line is recorded as a text, "file:line", defined once. Each instruction from which a call was
   made has an entry in the table of keys.h, so that a call costs one lookup and creates no Python
   object. The entries of a code object are forgotten when it dies. */
#ifndef KYMO_EXT_CALLSITES_H
#define KYMO_EXT_CALLSITES_H

#include "compat.h"

#include <kymo/lane.h>
#include <stdbool.h>
#include <stdint.h>

/* What is recorded about the lines of a call, after its enter. */
struct call_lines {
    uint32_t from; /* the key of the line in the caller; 0: it is not known */
    int64_t line;  /* where the function is entered or is running; -1: at its first line */
};

/* An instruction of a function. */
struct code_place {
    PyObject *code; /* borrowed; NULL: there is none */
    int64_t unit;   /* in code units from the start of the code */
};

/* Begin a session: names of what is recorded. */
void kymo__callsites_begin(void);

/* The lines of a call that is made at CALLER. C functions have no line of their own. */
struct call_lines kymo__lines_of_c_call(struct code_place caller);

/* The same for a Python function that is entered or running at OWN, which is its FIRST line or not,
   called at CALLER. If that is nowhere, the line is its own, as in torch. */
struct call_lines kymo__lines_of_frame(struct code_place own, bool first, struct code_place caller);

/* The same when it was called by the frame CALLER, or by one further out if that has no function. */
struct call_lines kymo__lines_of_call(struct code_place own, bool first, const void *caller);

/* Is a call of CODE certainly entered at the first line? The code of a module has line 0 there. */
KYMO_INLINE bool kymo__begins_at_first_line(PyObject *code)
{
    return ((PyCodeObject *)code)->co_flags & CO_OPTIMIZED;
}

/* Store them at AT, after the records of an enter, with its TICKS. Returns the end of what was
   stored; at most KYMO_LINES_MOST records. */
enum { KYMO_LINES_MOST = 4 };
struct kymo_record *kymo__lines_store(struct kymo_record *at, uint64_t ticks,
                                      const struct call_lines *lines);

/* How many enters this thread has recorded with it. */
extern __thread uint64_t kymo__lines_entered;

/* Record an enter of KEY with DETAIL, for the generator or coroutine ID if that is not 0, and LINES.
   TICKS 0: now. */
void kymo__trace_enter_lines(unsigned detail, uint32_t key, uint64_t id,
                             const struct call_lines *lines, uint64_t ticks);

/* CODE dies. */
void kymo__callsites_forget(const PyCodeObject *code);

#endif
