/* report_words.h — pieces of text that reports share: headings, shares, places, paths. */
#ifndef KYMO_CLI_REPORT_WORDS_H
#define KYMO_CLI_REPORT_WORDS_H

#include <stdio.h>

#include "callables.h"
#include "tree.h"
#include "units.h"

enum { CLI_INDENT = 2, CLI_LABEL = 10 };

/* The first word of a line of the summary, and the title of a section. */
void kymo__cli_label(const char *name);
void kymo__cli_heading(const char *title);

/* The share of PART in WHOLE. */
struct cli_text kymo__cli_percent(kymo_ns part, kymo_ns whole);

/* Below a table of MOST rows at the most: how many of COUNT are not in it. */
void kymo__cli_left_out(size_t count, size_t most);

/* The rest of a line, TEXT, from column USED on: cut to fit a terminal. */
void kymo__cli_print_rest(const char *text, int used);

/* Where CALLABLE is defined, short; to be freed. */
char *kymo__cli_where(const struct kymo_callable *callable);

/* The path down to NODE: its beginning, its end, and a word for what is between. */
void kymo__cli_put_path(FILE *out, const struct kymo_tree *tree,
                        const struct kymo_callable *callables, uint32_t node);

#endif
