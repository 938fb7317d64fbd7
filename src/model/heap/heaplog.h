/* heaplog.h — live memory over time, every change of it: for a viewer that shows any piece of time at any
   zoom.

   One replay of the capture writes every change to a spool, in chunks of some thousand. For each chunk
   the sums before it and the least and most in it stay in memory, about 70 bytes for a thousand
   changes, so that a range of any length is read by decoding the chunks at its borders. */
#ifndef KYMO_HEAPLOG_H
#define KYMO_HEAPLOG_H

#include <kymo/heap.h>

#include "buffer.h"
#include "jsonout.h"
#include "spool.h"

/* What is followed: the sum of everything that counts, each category, and resident memory. */
enum {
    KYMO__HEAPLOG_TOTAL = 0,
    KYMO__HEAPLOG_CATEGORY = 1, /* the first of KYMO_HEAP_CATEGORIES */
    KYMO__HEAPLOG_RESIDENT = 1 + KYMO_HEAP_CATEGORIES,
    KYMO__HEAPLOG_SERIES,
};

struct kymo_heaplog_chunk {
    kymo_ns first, last;                   /* times of its first and last change */
    uint64_t offset;                       /* in the spool */
    uint64_t before[KYMO__HEAPLOG_SERIES]; /* values before its first change */
    uint64_t least[KYMO__HEAPLOG_SERIES];  /* of the values between two times in it */
    uint64_t most[KYMO__HEAPLOG_SERIES];   /* after any of its changes */
    kymo_ns most_at[KYMO__HEAPLOG_SERIES];
};

struct kymo_heaplog {
    kymo_ns origin; /* times are nanoseconds since */
    bool arenas_count;
    bool used[KYMO__HEAPLOG_SERIES]; /* was it ever more than 0? */
    uint64_t changes;
    uint64_t end[KYMO__HEAPLOG_SERIES]; /* values after the last change */
    struct kymo_heaplog_chunk *chunks;
    size_t count, capacity;
    struct kymo_spool spool;
};

/* Make the log of CAPTURE with times since ORIGIN. STOP, which may be NULL, is called now and then with
   ARG; a negative result ends it. Returns 0 or a negative code; the caller frees *LOG. */
int kymo__heaplog_new(struct kymo_capture *capture, kymo_ns origin, int (*stop)(void *arg),
                      void *arg, struct kymo_heaplog **log);
void kymo__heaplog_free(struct kymo_heaplog *log);

/* A word for SERIES: "total", that of the category, "resident". */
const char *kymo__heaplog_word(unsigned series);

/* What happened in a piece of time. A value counts for `least` if it lasted; for `most` also if it did
   not. */
struct kymo_heaplog_piece {
    uint64_t start[KYMO__HEAPLOG_SERIES], end[KYMO__HEAPLOG_SERIES]; /* values there */
    uint64_t least[KYMO__HEAPLOG_SERIES], most[KYMO__HEAPLOG_SERIES];
    kymo_ns most_at[KYMO__HEAPLOG_SERIES]; /* when it first was the most */
    bool changed;                          /* there was a change from the start on */
};

/* Describe COUNT pieces of STEP nanoseconds each, from FROM on. Returns 0 or a negative code. Any
   thread. */
int kymo__heaplog_pieces(const struct kymo_heaplog *log, kymo_ns from, kymo_ns step, size_t count,
                         struct kymo_heaplog_piece *pieces);

/* How memory was recorded and what it was from FROM to TO: members of an object. LOG is that of
   CAPTURE, or NULL if that has no memory. Returns 0 or a negative code. */
int kymo__heaplog_shown(const struct kymo_heaplog *log, const struct kymo_capture *capture,
                        kymo_ns from, kymo_ns to, struct kymo_jsonout *json);

/* A tile: 512 pieces of 2^LEVEL nanoseconds, INDEX tiles after the origin. All numbers are
   little-endian:

       u32   version, 1
       u32   number of series, S: those that were ever more than 0
       u32   number of columns in which something changed, N
       u32   0
       f64   where the tile starts, in nanoseconds
       f64   its length in nanoseconds
       S u32 series
       N u32 column
       (u32 0, if S + N is odd)
       S f64 value where the tile starts
       for each series: N f64 least, N f64 most, N f64 value at the end of the column

   Appends it to OUT. Returns 0, -EINVAL if there is no such place, or another negative code. */
enum { KYMO__HEAPLOG_LEVELS = 48, KYMO__HEAPLOG_BITS = 9 };
int kymo__heaplog_tile(const struct kymo_heaplog *log, unsigned level, uint64_t index,
                       struct kymo_buffer *out);

#endif
