/* flame.h — export a capture as an HTML page with a flame graph. docs/formats/html.md describes the
   mapping. */
#ifndef KYMO_FLAME_H
#define KYMO_FLAME_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Returns 0 or a negative code. */
int kymo__flame_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                      struct kymo_outfile *out);

#endif
