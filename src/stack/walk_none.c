/* walk_none.c — see walk.h: for architectures whose stacks we cannot walk. */
#include "walk.h"

#include "walker.h"

bool kymo__walk(struct kymo_walk *walk, unsigned skip)
{
    (void)walk, (void)skip;
    return false;
}

bool kymo__walk_context(struct kymo_walk *walk, const void *context)
{
    (void)walk, (void)context;
    return false;
}

size_t kymo__walk_words(struct kymo_walker *own, uint64_t frame, struct kymo_reread_word *words,
                        size_t most)
{
    (void)own, (void)frame, (void)words, (void)most;
    return 0;
}
