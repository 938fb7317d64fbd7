/* capfile.h — the capture file of a session, shared by the threads that write blocks to it. */
#ifndef KYMO_CAPFILE_H
#define KYMO_CAPFILE_H

#include <pthread.h>

#include "block.h"
#include "sink.h"

struct kymo_live;

struct kymo_capfile {
    struct kymo_sink sink;
    pthread_mutex_t lock;   /* guards sink */
    struct kymo_live *live; /* its header says why the file cannot be written */
    uint32_t failing;       /* 1: the last write failed; only the writer thread tries again */
    int halted;             /* negative code: why recording has ended, or 0 */
    uint64_t written_records;
};

void kymo__capfile_init(struct kymo_capfile *file, struct kymo_live *live);
void kymo__capfile_fini(struct kymo_capfile *file);

/* Append a packed block; ARG is the capfile. 0 or negative errno. Any thread. */
int kymo__capfile_append(void *arg, const struct kymo_packed *packed);

/* The same; *OFFSET is set to the block's position in the file. */
int kymo__capfile_place(struct kymo_capfile *file, const struct kymo_packed *packed,
                        uint64_t *offset);

/* The same for a block of records, which are counted. */
int kymo__capfile_records(struct kymo_capfile *file, const struct kymo_packed *packed,
                          uint64_t *offset);

/* Complete the file; PACKER packs its index. 0 or negative errno. */
int kymo__capfile_finish(struct kymo_capfile *file, struct kymo_packer *packer);

/* Stop recording because of REASON, a negative code that kymo_stop will return: the file or the
   memory for records is gone. Any thread, under any lock. */
void kymo__capfile_halt(struct kymo_capfile *file, int reason);

#endif
