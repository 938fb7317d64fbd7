/* opahead.h — the operators of a capture, read ahead of what is done with them.

   Reading takes about as long as writing a file does, so each has a thread. */
#ifndef KYMO_OPAHEAD_H
#define KYMO_OPAHEAD_H

#include "operators.h"

/* As kymo__operators_read, except that VISITOR is called on another thread, and not for links. By
   the time this returns, it has been called for everything. */
int kymo__operators_read_ahead(struct kymo_capture *capture,
                               const struct kymo_export_options *options,
                               const struct kymo_ops_visitor *visitor);

#endif
