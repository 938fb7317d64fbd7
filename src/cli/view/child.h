/* child.h — runs this program again, for another verb, and reads what it prints.

   Some answers are what another verb prints. A process of their own keeps the memory they need out
   of the server, and can be ended at any time. */
#ifndef KYMO_CLI_CHILD_H
#define KYMO_CLI_CHILD_H

#include "buffer.h"
#include "view.h"

struct view_child {
    struct kymo_buffer output;
    char reason[512]; /* the last line it wrote to stderr */
    int status;       /* its exit code; -1 if it was ended */
    bool too_much;    /* it printed more than MOST */
    bool too_long;    /* it took longer than allowed */
};

/* Run `kymograph ARGV...` (NULL last) and read at most MOST bytes, for at most SECONDS; it is ended
   if there is more, or if VIEW stops. Returns 0 or a negative errno; fini in any case. */
int kymo__child_run(struct view *view, const char *const *argv, size_t most, int seconds,
                    struct view_child *child);
void kymo__child_fini(struct view_child *child);

#endif
