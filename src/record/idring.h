/* idring.h — numbers on their way from many threads to one, in memory of a fixed size.

   Giving takes no lock, never waits and may be done by signal handlers. A cell's turn says
   whose it is: that of a giver when it equals the place, that of the taker when it is one
   more; it then goes round by the size. */
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

static inline void kymo__idring_init(struct kymo_idring *ring)
{
    for (uint32_t i = 0; i < KYMO__IDRING_SIZE; i++)
        ring->cells[i].turn = i;
}

/* False when it is full. */
static inline bool kymo__idring_give(struct kymo_idring *ring, uint32_t id)
{
    uint32_t place = kymo__load_relaxed(&ring->given);
    for (;;) {
        struct kymo_idring_cell *cell = &ring->cells[place % KYMO__IDRING_SIZE];
        int32_t ahead = (int32_t)(kymo__load_acquire(&cell->turn) - place);
        if (ahead < 0)
            return false;
        if (ahead > 0) {
            place = kymo__load_relaxed(&ring->given); /* somebody else was quicker */
        } else if (kymo__swap_if(&ring->given, &place, place + 1)) {
            kymo__store_relaxed(&cell->id, id);
            kymo__store_release(&cell->turn, place + 1);
            return true;
        }
    }
}

/* The next one into *ID; false when there is none, or it is not quite there. One thread. */
static inline bool kymo__idring_take(struct kymo_idring *ring, uint32_t *id)
{
    uint32_t place = ring->taken;
    struct kymo_idring_cell *cell = &ring->cells[place % KYMO__IDRING_SIZE];
    if (kymo__load_acquire(&cell->turn) != place + 1)
        return false;
    *id = kymo__load_relaxed(&cell->id);
    kymo__store_release(&cell->turn, place + KYMO__IDRING_SIZE);
    kymo__store_relaxed(&ring->taken, place + 1);
    return true;
}

static inline bool kymo__idring_half_full(const struct kymo_idring *ring)
{
    return kymo__load_relaxed(&ring->given) - kymo__load_relaxed(&ring->taken) >
           KYMO__IDRING_SIZE / 2;
}

#endif
