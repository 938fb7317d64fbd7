/* verbs.c — the list of verbs. A new verb is one file and one line here. */
#include "verb.h"

#include <string.h>
#include <unistd.h>

#include "message.h"
#include "nearest.h"

extern const struct cli_verb kymo__cli_verb_run;
extern const struct cli_verb kymo__cli_verb_info;
extern const struct cli_verb kymo__cli_verb_dump;
extern const struct cli_verb kymo__cli_verb_report;
extern const struct cli_verb kymo__cli_verb_view;
extern const struct cli_verb kymo__cli_verb_export;
extern const struct cli_verb kymo__cli_verb_cut;
extern const struct cli_verb kymo__cli_verb_diff;
extern const struct cli_verb kymo__cli_verb_merge;
extern const struct cli_verb kymo__cli_verb_check;
extern const struct cli_verb kymo__cli_verb_index;
extern const struct cli_verb kymo__cli_verb_query;
extern const struct cli_verb kymo__cli_verb_stacks;
extern const struct cli_verb kymo__cli_verb_doctor;
extern const struct cli_verb kymo__cli_verb_completion;
extern const struct cli_verb kymo__cli_verb_help;

/* Used by doctor to query the Python package; not for users. */
static const struct cli_verb python_info = {
    .name = "python-info",
    .purpose = "print facts about the Python package as JSON",
    .operands = "",
    .hidden = true,
    .python = true,
};

const struct cli_verb *const kymo__cli_verbs[] = {
    &kymo__cli_verb_run,    &kymo__cli_verb_report, &kymo__cli_verb_view,
    &kymo__cli_verb_diff,   &kymo__cli_verb_query,  &kymo__cli_verb_export,
    &kymo__cli_verb_cut,    &kymo__cli_verb_merge,  &kymo__cli_verb_check,
    &kymo__cli_verb_index,  &kymo__cli_verb_info,   &kymo__cli_verb_dump,
    &kymo__cli_verb_stacks, &kymo__cli_verb_doctor, &kymo__cli_verb_completion,
    &kymo__cli_verb_help,   &python_info,           NULL,
};

const struct cli_option kymo__cli_global_options[] = {
    [CLI_GLOBAL_HELP] = {"help", 'h', NULL, "list the verbs"},
    [CLI_GLOBAL_VERSION] = {"version", 'V', NULL, "print the version"},
    [CLI_GLOBAL_PYTHON] = {"python", 0, "PATH",
                           "the Python that runs verbs written in Python; also KYMO_PYTHON"},
    {0},
};

const struct cli_verb *kymo__cli_verb_find(const char *name)
{
    for (int i = 0; kymo__cli_verbs[i]; i++)
        if (strcmp(kymo__cli_verbs[i]->name, name) == 0)
            return kymo__cli_verbs[i];
    return NULL;
}

static bool is_capture(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".kymo") == 0;
}

int kymo__cli_verb_unknown(const char *name)
{
    struct cli_nearest nearest = kymo__cli_nearest(name);
    for (int i = 0; kymo__cli_verbs[i]; i++)
        if (!kymo__cli_verbs[i]->hidden)
            kymo__cli_nearest_offer(&nearest, kymo__cli_verbs[i]->name);

    if (nearest.best && access(name, F_OK) != 0)
        kymo__cli_complain("unknown verb '%s'; did you mean '%s'? See 'kymograph help'", name,
                           nearest.best);
    else if (access(name, F_OK) == 0 && is_capture(name))
        kymo__cli_complain("unknown verb '%s'; to read that file: kymograph report %s", name, name);
    else if (access(name, F_OK) == 0)
        kymo__cli_complain("unknown verb '%s'; to run and record it: kymograph run %s", name, name);
    else
        kymo__cli_complain("unknown verb '%s'; 'kymograph help' lists the verbs", name);
    return CLI_BAD;
}
