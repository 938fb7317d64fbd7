/* memory.h — memory that is there, or ends the program with a message: a command
   that cannot have it has nothing better to do. */
#ifndef KYMO_CLI_MEMORY_H
#define KYMO_CLI_MEMORY_H

#include <stddef.h>

/* COUNT zeroed elements of SIZE bytes. */
void *kymo__cli_array(size_t count, size_t size);

/* OLD, made by one of these functions or NULL, with room for COUNT elements. */
void *kymo__cli_grow(void *old, size_t count, size_t size);

/* A formatted string. */
char *kymo__cli_format(const char *format, ...) __attribute__((format(printf, 1, 2), nonnull(1)));

/* Give back what any of these made; NULL is fine. */
void kymo__cli_free(void *memory);

#endif
