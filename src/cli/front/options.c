#include "options.h"

#include <stdio.h>
#include <string.h>

#include "message.h"
#include "nearest.h"

/* A parse in progress. */
struct parse {
    const struct cli_option *options; /* may be NULL */
    const char *verb;                 /* for messages; NULL before the verb */
    int count;
    const char **argv;
    int at; /* the argument being read */
    struct cli_arguments *arguments;
};

static int complain_unknown(const struct parse *parse, const char *option)
{
    char subject[64] = "kymograph", listed[64] = "kymograph help";
    if (parse->verb) {
        snprintf(subject, sizeof subject, "'%s'", parse->verb);
        snprintf(listed, sizeof listed, "kymograph help %s", parse->verb);
    }
    struct cli_nearest nearest = kymo__cli_nearest(option[1] == '-' ? option + 2 : "");
    for (int i = 0; parse->options && parse->options[i].name; i++)
        kymo__cli_nearest_offer(&nearest, parse->options[i].name);
    kymo__cli_nearest_offer(&nearest, "help");

    if (nearest.best && option[1] == '-')
        kymo__cli_complain("%s has no option %s; did you mean --%s? '%s' lists them", subject,
                           option, nearest.best, listed);
    else
        kymo__cli_complain("%s has no option %s; '%s' lists them", subject, option, listed);
    return CLI_MISUSED;
}

/* The argument after the current one; NULL after printing a message. */
static const char *next_value(struct parse *parse, const struct cli_option *option)
{
    if (parse->at + 1 < parse->count)
        return parse->argv[++parse->at];
    kymo__cli_complain("--%s needs %s; see 'kymograph help%s%s'", option->name, option->argument,
                       parse->verb ? " " : "", parse->verb ? parse->verb : "");
    return NULL;
}

static int parse_long(struct parse *parse, const char *argument)
{
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    const char *given = name[length] ? name + length + 1 : NULL;
    if (length == 4 && strncmp(name, "help", 4) == 0 && !given)
        return CLI_WANTS_HELP;

    for (int i = 0; parse->options && parse->options[i].name; i++) {
        const struct cli_option *option = &parse->options[i];
        if (strlen(option->name) != length || strncmp(option->name, name, length) != 0)
            continue;
        if (!option->argument && given) {
            kymo__cli_complain("--%s takes no value", option->name);
            return CLI_MISUSED;
        }
        const char *value = option->argument && !given ? next_value(parse, option) : given;
        if (option->argument && !value)
            return CLI_MISUSED;
        parse->arguments->value[i] = option->argument ? value : "";
        return CLI_PARSED;
    }
    char unknown[128];
    snprintf(unknown, sizeof unknown, "--%.*s", (int)length, name);
    return complain_unknown(parse, unknown);
}

/* ARGUMENT is "-" and one or more letters; the first with a value takes the rest. */
static int parse_short(struct parse *parse, const char *argument)
{
    for (const char *letter = argument + 1; *letter; letter++) {
        if (*letter == 'h')
            return CLI_WANTS_HELP;
        int i = 0;
        while (parse->options && parse->options[i].name && parse->options[i].letter != *letter)
            i++;
        if (!parse->options || !parse->options[i].name) {
            char unknown[] = {'-', *letter, '\0'};
            return complain_unknown(parse, (unsigned char)*letter < 0x80 ? unknown : argument);
        }
        const struct cli_option *option = &parse->options[i];
        if (option->argument) {
            const char *value = letter[1] ? letter + 1 : next_value(parse, option);
            parse->arguments->value[i] = value;
            return value ? CLI_PARSED : CLI_MISUSED;
        }
        parse->arguments->value[i] = "";
    }
    return CLI_PARSED;
}

static int parse_option(struct parse *parse, const char *argument)
{
    return argument[1] == '-' ? parse_long(parse, argument) : parse_short(parse, argument);
}

static int check_words(const struct cli_verb *verb, const struct cli_arguments *arguments)
{
    if (arguments->count < verb->least) {
        kymo__cli_complain("'%s' needs %s; see 'kymograph help %s'", verb->name, verb->operands,
                           verb->name);
        return CLI_MISUSED;
    }
    if (verb->most != CLI_ANY && arguments->count > verb->most) {
        kymo__cli_complain("'%s': unexpected argument '%s'; see 'kymograph help %s'", verb->name,
                           arguments->words[verb->most], verb->name);
        return CLI_MISUSED;
    }
    return CLI_PARSED;
}

enum cli_parsed kymo__cli_parse(const struct cli_verb *verb, int count, const char **argv,
                                struct cli_arguments *arguments)
{
    struct parse parse = {verb->options, verb->name, count, argv, 0, arguments};
    const char **words = argv; /* words move to the front, over arguments already read */
    bool ended = false;

    for (; parse.at < count; parse.at++) {
        const char *argument = argv[parse.at];
        if (ended || argument[0] != '-' || argument[1] == '\0') {
            *words++ = argument;
        } else if (strcmp(argument, "--") == 0) {
            ended = true;
        } else {
            int parsed = parse_option(&parse, argument);
            if (parsed != CLI_PARSED)
                return parsed;
        }
    }
    arguments->words = argv;
    arguments->count = (int)(words - argv);
    return check_words(verb, arguments);
}

enum cli_parsed kymo__cli_parse_global(int count, const char **argv,
                                       struct cli_arguments *arguments, int *used)
{
    struct parse parse = {kymo__cli_global_options, NULL, count, argv, 0, arguments};
    for (; parse.at < count && argv[parse.at][0] == '-'; parse.at++) {
        int parsed = parse_option(&parse, argv[parse.at]);
        if (parsed != CLI_PARSED)
            return parsed;
    }
    *used = parse.at;
    return CLI_PARSED;
}
