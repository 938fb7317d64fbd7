/* callgrind.h — export a capture as a profile of Valgrind's callgrind. docs/formats/callgrind.md
   describes the mapping. */
#ifndef KYMO_CALLGRIND_H
#define KYMO_CALLGRIND_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Returns 0 or a negative code. */
int kymo__callgrind_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                          struct kymo_outfile *out);

#endif
