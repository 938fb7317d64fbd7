/* walk_none.c — see walk.h: for architectures whose stacks we cannot walk. */
#include "walk.h"

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
