/* resident.h — how much memory the process uses: events "memory.resident", recorded by a thread of
   ours at regular intervals. The same thread takes the snapshots that were requested. */
#ifndef KYMO_RESIDENT_H
#define KYMO_RESIDENT_H

#include <kymo/types.h>

/* Record one now, on the calling thread. */
void kymo__resident_note(void);

/* Start the thread, which records every PERIOD, or only takes snapshots if that is negative; end
   it. 0 or a negative errno. */
int kymo__resident_start(kymo_ns period);
void kymo__resident_stop(void);

/* End the thread for a while, and start it again. What is asked for meanwhile is done then. */
void kymo__resident_rest(void);
void kymo__resident_work(void);

/* Ask the thread for a snapshot. Signal-safe. */
void kymo__resident_request(void);

/* In a forked child: there is no thread. */
void kymo__resident_forked(void);

#endif
