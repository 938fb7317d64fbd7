/* linetable.h — from an instruction to its line, without the code object. */
#ifndef KYMO_EXT_LINETABLE_H
#define KYMO_EXT_LINETABLE_H

#include <stddef.h>
#include <stdint.h>

/* The line of instruction UNIT (counted in code units from the beginning) in a copy of the line
   table of a code object that begins in line FIRST; 0 when the table gives it none. */
uint32_t kymo__line_of(const uint8_t *table, size_t bytes, uint32_t first, uint32_t unit);

#endif
