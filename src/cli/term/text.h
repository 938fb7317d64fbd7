/* text.h — makes untrusted UTF-8 safe for a terminal.

   Names in captures and file names may contain anything: invalid bytes, newlines, escape
   sequences. None of these may reach a terminal unescaped. */
#ifndef KYMO_CLI_TEXT_H
#define KYMO_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How many bytes at the start of S need no escaping, on a terminal or in a JSON string. */
size_t kymo__cli_plain(const char *s);

/* Print S: control characters as \n, \t, \e or \x.., characters that change text direction as
   \u...., invalid bytes as U+FFFD. */
void kymo__cli_put_clean(FILE *out, const char *s);

/* The same as a string; free it with kymo__cli_free. */
char *kymo__cli_clean(const char *s);

/* How many terminal cells the cleaned text S takes. */
int kymo__cli_cells(const char *s);

/* The length in bytes of the longest prefix of S that fits in CELLS. */
int kymo__cli_fit(const char *s, int cells);

/* The longest suffix of S that fits in CELLS. */
const char *kymo__cli_fit_end(const char *s, int cells);

/* Print the cleaned TEXT and then, dimmed, PLACE, which may be "", in CELLS: the place loses its start
   or is left out, then the text loses its end. */
void kymo__cli_put_placed(const char *text, const char *place, int cells);

/* Print TEXT wrapped to WIDTH with INDENT spaces before every line; the first line starts at
   column START, already printed. "\n\n" starts a new paragraph. */
void kymo__cli_wrap(FILE *out, const char *text, int indent, int width, int start);

#endif
