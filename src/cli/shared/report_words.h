/* report_words.h — text that reports share: headings, shares, places, paths. */
#ifndef KYMO_CLI_REPORT_WORDS_H
#define KYMO_CLI_REPORT_WORDS_H

#include <stdio.h>

#include "callables.h"
#include "tree.h"
#include "units.h"

enum { CLI_INDENT = 2, CLI_LABEL = 10 };

/* Print the label of a line of the summary, and the title of a section. */
void kymo__cli_label(const char *name);
void kymo__cli_heading(const char *title);

/* Print a line that says how the recording of the capture at PATH ended. */
struct kymo_info;
void kymo__cli_print_ending(const char *path, const struct kymo_info *info);

/* How long CAPTURE was recorded: until the session stopped or, if that is unknown, until its last
   record. */
struct kymo_capture;
kymo_ns kymo__cli_lasted(struct kymo_capture *capture, const struct kymo_info *info);

/* PART as a share of WHOLE. */
struct cli_text kymo__cli_percent(kymo_ns part, kymo_ns whole);

/* Below a table of at most MOST rows: print how many of COUNT are not shown. */
void kymo__cli_left_out(size_t count, size_t most);

/* Print a note below a table or tree of WHAT, "Time" or "Memory", in which libraries are folded. */
void kymo__cli_print_folded(const char *what);

/* Print TEXT as the rest of a line from column USED; it loses its beginning to fit the terminal. */
void kymo__cli_print_rest_end(const char *text, int used);

/* Where CALLABLE is defined, shortened; free the result. */
char *kymo__cli_where(const struct kymo_callable *callable);

/* Print the path down to NODE: its start, its end, and a count of what is between. */
void kymo__cli_put_path(FILE *out, const struct kymo_tree *tree,
                        const struct kymo_callable *callables, uint32_t node);

#endif
