/* torchslots.h — calls between torch's libraries, led to functions of ours.

   A call of another library's function goes through a relocation slot of the calling library, which
   holds the function's address. Changing the slot intercepts the call, and nothing else in the
   process sees a difference. */
#ifndef KYMO_EXT_TORCHSLOTS_H
#define KYMO_EXT_TORCHSLOTS_H

#include <stdbool.h>
#include <stddef.h>

struct kymo__torch_hook {
    const char *symbol; /* as the linker has it */
    void *ours;
    void *original; /* set by find; NULL: torch has no such function */
    unsigned slots; /* set by find: places from which it is called */
    bool abroad;    /* only calls from other libraries than the one that defines it */
};

/* Find what torch's libraries, as many as are loaded now, have of COUNT HOOKS. Returns the number of
   slots found. The caller keeps out other threads. */
size_t kymo__torch_slots_find(struct kymo__torch_hook *hooks, size_t count);

/* Lead every slot found to our function, or back. Returns how many could not be changed. */
size_t kymo__torch_slots_set(const struct kymo__torch_hook *hooks, bool ours);

#endif
