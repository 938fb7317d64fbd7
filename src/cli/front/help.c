#include "help.h"

#include <stdio.h>
#include <string.h>

#include "terminal.h"
#include "text.h"

enum { INDENT = 2, GAP = 2, WIDEST_TERM = 34 };

static void heading(const char *title)
{
    printf("\n%s%s%s\n", kymo__cli_colour(CLI_BOLD), title, kymo__cli_colour(CLI_PLAIN));
}

/* Print TERM in a column CELLS wide and EXPLANATION wrapped beside it, or below it when TERM is
   too long for the column. */
static void definition(const char *term, const char *explanation, int cells)
{
    int used = kymo__cli_cells(term);
    printf("%*s%s%s%s", INDENT, "", kymo__cli_colour(CLI_CYAN), term, kymo__cli_colour(CLI_PLAIN));
    int start = INDENT + used;
    if (used > cells) {
        putchar('\n');
        start = 0;
    }
    kymo__cli_wrap(stdout, explanation, INDENT + cells + GAP, kymo__cli_text_width(), start);
}

static void widen_cells(int *cells, const char *term)
{
    int used = kymo__cli_cells(term);
    if (used > *cells && used <= WIDEST_TERM)
        *cells = used;
}

static void spell(const struct cli_option *option, char *term, size_t size)
{
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(term, size, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
}

static void print_options(const struct cli_option *options, bool own_help)
{
    static const struct cli_option help = {"help", 'h', NULL, "show this help"};
    char term[80];
    int cells = 0;
    for (int i = 0; options && options[i].name; i++) {
        spell(&options[i], term, sizeof term);
        widen_cells(&cells, term);
    }
    spell(&help, term, sizeof term);
    widen_cells(&cells, term);

    heading("Options");
    for (int i = 0; options && options[i].name; i++) {
        spell(&options[i], term, sizeof term);
        definition(term, options[i].help, cells);
    }
    if (own_help) {
        spell(&help, term, sizeof term);
        definition(term, help.help, cells);
    }
}

static void print_examples(const char *title, const struct cli_example *examples)
{
    int cells = 0;
    for (int i = 0; examples[i].command; i++)
        widen_cells(&cells, examples[i].command);
    heading(title);
    for (int i = 0; examples[i].command; i++)
        definition(examples[i].command, examples[i].purpose, cells);
}

void kymo__cli_help_verb(const struct cli_verb *verb)
{
    printf("usage: %skymograph %s%s%s%s\n\n", kymo__cli_colour(CLI_BOLD), verb->name,
           verb->options ? " [options]" : "", *verb->operands ? " " : "", verb->operands);
    fputs(kymo__cli_colour(CLI_PLAIN), stdout);
    printf("kymograph %s: %s.\n", verb->name, verb->purpose);
    if (verb->details) {
        putchar('\n');
        kymo__cli_wrap(stdout, verb->details, 0, kymo__cli_text_width(), 0);
    }
    print_options(verb->options, true);
    if (verb->terms)
        print_examples(verb->terms_title, verb->terms());
    if (verb->examples)
        print_examples("Examples", verb->examples);
    if (verb->next)
        print_examples("Next", verb->next);
}

static const struct cli_example first_steps[] = {
    {"kymograph doctor", "check that this machine can record"},
    {"kymograph run script.py", "run a Python program and record it into script.kymo"},
    {"kymograph report trace.kymo", "where the time went"},
    {"kymograph export --to html trace.kymo", "a flame graph for the browser"},
    {"kymograph export --to perfetto trace.kymo", "every call on a timeline, for Perfetto"},
    {"kymograph info trace.kymo", "what was recorded, and whether anything is missing"},
    {"kymograph help report", "help for one verb; same as kymograph report --help"},
    {0},
};

static void print_verbs(void)
{
    int cells = 0;
    for (int i = 0; kymo__cli_verbs[i]; i++)
        if (!kymo__cli_verbs[i]->hidden)
            widen_cells(&cells, kymo__cli_verbs[i]->name);
    heading("Verbs");
    for (int i = 0; kymo__cli_verbs[i]; i++)
        if (!kymo__cli_verbs[i]->hidden)
            definition(kymo__cli_verbs[i]->name, kymo__cli_verbs[i]->purpose, cells);
}

void kymo__cli_help_short(void)
{
    printf("usage: %skymograph [options] VERB ...%s\n", kymo__cli_colour(CLI_BOLD),
           kymo__cli_colour(CLI_PLAIN));
    print_verbs();
    print_examples("First steps", first_steps);
}

void kymo__cli_help_overview(void)
{
    printf("usage: %skymograph [options] VERB ...%s\n\n", kymo__cli_colour(CLI_BOLD),
           kymo__cli_colour(CLI_PLAIN));
    kymo__cli_wrap(
        stdout,
        "kymograph records what a program does into a capture file (.kymo) and analyses it "
        "afterwards.",
        0, kymo__cli_text_width(), 0);
    print_verbs();
    print_options(kymo__cli_global_options, false);
    print_examples("First steps", first_steps);
    heading("Exit codes");
    kymo__cli_wrap(
        stdout,
        "0: success. 1: the answer is no (doctor: a check failed; info --verify: the file is "
        "damaged). 2: bad usage, unreadable input or unwritable output; one line on stderr says "
        "what is wrong and what to do.",
        INDENT, kymo__cli_text_width(), 0);
}
