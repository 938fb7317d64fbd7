/* lanes.h — tracks for events that may overlap: each gets the first on which it fits.

   Finished events of a device belong to a thread that recorded them but do not nest with
   its calls, nor with one another. */
#ifndef KYMO_LANES_H
#define KYMO_LANES_H

#include <kymo/kymo.h>

enum { KYMO__LANES_MOST = 32 };

struct kymo_lanes {
    kymo_ns ends[KYMO__LANES_MOST]; /* when the last event on each ends */
    unsigned count;
};

/* The lane for an event from START to END, known from now on when *ADDED. When all are
   taken the last one has to do. */
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
