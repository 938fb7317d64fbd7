/* readback.h — read a block of records back from the capture that is being written. */
#ifndef KYMO_READBACK_H
#define KYMO_READBACK_H

#include "decode.h"

struct kymo_unpacker;

/* All zero before its first use; then for any number of blocks. One thread at a time. */
struct kymo_readback {
    struct kymo_unpacker *unpacker;
    struct kymo_decoder *decoder;
    struct kymo_buffer stored, encoded;
    struct kymo_record *records; /* of the block read last */
    size_t count, capacity;
};

/* Read the block of HEADER at OFFSET of the file FD. 0 or negative code. */
int kymo__readback_block(struct kymo_readback *back, int fd, const struct kymo_block_header *header,
                         uint64_t offset);
void kymo__readback_fini(struct kymo_readback *back);

#endif
