/* gzip.c — see gzip.h. */
#include "gzip.h"

#include <errno.h>
#include <zlib.h>

#include "alloc.h"

enum {
    LEVEL = 2,
    WINDOW_RAW = -15, /* no header and trailer; the file as a whole has them */
    MEMORY = 9,
    FLUSHED = 64, /* bytes that ending a part may add to the bound */
};

struct kymo_deflater {
    z_stream z;
};

struct kymo_deflater *kymo__deflater_new(void)
{
    struct kymo_deflater *d = kymo__alloc_zeroed(sizeof(*d));
    if (d &&
        deflateInit2(&d->z, LEVEL, Z_DEFLATED, WINDOW_RAW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
        kymo__free(d);
        d = NULL;
    }
    return d;
}

void kymo__deflater_free(struct kymo_deflater *deflater)
{
    if (deflater)
        deflateEnd(&deflater->z);
    kymo__free(deflater);
}

int kymo__gzip_part(struct kymo_deflater *deflater, const void *bytes, size_t len,
                    struct kymo_gzip_part *part)
{
    z_stream *z = &deflater->z;
    part->deflated.len = 0;
    part->length = len;
    part->crc = (uint32_t)crc32_z(0, bytes, len);
    deflateReset(z);
    size_t most = deflateBound(z, len) + FLUSHED;
    if (kymo__buffer_reserve(&part->deflated, most) < 0)
        return -ENOMEM;
    z->next_in = (uint8_t *)(uintptr_t)bytes;
    z->avail_in = (uInt)len;
    z->next_out = part->deflated.bytes;
    z->avail_out = (uInt)most;
    deflate(z, Z_SYNC_FLUSH);
    part->deflated.len = most - z->avail_out;
    return 0;
}

void kymo__gzip_add(struct kymo_gzip *file, const struct kymo_gzip_part *part)
{
    file->crc = (uint32_t)crc32_combine(file->crc, part->crc, (z_off_t)part->length);
    file->length += part->length;
}

/* Deflate, no name, no time, Unix. */
const uint8_t kymo__gzip_head[KYMO__GZIP_HEAD] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

void kymo__gzip_tail(const struct kymo_gzip *file, uint8_t tail[KYMO__GZIP_TAIL])
{
    tail[0] = 3; /* an empty last block */
    tail[1] = 0;
    for (int i = 0; i < 4; i++) {
        tail[2 + i] = (uint8_t)(file->crc >> 8 * i);
        tail[6 + i] = (uint8_t)(file->length >> 8 * i);
    }
}
