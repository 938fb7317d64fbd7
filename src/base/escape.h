/* escape.h — text as the inside of a JSON string: valid UTF-8, escaped. Bytes that are not UTF-8
   become U+FFFD; what a terminal or JavaScript would act upon becomes \uNNNN. */
#ifndef KYMO_ESCAPE_H
#define KYMO_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

enum { KYMO__ESCAPE_FORM = 8 };

/* Return the next piece of *TEXT, which must not be at its end, in escaped form and advance *TEXT:
   *LEN bytes, of the text itself or of FORM. With IN_SCRIPT the result is safe inside an HTML
   script element: it contains no <, > or &. */
const char *kymo__escape_json(const char **text, bool in_script, char form[KYMO__ESCAPE_FORM],
                              size_t *len);

#endif
