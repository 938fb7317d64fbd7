/* handover.h — verbs that live in Python: `kymograph VERB ...` becomes
   `PYTHON -m kymograph VERB ...` in the same process, so that streams, signals and exit
   code are the Python program's own.

   The Python is, first found first taken: PATH of `kymograph --python PATH`, KYMO_PYTHON,
   python or python3 beside this program, python3 in PATH. */
#ifndef KYMO_CLI_HANDOVER_H
#define KYMO_CLI_HANDOVER_H

struct cli_python {
    char path[4096];
    const char *origin; /* where the choice came from, for people */
};

/* Choose a Python; WANTED is that of --python or NULL. Returns 0, or CLI_BAD after
   filling COMPLAINT. The Python is not run. */
int kymo__cli_python_choose(const char *wanted, struct cli_python *python, char *complaint,
                            unsigned long size);

/* Run VERB with ARGUMENTS, which end with NULL, in Python. Returns only when that
   fails: CLI_BAD after a complaint. */
int kymo__cli_hand_over(const char *verb, const char *wanted, const char *const *arguments);

#endif
