/* decode.h — the two columns of a block back into records, one at a time. */
#ifndef KYMO_DECODE_H
#define KYMO_DECODE_H

#include "encode.h"

struct kymo_decoder {
    const uint8_t *tokens, *tokens_end, *times, *times_end;
    uint64_t last;
    uint64_t depth;
    uint32_t open[KYMO__ENCODE_DEPTH];
};

/* Begin at the columns of an encoded payload. */
void kymo__decode_begin(struct kymo_decoder *d, const uint8_t *encoded, size_t token_bytes,
                        size_t encoded_bytes);

/* Up to MOST records into RECORDS. Returns how many, 0 at the end, or
   -KYMO_EBLOCK when the bytes make no sense. */
int kymo__decode(struct kymo_decoder *d, struct kymo_record *records, size_t most);

#endif
