/* memory.h — allocation that never fails: it ends the program with a message instead, since a
   command can do nothing else. */
#ifndef KYMO_CLI_MEMORY_H
#define KYMO_CLI_MEMORY_H

#include <stddef.h>

/* COUNT zeroed elements of SIZE bytes. */
void *kymo__cli_array(size_t count, size_t size);

/* Resize OLD, from one of these functions or NULL, to COUNT elements. */
void *kymo__cli_grow(void *old, size_t count, size_t size);

/* A formatted string. */
char *kymo__cli_format(const char *format, ...) __attribute__((format(printf, 1, 2), nonnull(1)));

/* Free the result of any of these; NULL is fine. */
void kymo__cli_free(void *memory);

#endif
