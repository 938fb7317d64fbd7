/* save.h — writes the page with its data inside: one file to send to somebody, without a server. */
#ifndef KYMO_CLI_SAVE_H
#define KYMO_CLI_SAVE_H

#include "time_part.h"
#include "view.h"

/* Write the timeline of VIEW to OUTPUT, in about BYTES at most: the coarse levels of everything and,
   as far as there is room, finer ones of PART. Prints what was left out. Returns an exit code. */
int kymo__view_save(struct view *view, const char *output, const struct cli_part *part,
                    uint64_t bytes);

#endif
