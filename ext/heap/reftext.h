/* reftext.h — text in a buffer of fixed size, always valid UTF-8, from Python strings too. */
#ifndef KYMO_EXT_REFTEXT_H
#define KYMO_EXT_REFTEXT_H

#include "compat.h"

struct kymo_reftext {
    char *text; /* ends with NUL */
    size_t size, used;
};

void kymo__reftext_put(struct kymo_reftext *out, const char *text);

/* The beginning of the str TEXT; control characters and quotes become '?'. */
void kymo__reftext_str(struct kymo_reftext *out, PyObject *text);

/* "[NUMBER]" */
void kymo__reftext_index(struct kymo_reftext *out, long number);

#endif
