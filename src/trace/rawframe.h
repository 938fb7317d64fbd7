/* rawframe.h — a zstd frame whose content is stored as it is. For contents so small that setting up
   zstd would cost more than it saves: the tables alone are dozens of pages. */
#ifndef KYMO_RAWFRAME_H
#define KYMO_RAWFRAME_H

#include <stddef.h>
#include <stdint.h>

enum {
    KYMO__RAWFRAME_MOST = 1024, /* bytes of content */
    KYMO__RAWFRAME_MORE = 14,   /* a frame is longer than its content by this at most */
};

/* Write the frame for the LEN bytes at CONTENT, with a content checksum, to OUT, which has room for
   KYMO__RAWFRAME_MORE bytes more. Returns its length. */
size_t kymo__rawframe(uint8_t *out, const void *content, size_t len);

#endif
