/* calllines.h — lines that a session recorded with calls: the one that a call was made from, and the
   one at which a function was entered or was running. They are attached to the call's enter as
   "called from", a text "file:line", and as "line", a number, if that is not the function's first
   line. docs/internals/tracer.md says when they are recorded. */
#ifndef KYMO_CALLLINES_H
#define KYMO_CALLLINES_H

#include "callables.h"
#include "calls.h"

struct kymo_call_lines {
    const char *from; /* "file:line", lent; NULL: not recorded */
    int64_t line;     /* -1: its first line */
};

/* The lines of SLICE, which is a call. Of a call that was entered before the part that is read, the
   line at the start of that is known only if it was recorded as running then. FIRST: first lines are
   wanted, whatever was recorded. */
struct kymo_call_lines kymo__call_lines(const struct kymo_callables *callables,
                                        const struct kymo_slice *slice, bool first);

/* Is ARG, of a call, one of the two? */
bool kymo__arg_is_line(const struct kymo_callables *callables, const struct kymo_call_arg *arg);

#endif
