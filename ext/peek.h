/* peek.h — what a code object is called, read by a signal handler: without the GIL, without
   the heap, and from objects that may be damaged. */
#ifndef KYMO_EXT_PEEK_H
#define KYMO_EXT_PEEK_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

/* Copies, for good. */
struct kymo_peeked {
    const char *name, *plain, *file;
    const uint8_t *lines;
    uint32_t line_bytes, first_line;
};

/* False when CODE is none, or there is no more room. */
bool kymo__peek_code(const PyCodeObject *code, struct kymo_peeked *peeked);

#endif
