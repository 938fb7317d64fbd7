/* rewrite_meta.h — metadata for a capture made of several. */
#ifndef KYMO_REWRITE_META_H
#define KYMO_REWRITE_META_H

#include "rewrite.h"

struct kymo_writer;

/* Define KEY = VALUE. */
void kymo__rewrite_note(struct kymo_writer *writer, const char *key, const char *value);

/* The greatest common divisor of all parts' sample periods; 0 if none has samples. */
kymo_ns kymo__rewrite_period(const struct kymo_part *parts, size_t count);

/* Define the metadata of COUNT parts; PERIOD is the sample period of the result. Returns 0 or
   -ENOMEM. */
int kymo__rewrite_metadata(struct kymo_writer *writer, const struct kymo_part *parts, size_t count,
                           kymo_ns period);

#endif
