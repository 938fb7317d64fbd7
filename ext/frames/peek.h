/* peek.h — read the name of a code object in a signal handler: without the GIL, without the heap,
   and from objects that may be corrupt. */
#ifndef KYMO_EXT_PEEK_H
#define KYMO_EXT_PEEK_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* Permanent copies. */
struct kymo_peeked {
    const char *name, *plain, *file;
    const uint8_t *lines;
    uint32_t line_bytes, first_line;
};

/* False if CODE is not a code object, or there is no room. */
bool kymo__peek_code(const PyCodeObject *code, struct kymo_peeked *peeked);

#endif
