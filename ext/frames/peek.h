/* peek.h — read the name of a code object without the GIL and without the heap. */
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

/* False if CODE is not a code object, or there is no room. CAREFUL: in a signal handler; it and what it
   refers to may be corrupt. Otherwise it must not be freed meanwhile. */
bool kymo__peek_code(const PyCodeObject *code, bool careful, struct kymo_peeked *peeked);

#endif
