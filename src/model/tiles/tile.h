/* tile.h — a tile: what one thread did in one piece of time, in about as much detail as a screen has
   columns. For a viewer.

   A tile of level L has 512 columns of 2^L nanoseconds; tile I starts at I times that, counted from
   the start of the capture. A tile never changes: the same place always gives the same bytes, as
   long as the capture has not grown.

   Where there is much in it, a tile is made from the summaries (picture.h), else from the calls; see
   tilerows.h for what its parts are. All numbers are little-endian:

       u32   version, 1
       u32   bits: 1 from summaries, at least in part; 2 there are calls too deep for it
       u32   number of parts, N
       u32   shift: times of parts are in units of 2^shift nanoseconds
       f64   where the tile starts, in nanoseconds since the start of the capture
       f64   its length in nanoseconds
       N u32 start, since the start of the tile
       N u32 length
       N u32 busy
       N u32 name, a callable
       N u32 count
       N u32 number, the low half
       N u16 depth
       N u8  flags, enum kymo_tile_flag
       N u8  number, the next eight bits

   Parts are in order of depth, and of time within a depth. */
#ifndef KYMO_TILE_H
#define KYMO_TILE_H

#include "buffer.h"
#include "callables.h"

enum {
    KYMO__TILE_VERSION = 1,
    KYMO__TILE_BITS = 9,        /* 512 columns */
    KYMO__TILE_LEVELS = 48,     /* levels are less than this */
    KYMO__TILE_HEADER = 32,     /* bytes */
    KYMO__TILE_PART = 28,       /* bytes of each part */
    KYMO__TILE_EVENTS = 300000, /* a tile with more is made from summaries */
    KYMO__TILE_FROM_SUMMARIES = 1,
    KYMO__TILE_DEEPER = 2,
};

struct kymo_tile_place {
    uint32_t thread;
    unsigned level; /* less than KYMO__TILE_LEVELS */
    uint64_t index;
    kymo_ns origin;  /* the start of the capture */
    uint64_t events; /* KYMO__TILE_EVENTS, unless a test wants otherwise */
    bool full;       /* every call is a part of its own, however short */
    /* Called now and then with ARG; a negative result ends the making. May be NULL. */
    int (*stop)(void *arg);
    void *stop_arg;
};

/* Where the tile begins and ends. Returns 0, or -EINVAL if there is no such place. */
int kymo__tile_span(const struct kymo_tile_place *place, kymo_ns *from, kymo_ns *to);

/* Append the tile at PLACE of CAPTURE to OUT. Returns 0, -EINVAL if there is no such place,
   -ECANCELED if place->stop wanted that, or another negative code. */
int kymo__tile_make(struct kymo_capture *capture, const struct kymo_callables *callables,
                    const struct kymo_tile_place *place, struct kymo_buffer *out);

/* Append the tile at PLACE with the parts in ROWS to OUT; BITS as above. Returns 0 or a negative
   code. */
struct kymo_tile_rows;
int kymo__tile_write(const struct kymo_tile_rows *rows, const struct kymo_tile_place *place,
                     unsigned bits, struct kymo_buffer *out);

#endif
