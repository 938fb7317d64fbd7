/* torchops.h — listening to torch: what happens when an operator begins and ends. */
#ifndef KYMO_EXT_TORCHOPS_H
#define KYMO_EXT_TORCHOPS_H

#include <stdbool.h>
#include <stdint.h>

/* How much of an operator is recorded. */
enum kymo__torch_mode {
    KYMO__TORCH_OFF = 0,
    KYMO__TORCH_NAMES = 1,  /* names, times and numbers */
    KYMO__TORCH_INPUTS = 2, /* and what went in */
    KYMO__TORCH_FULL = 3,   /* and what came out */
};

/* Listen in MODE from now on, or stop listening; as much of it as is possible: without a layout
   (torchread.h) only names. Returns the mode that is on. Any thread, one at a time. */
int kymo__torch_listen(int mode);

/* Does anybody but us listen to torch on this thread? Whoever begins to listen on all threads while we
   do is known only if kymo__torch_others_set says so. */
bool kymo__torch_others(void);
void kymo__torch_others_set(bool others);

/* Do we listen? */
bool kymo__torch_listens(void);

/* The process has forked: this is the child, which has no session. */
void kymo__torch_forked(void);

/* Operators that were not recorded, because too many were open on their thread. */
uint64_t kymo__torch_too_deep(void);

/* Probes look at the records of the thread that asks; see torchprobe.h. While one is on, that thread's
   operators are not recorded. */
struct kymo__torch_probe {
    void (*starts)(const void *record, unsigned scope);
    void (*ends)(const void *record, unsigned scope);
};

/* Install PROBE for this thread, or remove it with NULL. The first one makes torch pass everything it
   can; kymo__torch_probes_end stops that. Returns false if that is impossible: no torch, or
   operators are being recorded. */
bool kymo__torch_probe_this_thread(const struct kymo__torch_probe *probe);
void kymo__torch_probes_end(void);

#endif
