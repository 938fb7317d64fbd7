/* lanes.h — tracks for events that may overlap: each event gets the first track it fits on.

   A device's finished events belong to the thread that recorded them, but do not nest with its
   calls or with each other. */
#ifndef KYMO_LANES_H
#define KYMO_LANES_H

#include <kymo/kymo.h>

enum { KYMO__LANES_MOST = 32 };

struct kymo_lanes {
    kymo_ns ends[KYMO__LANES_MOST]; /* when the last event on each lane ends */
    unsigned count;
};

/* Return the lane for an event from START to END; *ADDED says that the lane is new. If all are
   taken, the last one is used. */
static inline unsigned kymo__lane_for(struct kymo_lanes *lanes, kymo_ns start, kymo_ns end,
                                      bool *added)
{
    unsigned lane = 0;
    while (lane < lanes->count && lanes->ends[lane] > start)
        lane++;
    *added = lane == lanes->count && lane < KYMO__LANES_MOST;
    if (*added)
        lanes->count++;
    lane = lane < KYMO__LANES_MOST ? lane : KYMO__LANES_MOST - 1;
    lanes->ends[lane] = end > lanes->ends[lane] || *added ? end : lanes->ends[lane];
    return lane;
}

#endif
