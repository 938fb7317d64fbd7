/* perfetto.h — export a capture as a Perfetto trace: protocol buffers with a packet for each begin
   and end. docs/formats/perfetto.md describes the mapping. */
#ifndef KYMO_PERFETTO_H
#define KYMO_PERFETTO_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Packets are compressed in groups, unless
   OUT itself compresses or is not a regular file. Returns 0 or a negative code. */
int kymo__perfetto_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                         struct kymo_outfile *out);

#endif
