/* player.h — a random program that does everything a recording may contain, on a tape. */
#ifndef KYMO_PLAYER_H
#define KYMO_PLAYER_H

#include <stdbool.h>

#include "random.h"
#include "tape.h"

/* Where a thread of the program stands. */
struct player {
    uint64_t seed, time;
    uint32_t keys[12]; /* the last four name spans */
    uint32_t open[80];
    unsigned depth, disorder;
    bool calm; /* no samples, and few arguments: nearly any event may begin a piece */
};

static inline void player_init(struct player *p, uint64_t seed, unsigned disorder)
{
    *p = (struct player){.seed = seed, .disorder = disorder};
    char name[2] = "a";
    for (int i = 0; i < 12; i++, name[0]++)
        p->keys[i] = i < 8 ? tape_function(name) : tape_span(name);
}

static inline uint64_t dice(struct player *p, uint64_t sides)
{
    return random_next(&p->seed) % sides;
}

/* One event, at times in an order that programs do not have. */
static inline void play(struct player *p)
{
    uint32_t key = p->keys[dice(p, 12)];
    uint64_t what = dice(p, 100);
    p->time += dice(p, 40);
    if (what < 40 && p->depth < 80) {
        p->open[p->depth++] = key;
        if (what < 6)
            tape_put_value(p->time, KYMO_ENTER, (what & 1) | KYMO_HAS_ID, key, dice(p, 50) + 1);
        else
            tape_enter(p->time, key);
    } else if (what < 84 && p->depth) {
        uint64_t skip = dice(p, 1000) < p->disorder ? dice(p, p->depth) : 0;
        uint32_t left = p->open[--p->depth];
        if (skip == 1)
            left = p->open[p->depth / 2]; /* a span that ends inside, or leaves that were lost */
        if (skip != 2)
            tape_put(p->time, KYMO_LEAVE, (unsigned)(what % 3), left);
    } else if (what < 92 && (!p->calm || dice(p, 10) == 0)) {
        tape_put_value(p->time, what & 1 ? KYMO_ARG : KYMO_ARG_TEXT, 0, key, p->time);
    } else if (what < 95 && !p->calm) {
        tape_put_value(p->time, KYMO_SAMPLE, 0, 0, (uint64_t)1 << 32 | 1);
    } else if (what < 98) {
        tape_put(p->time, KYMO_INSTANT, 0, key);
    } else if (dice(p, 300) < p->disorder) {
        tape_put_value(p->time, KYMO_RESYNC, 0, 0, tape_zero + p->time - dice(p, 60));
        for (unsigned i = 0; i < p->depth / 2; i++)
            tape_put(p->time, KYMO_ENTER, 3, p->open[i]);
        p->depth /= 2;
    }
}

static inline void play_on(struct player *p, unsigned events)
{
    for (unsigned i = 0; i < events; i++)
        play(p);
}

#endif
