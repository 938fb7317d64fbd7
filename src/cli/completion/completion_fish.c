/* completion_fish.c — for fish 3 and later. */
#include <stdio.h>

#include "completion.h"
#include "verb.h"

/* Print TEXT in single quotes. */
static void quote(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

/* Print the options that apply when CONDITION is true. */
static void print_options(const char *condition, const struct cli_verb *verb,
                          const struct cli_option *options)
{
    for (int i = 0; options && options[i].name; i++) {
        printf("complete -c kymograph -n '%s%s' -l %s", condition, verb ? verb->name : "",
               options[i].name);
        if (options[i].letter)
            printf(" -s %c", options[i].letter);
        const char *const *words = verb ? kymo__cli_values(verb, &options[i]) : NULL;
        if (options[i].argument)
            fputs(words || !kymo__cli_takes_file(&options[i]) ? " -x" : " -r -F", stdout);
        for (int j = 0; words && words[j]; j++)
            printf("%s%s%s", j ? " " : " -a '", words[j], words[j + 1] ? "" : "'");
        fputs(" -d ", stdout);
        quote(options[i].help);
        putchar('\n');
    }
}

static void print_operands(const struct cli_verb *verb)
{
    printf("complete -c kymograph -n '__fish_seen_subcommand_from %s' ", verb->name);
    switch (verb->operand) {
    case CLI_FILES:
    case CLI_SCRIPTS:
        puts("-F");
        break;
    case CLI_FOLDERS:
        puts("-a '(__fish_complete_directories)'");
        break;
    case CLI_CHOICES:
        fputs("-a '", stdout);
        for (int i = 0; verb->choices[i]; i++)
            printf("%s ", verb->choices[i]);
        puts("'");
        break;
    case CLI_VERBS:
        fputs("-a '", stdout);
        for (int i = 0; kymo__cli_verbs[i]; i++)
            if (!kymo__cli_verbs[i]->hidden)
                printf("%s ", kymo__cli_verbs[i]->name);
        puts("'");
        break;
    default:
        puts("-f");
    }
}

void kymo__cli_completion_fish(void)
{
    static const struct cli_option help[] = {{"help", 'h', NULL, "show this help"}, {0}};
    puts("# fish completion for kymograph, printed by 'kymograph completion fish'.\n"
         "complete -c kymograph -f");
    print_options("__fish_use_subcommand", NULL, kymo__cli_global_options);
    for (int i = 0; kymo__cli_verbs[i]; i++) {
        const struct cli_verb *verb = kymo__cli_verbs[i];
        if (verb->hidden)
            continue;
        printf("complete -c kymograph -n __fish_use_subcommand -a %s -d ", verb->name);
        quote(verb->purpose);
        putchar('\n');
        print_options("__fish_seen_subcommand_from ", verb, verb->options);
        print_options("__fish_seen_subcommand_from ", verb, help);
        print_operands(verb);
    }
}
