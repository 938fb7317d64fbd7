/* print.h — numbers and names as text of a file that is being made.

   Names are whatever a program calls its functions: bytes that are not UTF-8 become U+FFFD,
   and each format has characters of its own that must not appear in a name. */
#ifndef KYMO_PRINT_H
#define KYMO_PRINT_H

#include "outfile.h"

void kymo__print(struct kymo_outfile *out, const char *text);
void kymo__print_uint(struct kymo_outfile *out, uint64_t value);
void kymo__print_int(struct kymo_outfile *out, int64_t value);

/* TEXT as a string of JSON with its quotes. It may stand inside a script element of HTML:
   neither <, >, & nor the line separators of JavaScript appear in it. */
void kymo__print_json(struct kymo_outfile *out, const char *text);

/* TEXT on one line: control characters and those in SPECIAL become \xNN or \uNNNN;
   "(unnamed)" when it is empty. */
void kymo__print_line(struct kymo_outfile *out, const char *text, const char *special);

#endif
