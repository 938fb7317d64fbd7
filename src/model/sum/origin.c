/* origin.c — see origin.h. */
#include "origin.h"

#include <ctype.h>
#include <string.h>

#include "waits.h"

bool kymo__waits(const struct kymo_callable *callable)
{
    return kymo__key_waits(callable->class, callable->name, callable->file);
}

/* Does PATH contain a standard library directory: lib/python3.13/, lib64/python3.13/,
   python3.13.zip? */
static bool in_standard_library(const char *path)
{
    static const char name[] = "/python3";
    for (const char *at = strstr(path, name); at; at = strstr(at + 1, name)) {
        const char *end = at + sizeof(name) - 1;
        while (*end == '.' || isdigit((unsigned char)*end) || *end == 't')
            end++;
        const char *lib = at;
        while (lib > path && lib[-1] != '/')
            lib--;
        if (strncmp(end, "zip/", 4) == 0)
            return true;
        if (*end == '/' && (strncmp(lib, "lib/", 4) == 0 || strncmp(lib, "lib64/", 6) == 0))
            return true;
    }
    return false;
}

/* Is FILE a command made by an installer, such as .venv/bin/flask? */
static bool is_command(const char *file)
{
    const char *name = strrchr(file, '/');
    return name && name - file >= 4 && strncmp(name - 4, "/bin", 4) == 0 && !strchr(name, '.');
}

static enum kymo_origin origin_of_file(const char *file)
{
    static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
    if (strncmp(file, "<frozen importlib.", 18) == 0 || strcmp(file, "<frozen zipimport>") == 0)
        return KYMO__IMPORT;
    if (strncmp(file, "<frozen ", 8) == 0)
        return KYMO__LIBRARY;
    for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++)
        if (strstr(file, packages[i]))
            return KYMO__LIBRARY;
    return in_standard_library(file) || is_command(file) ? KYMO__LIBRARY : KYMO__OWN;
}

enum kymo_origin kymo__origin(const struct kymo_callable *callable)
{
    switch (callable->class) {
    case KYMO_CLASS_NAME:
    case KYMO_CLASS_GC:
        return KYMO__OWN;
    case KYMO_CLASS_FUNCTION:
        return origin_of_file(callable->file);
    default:
        return KYMO__BUILTIN;
    }
}

const char *kymo__origin_word(enum kymo_origin origin)
{
    static const char *const words[] = {
        [KYMO__OWN] = "own",
        [KYMO__LIBRARY] = "library",
        [KYMO__IMPORT] = "import",
        [KYMO__BUILTIN] = "builtin",
    };
    return words[origin];
}
