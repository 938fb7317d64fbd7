/* et_text.h — the inputs or outputs of an operator as execution traces spell them: nested lists of
   values, shapes, strides and types.

   The JSON form has them as JSON. Chakra's protocol buffers have them as text, as Python prints
   such lists, because the converter that defines the format is written in Python. */
#ifndef KYMO_ET_TEXT_H
#define KYMO_ET_TEXT_H

#include "operators.h"

enum kymo_et_form { KYMO__ET_JSON, KYMO__ET_PYTHON };
enum kymo_et_list { KYMO__ET_VALUES, KYMO__ET_SHAPES, KYMO__ET_TYPES, KYMO__ET_STRIDES };

/* Append one of the four lists of VALUES. If STREAM is not NULL, it is a further value: an integer.
   Returns 0 or -ENOMEM. */
int kymo__et_add_list(struct kymo_buffer *b, const struct kymo_opdata *values,
                      enum kymo_et_list list, enum kymo_et_form form, const int64_t *stream);

/* Append LENGTH bytes of TEXT as a string with its quotes. */
int kymo__et_add_text(struct kymo_buffer *b, const char *text, size_t length,
                      enum kymo_et_form form);

/* The attribute of OP called NAME, or NULL. */
const struct kymo_opattribute *kymo__et_attribute(const struct kymo_opcall *op, const char *name);

/* The attribute of an operator with more values than the capture has, and which of them are not all
   there; NULL for others. */
#define KYMO__ET_CUT "incomplete"
const char *kymo__et_cut(const struct kymo_opcall *op);

/* If OP is a Triton kernel, store its stream in *STREAM and return true: it counts as an input. */
bool kymo__et_stream(const struct kymo_opcall *op, int64_t *stream);

#endif
