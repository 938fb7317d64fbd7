#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "exits.h"
#include "message.h"

static void *there(void *memory)
{
    if (!memory) {
        kymo__cli_complain("not enough memory");
        exit(CLI_BAD);
    }
    return memory;
}

static size_t bytes_of(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        there(NULL);
    return bytes ? bytes : 1;
}

void *kymo__cli_array(size_t count, size_t size)
{
    return there(kymo__alloc_zeroed(bytes_of(count, size)));
}

void *kymo__cli_grow(void *old, size_t count, size_t size)
{
    return there(kymo__realloc(old, bytes_of(count, size)));
}

char *kymo__cli_format(const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = kymo__cli_array((size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

void kymo__cli_free(void *memory)
{
    kymo__free(memory);
}
