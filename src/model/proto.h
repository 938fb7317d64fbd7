/* proto.h — protocol buffers, written by hand: fields one after the other at the end of a
   buffer. Not for reading them.

   A message inside another is opened, filled and closed; its length takes four bytes
   whatever it is, so that nothing has to move. After a failure the rest does nothing, and
   `error` tells. */
#ifndef KYMO_PROTO_H
#define KYMO_PROTO_H

#include "buffer.h"

enum { KYMO__PROTO_TEXT_MOST = 1 << 20 }; /* bytes of a text; longer ones are cut */

struct kymo_proto {
    struct kymo_buffer *out; /* the caller's */
    int error;               /* 0 or -ENOMEM */
};

void kymo__proto_uint(struct kymo_proto *proto, unsigned field, uint64_t value);
void kymo__proto_fixed64(struct kymo_proto *proto, unsigned field, uint64_t value);
void kymo__proto_double(struct kymo_proto *proto, unsigned field, double value);
void kymo__proto_bytes(struct kymo_proto *proto, unsigned field, const void *bytes, size_t len);

/* TEXT as valid UTF-8: U+FFFD for what is not. */
void kymo__proto_text(struct kymo_proto *proto, unsigned field, const char *text);

/* A message begins; what is returned closes it. */
size_t kymo__proto_open(struct kymo_proto *proto, unsigned field);
void kymo__proto_close(struct kymo_proto *proto, size_t opened);

#endif
