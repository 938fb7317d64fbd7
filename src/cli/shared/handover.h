/* handover.h — runs verbs written in Python: `kymograph VERB ...` becomes `PYTHON -m kymograph
   VERB ...` in the same process, so that streams, signals and exit code are those of the Python
   program.

   The Python is the first of: PATH of `kymograph --python PATH`, KYMO_PYTHON, python or python3
   next to this program, python3 in PATH. */
#ifndef KYMO_CLI_HANDOVER_H
#define KYMO_CLI_HANDOVER_H

struct cli_python {
    char path[4096];
    const char *origin; /* where it was found, for messages */
};

/* Choose a Python; WANTED is the value of --python or NULL. Returns 0, or CLI_BAD after filling
   COMPLAINT. Does not run it. */
int kymo__cli_python_choose(const char *wanted, struct cli_python *python, char *complaint,
                            unsigned long size);

/* Run VERB with ARGUMENTS, which end with NULL, in Python. Returns only on failure: CLI_BAD, after
   printing a message. */
int kymo__cli_hand_over(const char *verb, const char *wanted, const char *const *arguments);

#endif
