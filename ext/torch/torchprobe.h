/* torchprobe.h — looking at torch's records while it is not yet known how to read them.

   A *snapshot* is a copy of a record's memory and of what it points to, made with reads that the
   system checks, so that no guess can crash. kymograph/_torch/layout.py finds the layout in
   snapshots of records whose content it knows. An *observation* is what the reading of torchread.h
   makes of a record, for comparison with what is known. */
#ifndef KYMO_EXT_TORCHPROBE_H
#define KYMO_EXT_TORCHPROBE_H

#include "compat.h"

/* Take snapshots of this thread's records called NAME, or all if it is None; DEEP: with the objects
   that their inputs point to. torch_snapshots() ends that and returns them. */
PyObject *kymo__torch_watch(PyObject *module, PyObject *args);
PyObject *kymo__torch_snapshots(PyObject *module, PyObject *ignored);

/* Observe this thread's records; torch_observations() ends that and returns them. */
PyObject *kymo__torch_observe(PyObject *module, PyObject *ignored);
PyObject *kymo__torch_observations(PyObject *module, PyObject *ignored);

/* torch_read(address, size): the memory there as bytes, or None if it cannot be read. */
PyObject *kymo__torch_read(PyObject *module, PyObject *args);

#endif
