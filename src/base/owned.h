/* owned.h — keep a file open in a program that may close any descriptor.

   Daemons close every descriptor they do not know, and what they open next gets the same numbers.
   So before each use the descriptor is compared with its file, by device and inode. Its number is
   high, out of the way of programs that close only low ones or rely on getting them. */
#ifndef KYMO_OWNED_H
#define KYMO_OWNED_H

#include <stdbool.h>
#include <stdint.h>

struct kymo_owned {
    int fd; /* -1: none */
    uint64_t device, inode;
};

/* Move descriptor FD to a high number. Returns the one to use from now on, which may be FD
   itself. */
int kymo__fd_raise(int fd);

/* Own FD, which was just opened: move it up and remember its identity. Returns 0, or a negative
   errno with FD closed. */
int kymo__owned_init(struct kymo_owned *owned, int fd);

/* Does the descriptor still refer to the same file? */
bool kymo__owned_is(const struct kymo_owned *owned);

/* The program has closed the descriptor: reopen PATH, if that is the same file. Any thread. Returns 0
   or a negative errno. */
int kymo__owned_reopen(struct kymo_owned *owned, const char *path);

/* Close it, unless it belongs to another file by now. */
void kymo__owned_close(struct kymo_owned *owned);

#endif
