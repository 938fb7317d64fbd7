/* shell.h — programs that a test runs, where they are installed. */
#ifndef KYMO_SHELL_H
#define KYMO_SHELL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static inline int have(const char *tool)
{
    char command[200];
    snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", tool);
    return system(command) == 0;
}

__attribute__((format(printf, 1, 2))) static inline int shell(const char *format, ...)
{
    char command[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    return system(command);
}

#endif
