/* walk_agrees.c — a walk from here compared with the oracle's, for programs that cannot include
   that header: those in C++, and those linked statically. */
#include "oracle.h"

int walk_agrees(void);

int walk_agrees(void)
{
    static uint64_t pcs[ORACLE_FRAMES];
    return ORACLE_AGREES(pcs);
}
