/* proto.h — write protocol buffers: append fields to a buffer. Does not read them.

   A nested message is opened, filled and closed; its length always takes four bytes, so that
   nothing has to move. After a failure all calls do nothing, and `error` is set. */
#ifndef KYMO_PROTO_H
#define KYMO_PROTO_H

#include "buffer.h"

enum {
    KYMO__PROTO_TEXT_MOST = 1 << 20, /* bytes of a text; longer ones are cut */
    KYMO__PROTO_LENGTH = 4,          /* bytes of the length of a message or text */
};

struct kymo_proto {
    struct kymo_buffer *out; /* the caller's */
    int error;               /* 0 or -ENOMEM */
};

void kymo__proto_uint(struct kymo_proto *proto, unsigned field, uint64_t value);
void kymo__proto_fixed64(struct kymo_proto *proto, unsigned field, uint64_t value);
void kymo__proto_double(struct kymo_proto *proto, unsigned field, double value);
void kymo__proto_bytes(struct kymo_proto *proto, unsigned field, const void *bytes, size_t len);

/* Write TEXT as valid UTF-8, with U+FFFD for invalid bytes. */
void kymo__proto_text(struct kymo_proto *proto, unsigned field, const char *text);

/* The same for LEN bytes, fewer than KYMO__PROTO_TEXT_MOST, that are ASCII. */
void kymo__proto_ascii(struct kymo_proto *proto, unsigned field, const char *text, size_t len);

/* Open a nested message. Pass the result to kymo__proto_close. */
size_t kymo__proto_open(struct kymo_proto *proto, unsigned field);
void kymo__proto_close(struct kymo_proto *proto, size_t opened);

/* Close what was opened in the same way and filled with a text, without zero bytes: it becomes what
   kymo__proto_text would have written. */
void kymo__proto_close_text(struct kymo_proto *proto, size_t opened);

#endif
