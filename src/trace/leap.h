/* leap.h — pass over plain enters and leaves of a block without making records of them.

   To know which calls are open where a window begins, a reader goes through the records before it,
   from the last checkpoint on: up to a whole block for each thread. Most are plain enters and
   leaves that cancel out. */
#ifndef KYMO_LEAP_H
#define KYMO_LEAP_H

#include "decode.h"

/* All zero before the first use; kept by the caller for as long as the decoder. */
struct kymo_leap {
    uint64_t entered; /* enters of the thread so far; the caller sets it before a leap */
    /* The result of the last leap: */
    uint64_t low;  /* the calls above this depth of decoder->open have ended */
    bool left;     /* the last record was a leave; its key is still at decoder->open[depth] */
    uint64_t from; /* `entered` before it */
    uint64_t numbers[KYMO__ENCODE_DEPTH]; /* by depth: which enter it was; those above `from` began
                                             in this leap */
};

/* Pass up to MOST records with ticks below LIMIT; stops before any that is not plain. The last
   record that the decoder handed out must have been used. Returns how many. */
size_t kymo__leap(struct kymo_leap *leap, struct kymo_decoder *decoder, uint64_t limit,
                  size_t most);

#endif
