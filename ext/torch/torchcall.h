/* torchcall.h — functions that torch can call: one pair for each scope, so that the scope of a record
   is known without reading it. Each machine has a file of its own: torch's start callback returns an
   object in memory, and where that memory is differs. */
#ifndef KYMO_EXT_TORCHCALL_H
#define KYMO_EXT_TORCHCALL_H

#include "torchlib.h"

/* The pair for SCOPE, or NULL on a machine that we do not know. */
void *kymo__torch_starter(unsigned scope);
void *kymo__torch_ender(unsigned scope);

/* What they call: RECORD begins, or ends. Without the GIL, on any thread. */
void kymo__torch_starts(const void *record, unsigned scope);
void kymo__torch_ends(const void *record, unsigned scope);

#endif
