/* gzip.h — a gzip file made of parts that several cores can deflate.

   Each part is deflated independently and ends on a byte boundary, so that the parts together form
   one stream that any gzip reader understands. Concatenated gzip files would be valid too, but some
   readers stop after the first. */
#ifndef KYMO_GZIP_H
#define KYMO_GZIP_H

#include "buffer.h"

/* Deflates parts, for one thread at a time; NULL if memory is short. */
struct kymo_deflater;
struct kymo_deflater *kymo__deflater_new(void);
void kymo__deflater_free(struct kymo_deflater *deflater);

/* A part of a file, with what the trailer needs to know. */
struct kymo_gzip_part {
    struct kymo_buffer deflated;
    size_t length; /* uncompressed */
    uint32_t crc;
};

/* Deflate LEN bytes into PART, which may be reused. Returns 0 or -ENOMEM. */
int kymo__gzip_part(struct kymo_deflater *deflater, const void *bytes, size_t len,
                    struct kymo_gzip_part *part);

/* All parts of a file so far. */
struct kymo_gzip {
    uint64_t length;
    uint32_t crc;
};

/* Account for PART as the next one in FILE. */
void kymo__gzip_add(struct kymo_gzip *file, const struct kymo_gzip_part *part);

enum { KYMO__GZIP_HEAD = 10, KYMO__GZIP_TAIL = 10 };

/* The header of a gzip file, and the trailer of FILE. */
extern const uint8_t kymo__gzip_head[KYMO__GZIP_HEAD];
void kymo__gzip_tail(const struct kymo_gzip *file, uint8_t tail[KYMO__GZIP_TAIL]);

#endif
