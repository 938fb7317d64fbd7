/* et.h — export operators as an execution trace: JSON for Chakra's tools and for replay, in the
   schema of PyTorch's ExecutionTraceObserver. docs/formats/et.md describes it. */
#ifndef KYMO_ET_H
#define KYMO_ET_H

#include "export.h"

#define KYMO__ET_SCHEMA "1.1.1-chakra.0.0.4"
#define KYMO__ET_THREAD_NAME "[pytorch|profiler|execution_trace|thread]"

/* When the recording began, for people who read the file. */
enum { KYMO__ET_TIME = 32 };
void kymo__et_local_time(const struct kymo_info *info, char text[KYMO__ET_TIME]);

/* Write the operators that OPTIONS select from CAPTURE to OUT, children before their parents.
   Returns 0 or a negative code. */
int kymo__et_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                   struct kymo_outfile *out);

#endif
