/* spare.h — a live file that processes of one family hand on.

   Creating a file on ext4 takes longer the more files were deleted in the last seconds, because it
   does not use their inodes again so soon; and whoever frees its space may have to wait for the disk
   to discard it. A program that forks all the time would wait for that most of all. So a child that
   ends leaves its live file, filled with zeros and its space reserved, to the next one that begins.
   Where the file system cannot fill it with zeros in one step, as tmpfs, nothing is handed on: there
   is nothing to gain. */
#ifndef KYMO_SPARE_H
#define KYMO_SPARE_H

#include <stdbool.h>

#include "owned.h"

/* Give the spare file the name PATH, which is not taken, and open it. Returns the descriptor; -1 if
   there is none, or if PATH is not in the folder of a family, NAME.kymo.d. */
int kymo__spare_take(const char *path);

/* Nobody needs FILE, the live file at PATH, any more: make it the spare one. False, with the file
   still at PATH, if there is one already, if somebody is reading it, if it is large, or where
   kymo__spare_take would not look. */
bool kymo__spare_leave(const struct kymo_owned *file, const char *path);

#endif
