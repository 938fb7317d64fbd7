/* spool.h — bytes that are written once, one after the other, and read in pieces: in memory as long as
   they are few, then in a temporary file that has no name. */
#ifndef KYMO_SPOOL_H
#define KYMO_SPOOL_H

#include "buffer.h"

enum { KYMO__SPOOL_MEMORY = 8 << 20 }; /* bytes kept in memory at most */

struct kymo_spool {
    struct kymo_buffer memory; /* of all, or of those that are not in the file yet */
    uint64_t written;          /* bytes in the file */
    int fd;                    /* or -1 */
    size_t most;               /* bytes to keep in memory */
};

void kymo__spool_init(struct kymo_spool *spool);
void kymo__spool_fini(struct kymo_spool *spool);

/* Append LEN bytes. Returns 0 or a negative errno: the file is below $TMPDIR, else /tmp. */
int kymo__spool_add(struct kymo_spool *spool, const void *bytes, size_t len);

/* How many bytes there are. */
uint64_t kymo__spool_length(const struct kymo_spool *spool);

/* Read LEN bytes at OFFSET, which were added before. Several threads may read at once, if none adds.
   Returns 0, or a negative errno. */
int kymo__spool_read(const struct kymo_spool *spool, void *bytes, size_t len, uint64_t offset);

#endif
