/* pstats.h — a capture as statistics of Python's profilers, for the module pstats;
   docs/formats/pstats.md tells what becomes what. */
#ifndef KYMO_PSTATS_H
#define KYMO_PSTATS_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS choose to OUT. Returns 0 or a negative code. */
int kymo__pstats_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                       struct kymo_outfile *out);

#endif
