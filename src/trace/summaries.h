/* summaries.h — find and read the summaries of a capture: its own, or those in the index file
   beside it (PATH.index), which `kymograph index` makes for captures without summaries.

   An index file is

       header               64 bytes, struct kymo_index_header
       summary blocks       as they would appear in the capture

   and is used only if it was made from this capture at its current length. */
#ifndef KYMO_SUMMARIES_H
#define KYMO_SUMMARIES_H

#include "cells.h"
#include "nest.h"
#include "reader.h"

#define KYMO__INDEX_MAGIC "\x89KYIX\r\n\x1a"

struct kymo_index_header {
    char magic[8];
    uint16_t major, minor; /* of the format */
    uint32_t header_bytes; /* 64 */
    uint8_t capture[16];   /* as in the capture's header */
    uint64_t file_bytes;   /* length of the capture */
    uint64_t live_records; /* number of records used from its live file */
    uint32_t blocks;       /* number of blocks that follow */
    uint8_t reserved[8];
    uint32_t crc; /* CRC-32C of the bytes before */
};
static_assert(sizeof(struct kymo_index_header) == 64, "an index header is 64 bytes");

/* Return the path of the index file for the capture PATH, which the caller frees, or NULL. */
char *kymo__index_path(const char *path);

/* Register the summary HEADER at OFFSET of the capture. Returns 0 or -ENOMEM. */
int kymo__summaries_take(struct kymo_reader *reader, uint64_t offset,
                         const struct kymo_block_header *header);

/* Once the runs are arranged: read the index file of PATH, if there is one, and match summaries
   with runs. Returns 0 or -ENOMEM. */
int kymo__summaries_arrange(struct kymo_reader *reader, const char *path);

/* Load the calls open at the start of SUMMARY, of thread THREAD, in ticks, into a new NEST. Returns
   1; 0 if it has none or cannot be trusted, because the recorder did not know of a gap; or a
   negative errno. */
int kymo__summary_state(struct kymo_reader *reader, const struct kymo_summary *summary,
                        uint32_t thread, struct kymo_nest *nest);

/* Load its cells into CELLS, as kymo__cells_get does; SCRATCH is for what is decompressed. Returns 0,
   KYMO_EBLOCK or a negative errno. */
int kymo__summary_cells(struct kymo_reader *reader, const struct kymo_summary *summary,
                        struct kymo_buffer *scratch, struct kymo_cells *cells);

#endif
