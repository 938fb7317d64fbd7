/* rewrite_payloads.h — copy payloads into another capture: schemas are defined there on first use,
   and fields that refer to keys, stacks or ids are translated. */
#ifndef KYMO_REWRITE_PAYLOADS_H
#define KYMO_REWRITE_PAYLOADS_H

#include "calls.h"
#include "rewrite_stacks.h"

/* State for copying one part. */
struct kymo_payload_copy {
    const struct kymo_reader *reader;
    struct kymo_writer *writer;
    struct kymo_stack_copy *stacks;
    uint32_t *number_of;     /* by the part's schema: its number in the result, 0 if none yet */
    struct kymo_buffer copy; /* the payload as written to the result */
    /* Translate one of the part's keys, and a task's or other id, to the result. */
    uint32_t (*key)(void *arg, uint32_t key);
    uint64_t (*id)(void *arg, uint64_t id);
    void *arg;
};

/* Set up; reader, writer, stacks, key, id and arg in COPY are already set. Returns 0 or -ENOMEM;
   call fini in either case. */
int kymo__payload_copy_init(struct kymo_payload_copy *copy);
void kymo__payload_copy_fini(struct kymo_payload_copy *copy);

/* Write the LEN bytes of a payload, whose schema is KEY of the part, for the last event of THREAD
   in the result. An unreadable payload is left out. */
void kymo__payload_copy(struct kymo_payload_copy *copy, uint32_t thread, uint32_t key,
                        const uint8_t *bytes, size_t len);

#endif
