/* checkpoint.h — the encoded state of a nest: which calls are open where a block starts.

   Numbers are varints, in this order:

       1 if a state follows; 0 if there is none, and nothing follows
       calls begun so far
       gaps of the thread that came before
       frames below which events went missing (nest->doubtful)
       the greatest tick so far
       number of frames, and for each, outermost first:
           key
           enter detail | flags << 8 | has an id << 16 | number of arguments << 17
           ticks since the start of the previous frame
           calls begun since the previous frame
           id, if it has one
           arguments: key << 2 | kind (0 a number, 1 a text, 2 a payload), then the
           value, or the length of the payload and its bytes

   There is no state where it cannot be cut: between an event and its arguments, and while calls
   that were open after a pause are being reported again. */
#ifndef KYMO_CHECKPOINT_H
#define KYMO_CHECKPOINT_H

#include "buffer.h"
#include "nest.h"

/* Append the state of NEST, whose times are ticks, with GAPS gaps before it. Returns 0 or
   -ENOMEM. */
int kymo__checkpoint_put(struct kymo_buffer *out, const struct kymo_nest *nest, uint64_t gaps);

/* Append "no state". */
int kymo__checkpoint_none(struct kymo_buffer *out);

/* Read the state at *AT, up to END, into a new NEST and advance *AT. Returns 1, 0 if there is none,
   KYMO_EBLOCK or -ENOMEM. */
int kymo__checkpoint_get(const uint8_t **at, const uint8_t *end, struct kymo_nest *nest,
                         uint64_t *gaps);

#endif
