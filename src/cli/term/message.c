#include "message.h"

#include <stdarg.h>
#include <stdio.h>

#include "text.h"

void kymo__cli_complain(const char *format, ...)
{
    /* Format first, then clean: a file name may contain a newline or an escape sequence. */
    char message[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);

    fflush(stdout);
    fputs("kymograph: ", stderr);
    kymo__cli_put_clean(stderr, message);
    fputc('\n', stderr);
}
