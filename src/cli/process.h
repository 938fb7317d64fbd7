/* process.h — runs another program for a short answer. */
#ifndef KYMO_CLI_PROCESS_H
#define KYMO_CLI_PROCESS_H

struct cli_process {
    int status;        /* its exit code; -1 when it did not exit by itself */
    char output[8192]; /* the beginning of its stdout */
    char reason[256];  /* for a status other than 0: the last line of its stderr, or
                          what else became of it */
};

/* Run ARGV (its first is a path, its last NULL) without stdin and wait, ten seconds
   at most. */
void kymo__cli_process_run(const char *const *argv, struct cli_process *process);

#endif
