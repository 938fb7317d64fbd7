/* chrome.h — export a capture as Chrome trace JSON, in the dialect of PyTorch's profiler.
   docs/formats/chrome.md describes the mapping. */
#ifndef KYMO_CHROME_H
#define KYMO_CHROME_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Events of different threads are mixed;
   those of one thread come in the order in which they ended. Returns 0 or a negative code. */
int kymo__chrome_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                       struct kymo_outfile *out);

#endif
