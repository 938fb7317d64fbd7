/* verb.h — what a verb of the command is: one table entry.

   Everything the program says about a verb (help, completion, complaints about
   its options) is printed from its entry, so that it cannot lie. A verb is one
   file, verb_NAME.c, that defines one entry; verbs.c lists them. */
#ifndef KYMO_CLI_VERB_H
#define KYMO_CLI_VERB_H

#include <stdbool.h>

/* Exit codes of every verb. */
enum cli_exit {
    CLI_OK = 0,
    CLI_NO = 1,  /* the answer to the question asked is no */
    CLI_BAD = 2, /* bad usage, unreadable input, output that cannot be written */
};

enum { CLI_OPTIONS_MAX = 16, CLI_ANY = -1 };

struct cli_option {
    const char *name;     /* without its dashes */
    char letter;          /* the short form, or 0 */
    const char *argument; /* what stands for its value in the help; NULL for a switch */
    const char *help;
};

struct cli_example {
    const char *command;
    const char *purpose;
};

/* What a shell offers for the words of a verb. */
enum cli_operand {
    CLI_NOTHING = 0,
    CLI_FILES,   /* captures */
    CLI_SCRIPTS, /* programs, and whatever they take */
    CLI_FOLDERS,
    CLI_CHOICES, /* those of verb->choices */
    CLI_VERBS,
};

/* A command line taken apart; see options.h. */
struct cli_arguments {
    const char *value[CLI_OPTIONS_MAX]; /* by position in verb->options; NULL when not given */
    const char *const *words;           /* what is not an option */
    int count;                          /* of words */
    const char *python;                 /* of `kymograph --python PATH`, or NULL */
};

struct cli_verb {
    const char *name;
    const char *purpose;  /* one line, no full stop */
    const char *operands; /* as the usage line shows them: "FILE..." */
    int least, most;      /* how many words it takes; CLI_ANY for no limit */
    enum cli_operand operand;
    const char *const *choices;       /* ends with NULL */
    const char *details;              /* paragraphs for the help, parted by "\n\n" */
    const struct cli_option *options; /* ends with a NULL name; may be NULL */
    const struct cli_example *examples;
    const struct cli_example *next; /* what to do afterwards */
    const char *terms_title;        /* a table of the verb's own, below its options */
    const struct cli_example *(*terms)(void);
    bool hidden; /* works, but is not listed */
    bool python; /* lives in the Python package; see handover.h */
    int (*run)(const struct cli_verb *verb, const struct cli_arguments *arguments);
};

/* All verbs in the order in which the help lists them; ends with NULL. */
extern const struct cli_verb *const kymo__cli_verbs[];

/* The options that stand before the verb. */
extern const struct cli_option kymo__cli_global_options[];
enum { CLI_GLOBAL_HELP, CLI_GLOBAL_VERSION, CLI_GLOBAL_PYTHON };

/* The verb called NAME, hidden ones included, or NULL. */
const struct cli_verb *kymo__cli_verb_find(const char *name);

/* Complain that there is no verb NAME, with the nearest one. Returns CLI_BAD. */
int kymo__cli_verb_unknown(const char *name);

#endif
