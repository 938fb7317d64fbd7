/* scan.h — find the blocks of a capture file, with or without its index. */
#ifndef KYMO_SCAN_H
#define KYMO_SCAN_H

#include "reader.h"

/* Takes each block found; a negative result stops the scan and is returned. */
typedef int kymo_found_fn(void *arg, uint64_t offset, const struct kymo_block_header *header);

/* Report every block in the index. Returns 0, -ENOENT if there is no usable index (nothing was
   reported then), or a negative errno. Fills *FOOTER. */
int kymo__scan_index(struct kymo_reader *reader, struct kymo_footer *footer, kymo_found_fn *found,
                     void *arg);

/* Report every complete block from *OFFSET on by walking the file. Where there is none, search for
   the next and add the bytes between to reader->damaged_bytes. *OFFSET is set to the end of the
   last one. */
int kymo__scan_blocks(struct kymo_reader *reader, uint64_t *offset, kymo_found_fn *found,
                      void *arg);

/* Read the header of the block at OFFSET. Returns 1, 0 if there is no complete block, or a negative
   errno. */
int kymo__scan_header(struct kymo_reader *reader, uint64_t offset,
                      struct kymo_block_header *header);

/* Read and decompress the payload of the block at OFFSET into OUT. Returns 0, KYMO_EBLOCK if it is
   damaged, or a negative errno. */
int kymo__scan_payload(struct kymo_reader *reader, uint64_t offset,
                       const struct kymo_block_header *header, struct kymo_buffer *out);

/* The same if HEADER has just been read from there, for a block of FD. */
int kymo__scan_stored(struct kymo_reader *reader, int fd, uint64_t offset,
                      const struct kymo_block_header *header, struct kymo_buffer *out);

/* The same for the column of tokens alone, whose checksum is not compared. */
int kymo__scan_tokens(struct kymo_reader *reader, uint64_t offset,
                      const struct kymo_block_header *header, struct kymo_buffer *out);

/* The same for a block of FD, which may be the index file. */
int kymo__scan_payload_from(struct kymo_reader *reader, int fd, uint64_t offset,
                            const struct kymo_block_header *header, struct kymo_buffer *out);

#endif
