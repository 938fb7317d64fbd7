/* torchintegers.h — execution traces with the values of integers: tools that replay a trace need
   indices and lengths that are in range. For this alone the memory of tensors is read; it costs as
   much as a pass over each of them. */
#ifndef KYMO_EXT_TORCHINTEGERS_H
#define KYMO_EXT_TORCHINTEGERS_H

#include <kymo/op.h>
#include <stdbool.h>

#include "compat.h"
#include "torchread.h"

/* Note what was asked for about the integral tensors among COUNT inputs of OP, which has begun:
   least and greatest values as its attribute `tensor_range`, all values in files. TENSORS of its
   inputs were noted before. */
void kymo__torch_note_integers(const struct kymo__torch_layout *l, const char *name,
                               struct kymo_op op, const struct kymo_op_value *inputs, size_t count,
                               size_t tensors);

/* The process has forked: this is the child, which has no session. */
void kymo__torch_integers_forked(void);

/* torch_integers(ranges, names, directory): from now on note ranges if RANGES, and write the values
   of operators with one of NAMES into DIRECTORY, as files ID_INDEX. Nothing at all with False and
   (). Returns how many files could not be written since the last call. Raises NotImplementedError
   where it is not known where torch keeps the memory of tensors. */
PyObject *kymo__torch_integers(PyObject *module, PyObject *args);

#endif
