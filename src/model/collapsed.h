/* collapsed.h — a capture as collapsed stacks, a line for each call path;
   docs/formats/collapsed.md tells what becomes what. */
#ifndef KYMO_COLLAPSED_H
#define KYMO_COLLAPSED_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS choose to OUT. Returns 0 or a negative code. */
int kymo__collapsed_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                          struct kymo_outfile *out);

#endif
