/* dictionary.h — a reader's view of the definitions: applying them one by one. */
#ifndef KYMO_DICTIONARY_H
#define KYMO_DICTIONARY_H

#include "reader.h"

/* Apply the definitions in LEN bytes. Definitions that make no sense are left out;
   the first that is not whole ends it. Returns 0 or -ENOMEM. */
int kymo__dictionary_apply(struct kymo_reader *reader, const uint8_t *bytes, size_t len);

/* Make sure thread INDEX is there, as one not defined. 0, -ENOMEM, or -KYMO_EBLOCK
   for an index no recorder would give. */
int kymo__dictionary_thread(struct kymo_reader *reader, uint64_t index);
void kymo__dictionary_fini(struct kymo_reader *reader);

#endif
