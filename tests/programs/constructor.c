/* constructor.c — a library that, while it is loaded, gets blocks through another library and frees
   most of them itself. */
#include <stddef.h>
#include <stdlib.h>

#include "allocations.h"

extern void *constructor_kept;
void *constructor_kept;

__attribute__((constructor)) static void begin(void)
{
    for (int i = 0; i < 5; i++)
        free(allocations_one(7001));
    constructor_kept = allocations_one(7013);
}
