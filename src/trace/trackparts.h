/* trackparts.h — split a chunk of tracks into parts, one per track. */
#ifndef KYMO_TRACKPARTS_H
#define KYMO_TRACKPARTS_H

#include "block.h"

/* A TRACK record, an event and its value. */
#define KYMO__TRACK_PARTS_MOST (KYMO__CHUNK_RECORDS / 3)

/* Split the LENGTH records at RECORDS, without the first PASSED, into PARTS, which has room for
   KYMO__TRACK_PARTS_MOST: each is a sequence of events of one track. Events already written, or
   that belong to no track, are left out. Returns how many. */
size_t kymo__track_parts(const struct kymo_record *records, size_t length, size_t passed,
                         struct kymo_track_part *parts);

/* Sort PARTS by track, and within a track by `before`. */
void kymo__track_parts_sort(struct kymo_track_part *parts, size_t count);

/* How many of COUNT sorted PARTS, from the first on, form one block. */
size_t kymo__track_parts_together(const struct kymo_track_part *parts, size_t count);

#endif
