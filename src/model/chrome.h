/* chrome.h — a capture as Chrome trace JSON, in the dialect that PyTorch's profiler writes;
   docs/formats/chrome.md tells what becomes what. */
#ifndef KYMO_CHROME_H
#define KYMO_CHROME_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS choose to OUT. Threads mix; the events of
   each come in the order in which they ended. Returns 0 or a negative code. */
int kymo__chrome_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                       struct kymo_outfile *out);

#endif
