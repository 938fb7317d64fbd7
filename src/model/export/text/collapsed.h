/* collapsed.h — export a capture as collapsed stacks, one line per call path.
   docs/formats/collapsed.md describes the mapping. */
#ifndef KYMO_COLLAPSED_H
#define KYMO_COLLAPSED_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Returns 0 or a negative code. */
int kymo__collapsed_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                          struct kymo_outfile *out);

#endif
