/* terminal.h — what stdout is: how wide, and whether it takes colours. */
#ifndef KYMO_CLI_TERMINAL_H
#define KYMO_CLI_TERMINAL_H

/* The width of the terminal on stdout, or 0 when stdout is none: nothing that goes
   to a file or a program may be cut to fit. COLUMNS, when set, decides. */
int kymo__cli_terminal_width(void);

/* The width for running text: the terminal's within reason, else 80. */
int kymo__cli_text_width(void);

enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_CYAN };

/* The sequence that switches stdout to COLOUR: "" unless stdout is a terminal that
   takes colours and NO_COLOR is unset or empty. */
const char *kymo__cli_colour(enum cli_colour colour);

#endif
