/* pprof_parts.h — shared by the files of the pprof export: field numbers, and the message being
   built. The first failure is stored in `failed`; later calls are then harmless. */
#ifndef KYMO_PPROF_PARTS_H
#define KYMO_PPROF_PARTS_H

#include "buffer.h"
#include "gather.h"
#include "strtab.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    LABEL_NUM = 3,
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_FILE = 4,
    FUNCTION_LINE = 5,
};

struct kymo_pprof {
    struct kymo_gathered g;
    struct kymo_strtab strings;
    struct kymo_buffer message, inner, text;
    uint64_t word_thread, word_tid;
    bool *used; /* by callable; the last is for hidden calls. For samples: by location */
    int failed; /* the first allocation that failed */
};

/* Add a field to B: a number, which is not written if 0, or bytes. */
void kymo__pprof_varint(struct kymo_pprof *p, struct kymo_buffer *b, unsigned field,
                        uint64_t value);
void kymo__pprof_bytes(struct kymo_pprof *p, struct kymo_buffer *b, unsigned field,
                       const void *bytes, size_t len);

/* Write p->message as FIELD of the profile and start a new one; or write a number. */
void kymo__pprof_message(struct kymo_pprof *p, unsigned field);
void kymo__pprof_number(struct kymo_pprof *p, unsigned field, uint64_t value);

/* Return the number of TEXT; new texts are written to the table. */
uint64_t kymo__pprof_string(struct kymo_pprof *p, const char *text);
void kymo__pprof_type(struct kymo_pprof *p, unsigned field, uint64_t type, uint64_t unit);

/* Write the start: the TYPES of values, with the last as default, and the period in its unit; and
   mapping 1, for frames that have no code file. */
struct kymo_pprof_type {
    const char *type, *unit;
};
void kymo__pprof_head(struct kymo_pprof *p, const struct kymo_pprof_type *types, size_t count,
                      uint64_t period);

/* Write p->message, which holds locations and values, as a sample of THREAD. */
void kymo__pprof_sample(struct kymo_pprof *p, uint32_t thread);

/* Write p->g.samples. Returns 0 or a negative code. */
int kymo__pprof_samples(struct kymo_pprof *p);

/* Add the locations of the stack that ends in NODE to p->message. SHOWN: room for
   KYMO__SHOWN_MOST + 1. */
struct kymo_shown;
void kymo__pprof_locations(struct kymo_pprof *p, uint32_t node, struct kymo_shown *shown);

/* Write p->g.heap: blocks and bytes allocated and in use, by stack. Returns 0 or a negative code. */
int kymo__pprof_memory(struct kymo_pprof *p);

#endif
