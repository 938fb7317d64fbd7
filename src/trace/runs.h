/* runs.h — make the runs of a reader from the blocks of its file; for reader.c and rescue.c. */
#ifndef KYMO_RUNS_H
#define KYMO_RUNS_H

#include "reader.h"

/* Register the block of records HEADER at OFFSET. Returns 0 or -ENOMEM. */
int kymo__runs_take(struct kymo_reader *reader, uint64_t offset,
                    const struct kymo_block_header *header);

/* Sort the runs by thread and number, drop duplicates, and assign each thread its own. */
void kymo__runs_arrange(struct kymo_reader *reader);

/* Free what RUN owns. */
void kymo__run_fini(struct kymo_run *run);

#endif
