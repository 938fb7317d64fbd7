/* flame.h — a capture as a page of HTML with a flame graph;
   docs/formats/html.md tells what becomes what. */
#ifndef KYMO_FLAME_H
#define KYMO_FLAME_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS choose to OUT. Returns 0 or a negative code. */
int kymo__flame_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                      struct kymo_outfile *out);

#endif
