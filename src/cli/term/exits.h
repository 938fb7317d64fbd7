/* exits.h — the exit codes of every verb. */
#ifndef KYMO_CLI_EXITS_H
#define KYMO_CLI_EXITS_H

enum cli_exit {
    CLI_OK = 0,
    CLI_NO = 1,  /* the answer to the question asked is no */
    CLI_BAD = 2, /* bad usage, unreadable input, output that cannot be written */
};

#endif
