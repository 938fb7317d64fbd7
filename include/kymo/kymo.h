/* kymo.h — the C API of Kymograph: record what a program does, and read it back.

   This header includes the commonly used ones; each can be included alone:

     <kymo/record.h>   recording: start and stop a session, flight recorder, statistics
     <kymo/mark.h>     marking: spans, instants, counters, arrows, async spans, arguments
     <kymo/read.h>     reading: events, stacks, figures, tables
     <kymo/exports.h>  exporting: other programs' formats
     <kymo/types.h>    error codes and what the others share

   Not included, for programs that need them: <kymo/source.h> registers a source of events,
   <kymo/lane.h> is the fast path of recording, <kymo/payload.h> attaches named fields to events,
   <kymo/op.h> records operators with their arguments, <kymo/track.h> records finished events of
   devices, <kymo/stack.h>, <kymo/stackdump.h> and <kymo/symbol.h> capture stacks and name their
   functions, <kymo/memory.h> records allocations, <kymo/heap.h> reads who held memory,
   <kymo/averages.h> computes the tables of the torch profiler.

   Errors. Functions that can fail return 0 or a count, or a negative code: a negative errno
   (-ENOMEM) or one of enum kymo_error, whose values are negative already (KYMO_EIDLE).
   kymo_strerror explains both. Results go out by pointer and are written only on success.

   Structs that callers fill begin with their size, sizeof the struct, so that they can grow.

   The library is never unloaded: dlclose leaves it in the process, because threads that recorded
   run its code when they end.

   The headers may be included from C11 and C++. */
#ifndef KYMO_KYMO_H
#define KYMO_KYMO_H

#include <kymo/exports.h>
#include <kymo/mark.h>
#include <kymo/read.h>
#include <kymo/record.h>
#include <kymo/types.h>

#endif
