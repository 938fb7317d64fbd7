/* scan.h — finding the blocks of a capture file, by its index or without. */
#ifndef KYMO_SCAN_H
#define KYMO_SCAN_H

#include "reader.h"

/* Takes each block found; a negative return ends the scan with it. */
typedef int kymo_found_fn(void *arg, uint64_t offset, const struct kymo_block_header *header);

/* Report every block named by the index. Returns 0, -ENOENT when there is no usable
   index (nothing was reported then), or negative errno. Fills *FOOTER. */
int kymo__scan_index(struct kymo_reader *reader, struct kymo_footer *footer, kymo_found_fn *found,
                     void *arg);

/* Report every whole block from *OFFSET on, walking the file. Where there is none, search
   on for the next and count the bytes between into reader->damaged_bytes. *OFFSET ends up
   behind the last one. */
int kymo__scan_blocks(struct kymo_reader *reader, uint64_t *offset, kymo_found_fn *found,
                      void *arg);

/* Read the header of the block at OFFSET. Returns 1, 0 when there is no whole block, or
   negative errno. */
int kymo__scan_header(struct kymo_reader *reader, uint64_t offset,
                      struct kymo_block_header *header);

/* Read and decompress the payload of the block at OFFSET into OUT. Returns 0,
   -KYMO_EBLOCK when it is damaged, or negative errno. */
int kymo__scan_payload(struct kymo_reader *reader, uint64_t offset,
                       const struct kymo_block_header *header, struct kymo_buffer *out);

#endif
