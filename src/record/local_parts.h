/* local_parts.h — what local.c and lane.c, the two halves of a recording thread, need of each
   other. */
#ifndef KYMO_LOCAL_PARTS_H
#define KYMO_LOCAL_PARTS_H

#include "local.h"

/* What `next` is while there is no chunk: not NULL, and without room. */
extern struct kymo_record kymo__nowhere;

/* lane.c: tell the capture of LOCAL's thread TID, if that was not done. Whoever comes first does it. */
void kymo__local_introduce(struct kymo_session *s, struct kymo_local *local, uint32_t tid);

/* Give LOCAL's chunk away to be written; give its gap slot back. */
void kymo__local_part(struct kymo_session *s, struct kymo_local *local);
void kymo__local_gap_return(struct kymo_session *s, struct kymo_local *local);

/* local.c: a local for the calling thread, which has none: a new one, unless somebody began one.
   NULL when memory is short. */
struct kymo_local *kymo__local_mine(void);

/* What somebody else keeps for thread TID, made if there is none; NULL when the thread has its
   own or memory is short. */
struct kymo_local *kymo__local_orphan(uint32_t tid);

/* From now on the calling thread itself tidies LOCAL up, which is its own. Where that cannot
   be, somebody else will. Not under the registry's lock: the lane may be claimed, and
   kymo_stop waits for claims with that lock. */
void kymo__local_adopt(struct kymo_local *local);

#endif
