/* speedscope.h — export a capture as a speedscope file with every call at its time.
   docs/formats/speedscope.md describes the mapping. */
#ifndef KYMO_SPEEDSCOPE_H
#define KYMO_SPEEDSCOPE_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Returns 0 or a negative code. */
int kymo__speedscope_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                           struct kymo_outfile *out);

#endif
