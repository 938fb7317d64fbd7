/* formats.c — which format an export has, and which file it goes to. */
#include "formats.h"

#include <string.h>

#include "export.h"
#include "memory.h"
#include "message.h"

enum { FORMATS_MOST = 32 };

static char *list_formats(void)
{
    char *list = kymo__cli_format("%s", "");
    const struct kymo_export_format *format;
    for (size_t i = 0; (format = kymo__export_format(i)); i++) {
        char *longer = kymo__cli_format("%s%s%s", list, i > 0 ? ", " : "", format->name);
        kymo__cli_free(list);
        list = longer;
    }
    return list;
}

const struct cli_example *kymo__cli_formats_explain(void)
{
    static struct cli_example terms[FORMATS_MOST + 1];
    const struct kymo_export_format *format;
    for (size_t i = 0; i < FORMATS_MOST && (format = kymo__export_format(i)); i++)
        terms[i] = (struct cli_example){format->name, format->purpose};
    return terms;
}

const char *const *kymo__cli_formats_values(const struct cli_option *option)
{
    static const char *names[FORMATS_MOST + 1];
    const struct kymo_export_format *format;
    for (size_t i = 0; i < FORMATS_MOST && (format = kymo__export_format(i)); i++)
        names[i] = format->name;
    return strcmp(option->name, "to") == 0 ? names : NULL;
}

const struct kymo_export_format *kymo__cli_format_choose(const char *to, const char *output)
{
    const struct kymo_export_format *format = to       ? kymo__export_named(to)
                                              : output ? kymo__export_for(output)
                                                       : NULL;
    if (format)
        return format;
    char *list = list_formats();
    if (to)
        kymo__cli_complain("unknown format --to %s; choose one of: %s", to, list);
    else if (output)
        kymo__cli_complain("cannot tell the format from -o %s; add --to with one of: %s", output,
                           list);
    else
        kymo__cli_complain("no format given; add --to with one of: %s", list);
    kymo__cli_free(list);
    return NULL;
}

char *kymo__cli_format_output(const char *path, const char *extension)
{
    size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".kymo") == 0 && path[length - 6] != '/')
        length -= 5;
    return kymo__cli_format("%.*s%s", (int)length, path, extension);
}
