/* buffer.h — bytes that grow at their end. */
#ifndef KYMO_BUFFER_H
#define KYMO_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct kymo_buffer {
    uint8_t *bytes;
    size_t len, capacity;
};

/* All-zero is an empty buffer. Make room for MORE bytes after len: 0 or -ENOMEM. */
int kymo__buffer_reserve(struct kymo_buffer *buffer, size_t more);
int kymo__buffer_add(struct kymo_buffer *buffer, const void *bytes, size_t len);
int kymo__buffer_add_varint(struct kymo_buffer *buffer, uint64_t v);
void kymo__buffer_fini(struct kymo_buffer *buffer);

#endif
