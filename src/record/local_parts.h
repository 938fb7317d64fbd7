/* local_parts.h — what local.c and lane.c, the two halves of a recording thread, share. */
#ifndef KYMO_LOCAL_PARTS_H
#define KYMO_LOCAL_PARTS_H

#include <kymo/lane.h>

struct kymo_laneset;
struct kymo_local;

/* The value of `next` while there is no chunk: not NULL, and without room. */
extern struct kymo_record kymo__nowhere;

/* Events dropped on threads that have no local to count them in. */
extern uint64_t kymo__unplaced;

/* lane.c: define LOCAL's thread TID in the capture, if nobody has yet. The first caller does it. */
void kymo__local_introduce(struct kymo_laneset *lanes, struct kymo_local *local, uint32_t tid);

/* Hand LOCAL's chunk over to be written; release its gap slot. */
void kymo__local_part(struct kymo_laneset *lanes, struct kymo_local *local);
void kymo__local_gap_return(struct kymo_laneset *lanes, struct kymo_local *local);

/* local.c: a claimed local for the calling thread, which has none: one that another thread
   created for it, or a new one. NULL, counted in kymo__unplaced, when memory is short or the
   thread has already cleaned up and is about to end. */
struct kymo_local *kymo__local_mine(void);

/* The local that another thread keeps for thread TID, created if there is none; NULL when the
   thread has its own or memory is short. */
struct kymo_local *kymo__local_orphan(uint32_t tid);

/* From now on the calling thread cleans up LOCAL, its own, when it ends. If that cannot be
   arranged, another thread does. Do not hold the registry's lock: the lane may be claimed, and
   kymo_stop holds that lock while it waits for claims. */
void kymo__local_adopt(struct kymo_local *local);

#endif
