/* completion_bash.c — for bash 4 and later, without the bash-completion package. */
#include <stdio.h>

#include "completion.h"
#include "verb.h"

static void print_options(const struct cli_option *options)
{
    for (int i = 0; options && options[i].name; i++)
        printf("--%s ", options[i].name);
}

static void print_verb_names(void)
{
    for (int i = 0; kymo__cli_verbs[i]; i++)
        if (!kymo__cli_verbs[i]->hidden)
            printf("%s ", kymo__cli_verbs[i]->name);
}

/* Print the compgen options that complete the operands of VERB. */
static void print_operands(const struct cli_verb *verb)
{
    switch (verb->operand) {
    case CLI_FILES:
        fputs(" operands='captures'", stdout);
        break;
    case CLI_SCRIPTS:
        fputs(" operands='files'", stdout);
        break;
    case CLI_FOLDERS:
        fputs(" operands='folders'", stdout);
        break;
    case CLI_CHOICES:
        fputs(" operands='", stdout);
        for (int i = 0; verb->choices[i]; i++)
            printf("%s ", verb->choices[i]);
        putchar('\'');
        break;
    case CLI_VERBS:
        fputs(" operands='", stdout);
        print_verb_names();
        putchar('\'');
        break;
    default:
        break;
    }
}

/* Print what completes the value of an option. */
static void print_value(const struct cli_verb *verb, const struct cli_option *option)
{
    const char *const *words = kymo__cli_values(verb, option);
    if (words) {
        fputs("values='", stdout);
        for (int i = 0; words[i]; i++)
            printf("%s ", words[i]);
        fputs("' ;;\n    ", stdout);
    } else {
        printf("%s ;;\n    ",
               kymo__cli_takes_file(option) ? "compopt -o default; return" : "return");
    }
}

/* The options of all verbs that take a value. */
static void print_valued(void)
{
    for (int i = 0; kymo__cli_verbs[i]; i++) {
        const struct cli_option *options = kymo__cli_verbs[i]->options;
        for (int j = 0; options && options[j].name; j++) {
            if (!options[j].argument)
                continue;
            printf("%s:--%s", kymo__cli_verbs[i]->name, options[j].name);
            if (options[j].letter)
                printf("|%s:-%c", kymo__cli_verbs[i]->name, options[j].letter);
            fputs(") ", stdout);
            print_value(kymo__cli_verbs[i], &options[j]);
        }
    }
}

void kymo__cli_completion_bash(void)
{
    fputs("# bash completion for kymograph, printed by 'kymograph completion bash'.\n"
          "_kymograph() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local verb= options= operands= values= i\n"
          "    COMPREPLY=()\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n"
          "        --python) ((i++)) ;;\n"
          "        -*) ;;\n"
          "        *) verb=${COMP_WORDS[i]}; break ;;\n"
          "        esac\n"
          "    done\n"
          "    case $verb:$before in\n"
          "    :--python) compopt -o default; return ;;\n    ",
          stdout);
    print_valued();
    fputs("esac\n"
          "    if [[ $values ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$word\")\n"
          "        return\n"
          "    fi\n"
          "    case $verb in\n"
          "    '') options='",
          stdout);
    print_options(kymo__cli_global_options);
    fputs("' operands='", stdout);
    print_verb_names();
    fputs("' ;;\n", stdout);
    for (int i = 0; kymo__cli_verbs[i]; i++) {
        const struct cli_verb *verb = kymo__cli_verbs[i];
        if (verb->hidden)
            continue;
        printf("    %s) options='", verb->name);
        print_options(verb->options);
        fputs("--help'", stdout);
        print_operands(verb);
        fputs(" ;;\n", stdout);
    }
    fputs(
        "    esac\n"
        "    if [[ $word == -* ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
        "    elif [[ $operands == captures ]]; then\n"
        "        compopt -o filenames\n"
        "        mapfile -t COMPREPLY < <(compgen -f -X '!*.kymo' -- \"$word\"; compgen -d -- \"$word\")\n"
        "    elif [[ $operands == files ]]; then\n"
        "        compopt -o filenames\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
        "    elif [[ $operands == folders ]]; then\n"
        "        compopt -o filenames\n"
        "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
        "    else\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$operands\" -- \"$word\")\n"
        "    fi\n"
        "}\n"
        "complete -F _kymograph kymograph\n",
        stdout);
}
