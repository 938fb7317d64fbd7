/* formats.h — which format an export has, and which file it goes to. */
#ifndef KYMO_CLI_FORMATS_H
#define KYMO_CLI_FORMATS_H

#include "verb.h"

struct kymo_export_format;

/* The formats and their descriptions, as the help lists them. */
const struct cli_example *kymo__cli_formats_explain(void);

/* The values of the verb's OPTION, if that is --to. */
const char *const *kymo__cli_formats_values(const struct cli_option *option);

/* The format that --to or the name of the OUTPUT asks for; NULL after printing a message. */
const struct kymo_export_format *kymo__cli_format_choose(const char *to, const char *output);

/* The default output: PATH with its extension replaced; to be freed. */
char *kymo__cli_format_output(const char *path, const char *extension);

#endif
