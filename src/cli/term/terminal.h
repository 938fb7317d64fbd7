/* terminal.h — the width and colours of stdout. */
#ifndef KYMO_CLI_TERMINAL_H
#define KYMO_CLI_TERMINAL_H

/* The width of the terminal on stdout, or 0 when stdout is not a terminal: output to a file or
   program is never cut. COLUMNS, when set, overrides it. */
int kymo__cli_terminal_width(void);

/* The width for paragraphs: the terminal's, within limits, else 80. */
int kymo__cli_text_width(void);

enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_CYAN };

/* The sequence that switches stdout to COLOUR: "" unless stdout is a terminal with colours and
   NO_COLOR is unset or empty. */
const char *kymo__cli_colour(enum cli_colour colour);

#endif
