/* verb.h — a verb of the command: one table entry.

   Help, completion and messages about options are all generated from the entry, so they cannot
   disagree with it. A verb is one file, verb_NAME.c, that defines one entry; verbs.c lists
   them. */
#ifndef KYMO_CLI_VERB_H
#define KYMO_CLI_VERB_H

#include <stdbool.h>

#include "exits.h"

enum { CLI_OPTIONS_MAX = 24, CLI_ANY = -1 };

struct cli_option {
    const char *name;     /* without its dashes */
    char letter;          /* the short form, or 0 */
    const char *argument; /* the value's name in the help; NULL for a switch */
    const char *help;
};

/* Options that mean the same in several verbs. */
#define CLI_THREAD_OPTION                                                                          \
    {                                                                                              \
        "thread", 't', "THREAD",                                                                   \
            "only this thread: its index as in 'kymograph info', tid:N, or its name"               \
    }
#define CLI_PROCESS_OPTION                                                                         \
    {                                                                                              \
        "process", 'p', "PROCESS",                                                                 \
            "only this process: its pid, its index as in 'kymograph info', or its name"            \
    }
#define CLI_FROM_OPTION                                                                            \
    {                                                                                              \
        "from", 0, "TIME",                                                                         \
            "start at this time after the start of the capture: 1.5s, 200ms, 30us, 10ns"           \
    }

struct cli_example {
    const char *command;
    const char *purpose;
};

/* What shell completion offers for the operands of a verb. */
enum cli_operand {
    CLI_NOTHING = 0,
    CLI_FILES,   /* captures */
    CLI_SCRIPTS, /* any files: programs and their arguments, stack dumps */
    CLI_FOLDERS,
    CLI_CHOICES, /* the words in verb->choices */
    CLI_VERBS,
};

/* A parsed command line; see options.h. */
struct cli_arguments {
    const char *value[CLI_OPTIONS_MAX]; /* by position in verb->options; NULL when not given */
    const char *const *words;           /* arguments that are not options */
    int count;                          /* number of words */
    const char *python;                 /* PATH of `kymograph --python PATH`, or NULL */
};

struct cli_verb {
    const char *name;
    const char *purpose;  /* one line, no full stop */
    const char *operands; /* as the usage line shows them: "FILE..." */
    int least, most;      /* how many words it takes; CLI_ANY for no limit */
    enum cli_operand operand;
    const char *const *choices;       /* ends with NULL */
    const char *details;              /* paragraphs for the help, separated by "\n\n" */
    const struct cli_option *options; /* ends with a NULL name; may be NULL */
    const struct cli_example *examples;
    const struct cli_example *next; /* what to try next */
    /* The values an option accepts, ending with NULL; NULL when it accepts any. The function may
       be NULL. */
    const char *const *(*values)(const struct cli_option *option);
    const char *terms_title; /* an extra table in the help, below the options */
    const struct cli_example *(*terms)(void);
    bool hidden; /* works, but the help does not list it */
    bool python; /* written in Python; see handover.h */
    int (*run)(const struct cli_verb *verb, const struct cli_arguments *arguments);
};

/* All verbs, in the order of the help; ends with NULL. */
extern const struct cli_verb *const kymo__cli_verbs[];

/* The options before the verb. */
extern const struct cli_option kymo__cli_global_options[];
enum { CLI_GLOBAL_HELP, CLI_GLOBAL_VERSION, CLI_GLOBAL_PYTHON };

/* The verb called NAME, hidden ones included, or NULL. */
const struct cli_verb *kymo__cli_verb_find(const char *name);

/* Report that there is no verb NAME and suggest the nearest one. Returns CLI_BAD. */
int kymo__cli_verb_unknown(const char *name);

#endif
