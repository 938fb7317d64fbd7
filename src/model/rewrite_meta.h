/* rewrite_meta.h — what captures say about themselves, of a capture made of several. */
#ifndef KYMO_REWRITE_META_H
#define KYMO_REWRITE_META_H

#include "rewrite.h"

struct kymo_writer;

/* Define KEY = VALUE. */
void kymo__rewrite_note(struct kymo_writer *writer, const char *key, const char *value);

/* The greatest period of which those of all parts' samples are multiples; 0 when none has any. */
kymo_ns kymo__rewrite_period(const struct kymo_part *parts, size_t count);

/* Define what COUNT parts say; PERIOD is that of samples in the result. 0 or -ENOMEM. */
int kymo__rewrite_metadata(struct kymo_writer *writer, const struct kymo_part *parts, size_t count,
                           kymo_ns period);

#endif
