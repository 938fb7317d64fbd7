/* process.h — runs another program for a short answer. */
#ifndef KYMO_CLI_PROCESS_H
#define KYMO_CLI_PROCESS_H

struct cli_process {
    int status;        /* its exit code; -1 when it was killed */
    char output[8192]; /* the beginning of its stdout */
    char reason[256];  /* if status is not 0: the last line of its stderr, or how it ended */
};

/* Run ARGV (a path first, NULL last) without stdin and wait for at most ten seconds. */
void kymo__cli_process_run(const char *const *argv, struct cli_process *process);

#endif
