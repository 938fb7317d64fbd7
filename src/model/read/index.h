/* index.h — build the index file of a capture: summaries for a capture that has none, because an
   older version recorded it, the process was killed, or it is a flight recording. */
#ifndef KYMO_INDEX_H
#define KYMO_INDEX_H

#include "capture.h"

struct kymo_index_result {
    uint64_t summaries; /* blocks in the index */
    uint64_t bytes;     /* size of the file */
};

/* Write the index of CAPTURE, opened from PATH, to PATH.index. It appears whole or not at all, and
   replaces an older one; a file there that is not an index is left alone. PROGRESS, which may be
   NULL, is called now and then with the events read and the total; a negative result stops the work
   and is returned. Returns 0, KYMO_EOCCUPIED, or a negative code. Captures opened afterwards use
   the index. */
int kymo__index_write(struct kymo_capture *capture, const char *path,
                      int (*progress)(void *arg, uint64_t done, uint64_t all), void *arg,
                      struct kymo_index_result *result);

#endif
