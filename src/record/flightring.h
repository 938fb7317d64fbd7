/* flightring.h — the ring of the flight recorder (flight.h), and what expires. Everything is called
   with the flight recorder's lock held.

   The ring holds blocks in the same form as the file, oldest first. A block is never split: one
   that does not fit before the ring's end goes to its beginning. */
#ifndef KYMO_FLIGHTRING_H
#define KYMO_FLIGHTRING_H

#include "flight.h"

struct kymo_chunk;
struct kymo_gap_slot;

/* Add a block; the oldest ones expire to make room. */
void kymo__flight_push(struct kymo_flight *flight, const struct kymo_packed *packed);

/* The oldest block. There must be one. */
static inline const struct kymo_block_header *kymo__flight_oldest(const struct kymo_flight *flight)
{
    return (const void *)(flight->ring + flight->head);
}

/* Remove the oldest block; the second form counts its records as expired. */
void kymo__flight_pop(struct kymo_flight *flight);
void kymo__flight_expire_front(struct kymo_flight *flight);

/* Skip the records of CHUNK before END that are too old. Returns how many have been skipped in
   all. */
size_t kymo__flight_pass_old(struct kymo_flight *flight, struct kymo_chunk *chunk, size_t end);

/* Everything before this tick was too old at tick AT, or when the session ended if that was before;
   0 while nothing is. NOW tells the clock's rate. */
uint64_t kymo__flight_oldest_tick(const struct kymo_flight *flight, const struct kymo_snapshot *now,
                                  uint64_t at);

/* Record what SLOT counts as a gap, and clear it. Returns 0 or a negative errno. */
int kymo__flight_record_expired(struct kymo_flight *flight, struct kymo_gap_slot *slot);

#endif
