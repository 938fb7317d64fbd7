/* decode.h — decode the columns of a block into records, one at a time. */
#ifndef KYMO_DECODE_H
#define KYMO_DECODE_H

#include "encode.h"

struct kymo_decoder {
    const uint8_t *tokens, *tokens_end, *times, *times_end;
    uint64_t last;
    uint64_t depth;
    uint32_t open[KYMO__ENCODE_DEPTH];
    struct kymo_unvalues values;
    struct kymo_buffer payload; /* payload of the previous record; handed out from `payload_at`
                                   on */
    unsigned payload_at, payload_records, payload_number;
    bool apart;    /* payloads are not handed out; see kymo__decode_apart */
    bool bare;     /* those of notes are left out; see kymo__decode_bare */
    size_t passed; /* entries of `values` that belong to such notes */
    bool invalid;  /* the columns of notes are: nothing can be decoded */
};

/* Start decoding: the arguments are the lengths of the first and third column, and of all. The
   decoder must be all zero before its first use, and can be reused for further blocks. */
void kymo__decode_begin(struct kymo_decoder *d, const uint8_t *encoded, size_t token_bytes,
                        size_t value_bytes, size_t encoded_bytes);
void kymo__decode_fini(struct kymo_decoder *d);

/* The same for a block with HEADER: its LEN bytes are at ENCODED. */
void kymo__decode_block(struct kymo_decoder *d, const struct kymo_block_header *header,
                        const uint8_t *encoded, size_t len);

/* Decode up to MOST records into RECORDS. Returns how many, 0 at the end, KYMO_EBLOCK if the bytes
   are invalid, or -ENOMEM. */
int kymo__decode(struct kymo_decoder *d, struct kymo_record *records, size_t most);

/* The same for callers that need no payloads, or only the numbers in them, which is several times
   faster. If the last of the decoded records has a payload, and only the last can, the caller takes
   it with kymo__values_numbers from d->values before it goes on, or takes none at all. */
int kymo__decode_apart(struct kymo_decoder *d, struct kymo_record *records, size_t most);

/* The same for callers that need the payloads of calls alone: notes come without theirs. For all of
   a block. */
int kymo__decode_bare(struct kymo_decoder *d, struct kymo_record *records, size_t most);

#endif
