/* spare.h — a live file that processes of one family hand on.

   Creating a file, giving it pages and taking them away again is much of what a child costs that does
   nothing, and on ext4 without a journal creating one takes longer the more files were deleted in the
   last minutes. So a child that ends leaves its live file to the next one that begins: with its
   length and its pages, and nothing in it but zeros. */
#ifndef KYMO_SPARE_H
#define KYMO_SPARE_H

#include <stdbool.h>

#include "live.h"

/* Give the spare file the name PATH, which is not taken, and open it. It has BYTES bytes, all zero.
   Returns the descriptor; -1 if there is none, or if PATH is not in the folder of a family,
   NAME.kymo.d. */
int kymo__spare_take(const char *path, uint64_t bytes);

/* Nobody needs the file of LIVE, which has BYTES bytes, any more: make it the spare one. False, with
   the file still there, if there is one already, if somebody is reading it, if more was recorded
   than is quickly cleared, or where kymo__spare_take would not look. */
bool kymo__spare_leave(struct kymo_live *live, uint64_t bytes);

#endif
