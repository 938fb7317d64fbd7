/* torchmemory.h — what torch allocates for tensors, as instants "[memory]".

   torch's allocators tell a reporter about every block. The calls of that reporter are intercepted
   (torchslots.h), so that nothing of torch's profiler is switched on. Devices other than the CPU
   report through another function, with totals of their own.

   A free is recorded if the block was allocated while recording was on; the bytes of others are not
   known. "Total Allocated" of the CPU counts these blocks only. */
#ifndef KYMO_EXT_TORCHMEMORY_H
#define KYMO_EXT_TORCHMEMORY_H

#include "compat.h"

/* torch_memory(on): begin or end; calls nest. Returns whether memory is recorded now, which takes a
   torch that is loaded and whose allocators report as expected. */
PyObject *kymo__torch_memory(PyObject *module, PyObject *flag);

/* In a forked child. */
void kymo__torch_memory_forked(void);

#endif
