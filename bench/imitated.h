/* imitated.h — a capture of a made-up program: random calls of a few hundred functions. */
#ifndef KYMO_IMITATED_H
#define KYMO_IMITATED_H

#include <kymo/lane.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { IMITATED_FUNCTIONS = 400 };

/* The program and where it is. */
static struct {
    unsigned spread; /* how many different calls a function makes: few, and it repeats itself */
    int deepest;
    long left; /* events to record */
    uint64_t state;
    uint32_t keys[IMITATED_FUNCTIONS];
} imitated;

static inline unsigned imitated_dice(void)
{
    imitated.state = imitated.state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(imitated.state >> 33);
}

static inline void imitated_record(unsigned kind, uint32_t key)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (!at)
        abort();
    kymo_lane_store(at, kymo_ticks(), kymo_word(kind, 0, key));
    kymo_lane_commit(lane, at + 1);
    imitated.left--;
}

static inline void imitated_call(unsigned which, int depth)
{
    uint32_t key = imitated.keys[which % IMITATED_FUNCTIONS];
    imitated_record(KYMO_ENTER, key);
    for (unsigned i = depth < imitated.deepest ? imitated_dice() % 5 : 0; i && imitated.left > 0;
         i--)
        imitated_call(which * imitated.spread + imitated_dice() % imitated.spread + 1, depth + 1);
    imitated_record(KYMO_LEAVE, key);
}

/* Record about EVENTS events to PATH. */
static inline void imitate(const char *path, long events, unsigned spread, int deepest)
{
    const struct kymo_options options = {.size = sizeof(options), .path = path};
    if (kymo_start(&options) < 0)
        abort();
    for (int i = 0; i < IMITATED_FUNCTIONS; i++) {
        char name[32], file[64];
        snprintf(name, sizeof(name), "Class%d.method_%d", i % 20, i);
        snprintf(file, sizeof(file), "/home/user/project/package/module_%d.py", i % 30);
        imitated.keys[i] = kymo_function_key(&(struct kymo_function){
            sizeof(struct kymo_function), name, file, (uint32_t)i + 1, KYMO_CLASS_FUNCTION});
    }
    imitated.spread = spread;
    imitated.deepest = deepest;
    imitated.state = 1;
    imitated.left = events;
    while (imitated.left > 0)
        imitated_call(imitated_dice() % 3, 0);
    if (kymo_stop() < 0)
        abort();
}

static inline double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
