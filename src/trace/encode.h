/* encode.h — encode records into the columns of a block. */
#ifndef KYMO_ENCODE_H
#define KYMO_ENCODE_H

#include "notes.h"
#include "values.h"

/* Open enters are tracked this deep; deeper ones repeat their key with the leave. */
#define KYMO__ENCODE_DEPTH 512

struct kymo_encoder {
    uint8_t *tokens, *times;  /* output, in the caller's memory, with room for the worst case */
    uint8_t *values;          /* the same, followed by KYMO__VALUES_SLACK bytes. NULL: payloads are
                                left out */
    struct kymo_notes *notes; /* for notes with their own columns; NULL: they have none */
    struct kymo_values *seen; /* for payloads */
    const struct kymo_plans *plans; /* the session's plans; NULL if none */
    struct kymo_buffer payload;     /* the payload being assembled */
    uint64_t last;                  /* tick of the previous record */
    uint64_t first_ticks, last_ticks;
    uint32_t records; /* events; values belong to the record before and do not count */
    uint64_t depth;   /* of open enters, including those beyond the limit */
    uint32_t open[KYMO__ENCODE_DEPTH];
};

/* Reset everything but `seen`, `plans` and `payload`, which persist between blocks. NOTES may be
   NULL. */
void kymo__encode_begin(struct kymo_encoder *e, uint8_t *tokens, uint8_t *times, uint8_t *values,
                        struct kymo_notes *notes);

/* Append COUNT records. */
void kymo__encode(struct kymo_encoder *e, const struct kymo_record *records, size_t count);

/* How many of COUNT records are events; the others are their values. */
uint32_t kymo__count_events(const struct kymo_record *records, size_t count);

/* How many records of CHUNK are finished: those before the first zero word. */
size_t kymo__chunk_count(const struct kymo_chunk *chunk);

#endif
