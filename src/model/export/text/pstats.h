/* pstats.h — export a capture as profiler statistics for Python's pstats module.
   docs/formats/pstats.md describes the mapping. */
#ifndef KYMO_PSTATS_H
#define KYMO_PSTATS_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Returns 0 or a negative code. */
int kymo__pstats_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                       struct kymo_outfile *out);

#endif
