/* buffer.c — see buffer.h. */
#include "buffer.h"

#include <errno.h>

#include "alloc.h"
#include "varint.h"

int kymo__buffer_grow(struct kymo_buffer *buffer, size_t more)
{
    size_t wanted = buffer->capacity * 2;
    if (wanted < buffer->len + more)
        wanted = buffer->len + more;
    uint8_t *grown = kymo__realloc(buffer->bytes, wanted);
    if (!grown)
        return -ENOMEM;
    buffer->bytes = grown;
    buffer->capacity = wanted;
    return 0;
}

int kymo__buffer_add_varint(struct kymo_buffer *buffer, uint64_t v)
{
    uint8_t bytes[KYMO__VARINT_MAX];
    return kymo__buffer_add(buffer, bytes, (size_t)(kymo__varint_put(bytes, v) - bytes));
}

void kymo__buffer_fini(struct kymo_buffer *buffer)
{
    kymo__free(buffer->bytes);
    *buffer = (struct kymo_buffer){0};
}
