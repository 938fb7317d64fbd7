/* spare.h — a live file that processes of one family hand on.

   Creating a file on ext4 without a journal takes longer the more files were deleted in the last
   minutes, because it does not use their inodes again so soon. A program that forks all the time
   would suffer from that most of all. So a child that ends leaves its live file, emptied, to the next
   one that begins. */
#ifndef KYMO_SPARE_H
#define KYMO_SPARE_H

#include <stdbool.h>

#include "owned.h"

/* Give the spare file the name PATH, which is not taken, and open it. Returns the descriptor; -1 if
   there is none, or if PATH is not in the folder of a family, NAME.kymo.d. */
int kymo__spare_take(const char *path);

/* Nobody needs FILE, the live file at PATH, any more: make it the spare one. False, with the file
   still at PATH, if there is one already, if somebody is reading it, or where kymo__spare_take would
   not look. */
bool kymo__spare_leave(const struct kymo_owned *file, const char *path);

#endif
