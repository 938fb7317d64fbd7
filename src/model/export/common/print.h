/* print.h — print numbers and names into an output file.

   Names can be anything that a program calls its functions: bytes that are not UTF-8 become U+FFFD,
   and each format has characters that must not appear in a name. */
#ifndef KYMO_PRINT_H
#define KYMO_PRINT_H

#include "outfile.h"

void kymo__print(struct kymo_outfile *out, const char *text);
void kymo__print_uint(struct kymo_outfile *out, uint64_t value);
void kymo__print_int(struct kymo_outfile *out, int64_t value);

/* Print TEXT as a JSON string with quotes. It is safe inside an HTML script element: it contains no
   <, >, & or JavaScript line separators. */
void kymo__print_json(struct kymo_outfile *out, const char *text);

/* Print TEXT on one line: control characters and those in SPECIAL become \xNN or \uNNNN; empty text
   becomes "(unnamed)". */
void kymo__print_line(struct kymo_outfile *out, const char *text, const char *special);

#endif
