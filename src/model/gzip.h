/* gzip.h — a gzip file of parts that several cores may deflate.

   Each part is deflated without regard to those before it and ends with a whole byte, so that
   parts one after the other are one stream, which any reader of gzip understands. Several
   complete files behind one another would be allowed too, but not all readers go on to the
   second. */
#ifndef KYMO_GZIP_H
#define KYMO_GZIP_H

#include "buffer.h"

/* What deflates parts, for one thread at a time; NULL when there is no memory. */
struct kymo_deflater;
struct kymo_deflater *kymo__deflater_new(void);
void kymo__deflater_free(struct kymo_deflater *deflater);

/* A part of a file, and what has to be known of it. */
struct kymo_gzip_part {
    struct kymo_buffer deflated;
    size_t length; /* before */
    uint32_t crc;
};

/* Make PART, which may have been used before, of LEN bytes. 0 or -ENOMEM. */
int kymo__gzip_part(struct kymo_deflater *deflater, const void *bytes, size_t len,
                    struct kymo_gzip_part *part);

/* All parts of a file so far. */
struct kymo_gzip {
    uint64_t length;
    uint32_t crc;
};

/* PART is the next one in FILE. */
void kymo__gzip_add(struct kymo_gzip *file, const struct kymo_gzip_part *part);

enum { KYMO__GZIP_HEAD = 10, KYMO__GZIP_TAIL = 10 };

/* What a file begins with, and what FILE ends with. */
extern const uint8_t kymo__gzip_head[KYMO__GZIP_HEAD];
void kymo__gzip_tail(const struct kymo_gzip *file, uint8_t tail[KYMO__GZIP_TAIL]);

#endif
