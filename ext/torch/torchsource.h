/* torchsource.h — the source "torch": operators of PyTorch, recorded as <kymo/op.h> has them. */
#ifndef KYMO_EXT_TORCHSOURCE_H
#define KYMO_EXT_TORCHSOURCE_H

#include "compat.h"

/* The source's part of kymo_options.source_options. */
struct kymo__torch_options {
    int mode; /* enum kymo__torch_mode; 0 as without options: full */
};

/* Register the source. Another interpreter of the process may have been first. */
void kymo__torch_register(void);

extern PyMethodDef kymo__torch_methods[];

/* torchannotate.c: torch_annotate(enter, exit) passes spans on to torch while others listen there,
   with its two functions; torch_others(flag) says that others do. */
PyObject *kymo__torch_annotate(PyObject *module, PyObject *args);
PyObject *kymo__torch_others_listen(PyObject *module, PyObject *flag);

#endif
