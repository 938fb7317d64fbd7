/* text.h — UTF-8 from anywhere, made fit for a terminal.

   Names in a capture and names of files hold what their makers put there: invalid
   bytes, newlines, escape sequences. Nothing of it reaches a terminal as it is. */
#ifndef KYMO_CLI_TEXT_H
#define KYMO_CLI_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* How many bytes at the beginning of S need no care at all, neither on a terminal nor
   in a string of JSON. */
size_t kymo__cli_plain(const char *s);

/* Print S: control characters as \n, \t, \e or \x.., characters that turn the
   direction of text as \u...., invalid bytes as U+FFFD. */
void kymo__cli_put_clean(FILE *out, const char *s);

/* The same as a string; free it with kymo__cli_free. */
char *kymo__cli_clean(const char *s);

/* How many cells S, clean, takes on a terminal. */
int kymo__cli_cells(const char *s);

/* The length in bytes of the longest beginning of S that fits CELLS. */
int kymo__cli_fit(const char *s, int cells);

/* Print TEXT wrapped to WIDTH with INDENT spaces before every line; the first line
   begins at column START, already written. "\n\n" begins a new paragraph. */
void kymo__cli_wrap(FILE *out, const char *text, int indent, int width, int start);

#endif
