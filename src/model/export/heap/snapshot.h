/* snapshot.h — export memory events as a PyTorch memory snapshot. docs/formats/snapshot.md describes
   the mapping. */
#ifndef KYMO_SNAPSHOT_H
#define KYMO_SNAPSHOT_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Returns 0 or a negative code, -ENODATA if
   it has no memory events. */
int kymo__snapshot_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                         struct kymo_outfile *out);

#endif
