/* linetable.h — find the line of an instruction without the code object. */
#ifndef KYMO_EXT_LINETABLE_H
#define KYMO_EXT_LINETABLE_H

#include <stddef.h>
#include <stdint.h>

/* The line of instruction UNIT (in code units from the start) in a copy of the line table of a code
   object whose first line is FIRST; 0 if it has none. *CURSOR, at first 0, is where the search began to
   find the last one, and the next one for a later instruction of this table begins there. Several
   threads may use it. */
uint32_t kymo__line_of(const uint8_t *table, size_t bytes, uint32_t first, uint32_t unit,
                       uint64_t *cursor);

#endif
