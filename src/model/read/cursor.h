/* cursor.h — a cursor (kymo/read.h) for readers of our own that go through all events. */
#ifndef KYMO_CURSOR_H
#define KYMO_CURSOR_H

#include "capture.h"
#include "values.h"

/* Like kymo_cursor_next, but lend the event until the next call instead of copying it. If it is a
   payload, *PLACES tells where its fields are, or is NULL. */
int kymo__cursor_lend(struct kymo_cursor *cursor, const struct kymo_event **event,
                      const struct kymo_places **places);

#endif
