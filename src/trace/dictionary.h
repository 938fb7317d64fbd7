/* dictionary.h — apply definitions to a reader, one by one. */
#ifndef KYMO_DICTIONARY_H
#define KYMO_DICTIONARY_H

#include "reader.h"

/* Apply the definitions in LEN bytes. Invalid ones are skipped; the first incomplete one ends it.
   Returns 0 or -ENOMEM. */
int kymo__dictionary_apply(struct kymo_reader *reader, const uint8_t *bytes, size_t len);

/* Make sure that thread INDEX exists, if only as undefined. Returns 0, -ENOMEM, or KYMO_EBLOCK for
   an index that no recorder would give. */
int kymo__dictionary_thread(struct kymo_reader *reader, uint64_t index);
void kymo__dictionary_fini(struct kymo_reader *reader);

#endif
