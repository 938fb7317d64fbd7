/* completion_zsh.c — for zsh 5 and later, with compinit. */
#include <stdio.h>

#include "completion.h"
#include "verb.h"

/* Print TEXT escaped for single quotes and for the brackets and colons of _arguments. */
static void escape(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_value(const struct cli_verb *verb, const struct cli_option *option)
{
    const char *const *words = verb ? kymo__cli_values(verb, option) : NULL;
    printf(":%s:", option->argument);
    if (words) {
        putchar('(');
        for (int i = 0; words[i]; i++)
            printf("%s ", words[i]);
        putchar(')');
    } else {
        fputs(kymo__cli_takes_file(option) ? "_files" : " ", stdout);
    }
}

static void print_option(const struct cli_verb *verb, const struct cli_option *option)
{
    if (option->letter)
        printf(" \\\n      '(-%c --%s)'{-%c,--%s}", option->letter, option->name, option->letter,
               option->name);
    else
        printf(" \\\n      --%s", option->name);
    fputs("'[", stdout);
    escape(option->help);
    putchar(']');
    if (option->argument)
        print_value(verb, option);
    putchar('\'');
}

static void print_options(const struct cli_verb *verb, const struct cli_option *options)
{
    for (int i = 0; options && options[i].name; i++)
        print_option(verb, &options[i]);
}

static void print_operands(const struct cli_verb *verb)
{
    switch (verb->operand) {
    case CLI_FILES:
        fputs(" \\\n      '*:capture:_files -g \"*.kymo(-.)\"'", stdout);
        break;
    case CLI_SCRIPTS:
        fputs(" \\\n      '*:file:_files'", stdout);
        break;
    case CLI_FOLDERS:
        fputs(" \\\n      '*:directory:_files -/'", stdout);
        break;
    case CLI_CHOICES:
        fputs(" \\\n      '1:word:(", stdout);
        for (int i = 0; verb->choices[i]; i++)
            printf("%s ", verb->choices[i]);
        fputs(")'", stdout);
        break;
    case CLI_VERBS:
        fputs(" \\\n      '1:verb:(", stdout);
        for (int i = 0; kymo__cli_verbs[i]; i++)
            if (!kymo__cli_verbs[i]->hidden)
                printf("%s ", kymo__cli_verbs[i]->name);
        fputs(")'", stdout);
        break;
    default:
        break;
    }
}

void kymo__cli_completion_zsh(void)
{
    static const struct cli_option help = {"help", 'h', NULL, "show this help"};
    fputs("#compdef kymograph\n"
          "# zsh completion for kymograph, printed by 'kymograph completion zsh'.\n"
          "_kymograph() {\n"
          "  local curcontext=$curcontext state line\n"
          "  local -a verbs=(\n",
          stdout);
    for (int i = 0; kymo__cli_verbs[i]; i++) {
        if (kymo__cli_verbs[i]->hidden)
            continue;
        printf("    '%s:", kymo__cli_verbs[i]->name);
        escape(kymo__cli_verbs[i]->purpose);
        puts("'");
    }
    fputs("  )\n  _arguments -C", stdout);
    print_options(NULL, kymo__cli_global_options);
    fputs(" \\\n      '1:verb:->verb' \\\n      '*::argument:->argument'\n"
          "  case $state in\n"
          "  verb) _describe verb verbs ;;\n"
          "  argument)\n"
          "    case $words[1] in\n",
          stdout);
    for (int i = 0; kymo__cli_verbs[i]; i++) {
        const struct cli_verb *verb = kymo__cli_verbs[i];
        if (verb->hidden)
            continue;
        printf("    %s) _arguments", verb->name);
        print_options(verb, verb->options);
        print_option(NULL, &help);
        print_operands(verb);
        fputs(" ;;\n", stdout);
    }
    fputs(
        "    esac ;;\n"
        "  esac\n"
        "}\n"
        "if [[ $funcstack[1] == _kymograph ]]; then _kymograph \"$@\"; else compdef _kymograph kymograph; fi\n",
        stdout);
}
