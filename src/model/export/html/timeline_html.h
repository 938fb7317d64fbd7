/* timeline_html.h — the page of the timeline with its data inside, for a file that needs no server.
   docs/internals/viewer.md describes the data. */
#ifndef KYMO_SHOWN_HTML_H
#define KYMO_SHOWN_HTML_H

#include "outfile.h"
#include "shown.h"

enum { KYMO__PAGE_BYTES = 20 << 20 }; /* unless another limit is given */

/* Write a page of COUNT CAPTURES to OUT, in about BYTES at most. *SHORTEST becomes the length from
   which on every call is in it, 0 if all are; shorter ones are shown only together. Returns 0 or a
   negative code. */
int kymo__timeline_html_write(struct kymo_outfile *out, const struct kymo_shown_capture *captures,
                              unsigned count, uint64_t bytes, kymo_ns *shortest);

#endif
