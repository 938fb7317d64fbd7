/* pprof_parts.h — what the files of the pprof export share: numbers of fields, and the message
   that is being put together. What fails is noted in `failed`, and what comes after does no
   harm. */
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
    bool *used; /* by callable; the last is for hidden calls. Of samples: by location */
    int failed; /* the first allocation that failed */
};

/* Add a field to B: a number, of which nothing is written when it is 0, or bytes. */
void kymo__pprof_varint(struct kymo_pprof *p, struct kymo_buffer *b, unsigned field,
                        uint64_t value);
void kymo__pprof_bytes(struct kymo_pprof *p, struct kymo_buffer *b, unsigned field,
                       const void *bytes, size_t len);

/* Write p->message as FIELD of the profile, and begin another; or a number. */
void kymo__pprof_message(struct kymo_pprof *p, unsigned field);
void kymo__pprof_number(struct kymo_pprof *p, unsigned field, uint64_t value);

/* The number of TEXT, which is written to the table when it is new. */
uint64_t kymo__pprof_string(struct kymo_pprof *p, const char *text);
void kymo__pprof_type(struct kymo_pprof *p, unsigned field, uint64_t type, uint64_t unit);

/* What comes first: what is COUNTED, what is TIMED and how far apart; and mapping 1, for what
   has no file of code. */
void kymo__pprof_head(struct kymo_pprof *p, const char *counted, const char *timed, kymo_ns period);

/* Write p->message, which has its locations and values, as a sample of THREAD. */
void kymo__pprof_sample(struct kymo_pprof *p, uint32_t thread);

/* Write p->g.samples. Returns 0 or a negative code. */
int kymo__pprof_samples(struct kymo_pprof *p);

#endif
