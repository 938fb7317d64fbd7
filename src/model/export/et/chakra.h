/* chakra.h — export operators as Chakra's own protocol buffers, ready for simulators: what Chakra's
   linker and converter make of PyTorch's two files. docs/formats/chakra.md describes it. */
#ifndef KYMO_CHAKRA_H
#define KYMO_CHAKRA_H

#include "export.h"

/* Write the operators that OPTIONS select from CAPTURE to OUT. Returns 0 or a negative code. */
int kymo__chakra_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                       struct kymo_outfile *out);

#endif
