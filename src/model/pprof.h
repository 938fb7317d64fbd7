/* pprof.h — a capture as a profile of pprof;
   docs/formats/pprof.md tells what becomes what. */
#ifndef KYMO_PPROF_H
#define KYMO_PPROF_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS choose to OUT. Returns 0 or a negative code. */
int kymo__pprof_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                      struct kymo_outfile *out);

#endif
