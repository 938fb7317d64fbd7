/* pprof.h — export a capture as a pprof profile. docs/formats/pprof.md describes the mapping. */
#ifndef KYMO_PPROF_H
#define KYMO_PPROF_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Returns 0 or a negative code. */
int kymo__pprof_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                      struct kymo_outfile *out);

#endif
