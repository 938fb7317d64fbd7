/* crashprogram.c — see crashprogram.h. */
#include "crashprogram.h"
#include "mapped.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_MOST = 4096 };

static bool runnable(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

/* Look where the program is installed relative to the library: in a plain installation, and in a
   Python environment. */
static bool find_beside(char *path)
{
    static const char *const places[] = {"/kymograph", "/../bin/kymograph", "/../../bin/kymograph",
                                         "/../../../../bin/kymograph"};
    static const char here;
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname || !strchr(info.dli_fname, '/'))
        return false;
    int length = (int)(strrchr(info.dli_fname, '/') - info.dli_fname);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (snprintf(path, PATH_MOST, "%.*s%s", length, info.dli_fname, places[i]) < PATH_MOST &&
            runnable(path))
            return true;
    return false;
}

static bool find_in_path(char *path)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        int length = (int)strcspn(at, ":");
        if (length && snprintf(path, PATH_MOST, "%.*s/kymograph", length, at) < PATH_MOST &&
            runnable(path))
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* False for variables that load libraries into a program: those were meant for this one. */
static bool is_wanted(const char *variable)
{
    return strncmp(variable, "LD_PRELOAD=", 11) != 0 && strncmp(variable, "LD_AUDIT=", 9) != 0;
}

static char *copy_text(char **at, const char *text)
{
    char *copy = *at;
    *at = stpcpy(copy, text) + 1;
    return copy;
}

/* Put all of it into one piece of memory, which is then made read-only. */
static const struct kymo_crash_program *make_program(const char *path)
{
    static const char *const arguments[] = {"kymograph", "stacks", "-"};
    extern char **environ;
    size_t count = 0, bytes = sizeof(struct kymo_crash_program) + strlen(path) + 1 + 64;
    for (char **each = environ; each && *each; each++, count++)
        bytes += strlen(*each) + 1;
    bytes += (count + 1 + 4) * sizeof(char *);
    void *memory = kymo__pages_new(bytes);
    if (!memory)
        return NULL;
    struct kymo_crash_program *program = memory;
    program->arguments = (char **)(program + 1);
    program->environment = program->arguments + 4;
    char *at = (char *)(program->environment + count + 1);
    program->path = copy_text(&at, path);
    for (size_t i = 0; i < 3; i++)
        program->arguments[i] = copy_text(&at, arguments[i]);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (is_wanted(environ[i]))
            program->environment[kept++] = copy_text(&at, environ[i]);
    mprotect(memory, bytes, PROT_READ);
    return program;
}

int kymo__crash_program_find(const char *wanted, const struct kymo_crash_program **found)
{
    char path[PATH_MOST];
    *found = NULL;
    if (wanted && access(wanted, X_OK) != 0)
        return -errno;
    if (wanted && !runnable(wanted))
        return -EACCES;
    if (!wanted && !find_beside(path) && !find_in_path(path))
        return 0;
    *found = make_program(wanted ? wanted : path);
    return *found ? 0 : -ENOMEM;
}
