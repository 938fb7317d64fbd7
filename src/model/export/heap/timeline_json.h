/* timeline_json.h — export memory over time as JSON. docs/formats/timeline.md describes it. */
#ifndef KYMO_TIMELINE_JSON_H
#define KYMO_TIMELINE_JSON_H

#include "export.h"

/* Write the part of CAPTURE that OPTIONS select to OUT. Returns 0 or a negative code, -ENODATA if
   it has no memory events. */
int kymo__timeline_json_write(struct kymo_capture *capture,
                              const struct kymo_export_options *options, struct kymo_outfile *out);

#endif
