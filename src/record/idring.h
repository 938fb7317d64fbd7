/* idring.h — pass numbers from many threads to one, in memory of a fixed size.

   Giving takes no lock, never waits and is allowed in signal handlers. A cell's turn says who
   owns it. A place is a round, which is a multiple of the size, plus a cell: the giver owns the
   cell while its turn equals the round, and the taker while it is one more. A ring of zero bytes
   is empty. */
#ifndef KYMO_IDRING_H
#define KYMO_IDRING_H

#include <stdbool.h>
#include <stdint.h>

#include "atomic.h"

#define KYMO__IDRING_SIZE 16384u /* a power of two */

struct kymo_idring {
    uint32_t given, taken; /* places, modulo 2^32 */
    struct kymo_idring_cell {
        uint32_t turn, id;
    } cells[KYMO__IDRING_SIZE];
};

static inline uint32_t kymo__idring_round(uint32_t place)
{
    return place & ~(KYMO__IDRING_SIZE - 1);
}

/* False when it is full. */
static inline bool kymo__idring_give(struct kymo_idring *ring, uint32_t id)
{
    uint32_t place = kymo__load_relaxed(&ring->given);
    for (;;) {
        struct kymo_idring_cell *cell = &ring->cells[place % KYMO__IDRING_SIZE];
        int32_t ahead = (int32_t)(kymo__load_acquire(&cell->turn) - kymo__idring_round(place));
        if (ahead < 0)
            return false;
        if (ahead > 0) {
            place = kymo__load_relaxed(&ring->given); /* another thread was faster */
        } else if (kymo__swap_if(&ring->given, &place, place + 1)) {
            kymo__store_relaxed(&cell->id, id);
            kymo__store_release(&cell->turn, kymo__idring_round(place) + 1);
            return true;
        }
    }
}

/* Take the next one into *ID; false when there is none, or it is not complete yet. One thread. */
static inline bool kymo__idring_take(struct kymo_idring *ring, uint32_t *id)
{
    uint32_t place = ring->taken;
    struct kymo_idring_cell *cell = &ring->cells[place % KYMO__IDRING_SIZE];
    if (kymo__load_acquire(&cell->turn) != kymo__idring_round(place) + 1)
        return false;
    *id = kymo__load_relaxed(&cell->id);
    kymo__store_release(&cell->turn, kymo__idring_round(place) + KYMO__IDRING_SIZE);
    kymo__store_relaxed(&ring->taken, place + 1);
    return true;
}

static inline bool kymo__idring_empty(const struct kymo_idring *ring)
{
    return kymo__load_relaxed(&ring->given) == kymo__load_relaxed(&ring->taken);
}

static inline bool kymo__idring_half_full(const struct kymo_idring *ring)
{
    return kymo__load_relaxed(&ring->given) - kymo__load_relaxed(&ring->taken) >
           KYMO__IDRING_SIZE / 2;
}

#endif
