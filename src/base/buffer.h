/* buffer.h — bytes that grow at their end. */
#ifndef KYMO_BUFFER_H
#define KYMO_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kymo_buffer {
    uint8_t *bytes;
    size_t len, capacity;
};

/* Make room for MORE bytes after len, which there is not. */
int kymo__buffer_grow(struct kymo_buffer *buffer, size_t more);

/* All-zero is an empty buffer. Make room for MORE bytes after len: 0 or -ENOMEM. */
static inline int kymo__buffer_reserve(struct kymo_buffer *buffer, size_t more)
{
    return buffer->capacity - buffer->len >= more ? 0 : kymo__buffer_grow(buffer, more);
}

static inline int kymo__buffer_add(struct kymo_buffer *buffer, const void *bytes, size_t len)
{
    int rc = kymo__buffer_reserve(buffer, len);
    if (rc < 0)
        return rc;
    if (len)
        memcpy(buffer->bytes + buffer->len, bytes, len);
    buffer->len += len;
    return 0;
}

int kymo__buffer_add_varint(struct kymo_buffer *buffer, uint64_t v);
void kymo__buffer_fini(struct kymo_buffer *buffer);

#endif
