/* encode.h — records into the two columns of a block. */
#ifndef KYMO_ENCODE_H
#define KYMO_ENCODE_H

#include "format.h"

/* Open enters are remembered this deep; deeper ones get their key with the leave. */
#define KYMO__ENCODE_DEPTH 512

struct kymo_encoder {
    uint8_t *tokens, *times; /* where to write; the caller's, with room for the worst */
    uint64_t last;           /* tick of the record before */
    uint64_t first_ticks, last_ticks;
    uint32_t records; /* values belong to the record before and do not count */
    uint64_t depth;   /* of open, counting also what is beyond it */
    uint32_t open[KYMO__ENCODE_DEPTH];
};

void kymo__encode_begin(struct kymo_encoder *e, uint8_t *tokens, uint8_t *times);

/* Append COUNT records. */
void kymo__encode(struct kymo_encoder *e, const struct kymo_record *records, size_t count);

/* How many of COUNT records are events; the others are values of these. */
uint32_t kymo__count_events(const struct kymo_record *records, size_t count);

/* How many records of CHUNK are finished: all before the first with a zero word. */
size_t kymo__chunk_count(const struct kymo_chunk *chunk);

#endif
