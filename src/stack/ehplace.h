/* ehplace.h — DWARF expressions, as far as .eh_frame needs them.

   An expression is evaluated symbolically: the result is a number, a register plus a number, or the
   word in memory at such a place plus a number. Only the program counter's value is known. */
#ifndef KYMO_EHPLACE_H
#define KYMO_EHPLACE_H

#include "bytes.h"

enum kymo_place_kind {
    KYMO__PLACE_UNKNOWN,
    KYMO__PLACE_NUMBER,
    KYMO__PLACE_REGISTER,
    KYMO__PLACE_WORD
};

struct kymo_eh_place {
    uint8_t kind;
    uint8_t reg;    /* REGISTER and WORD: number of DWARF's */
    int64_t offset; /* what is added to the register; NUMBER: itself */
    int64_t add;    /* WORD: what is added to that */
};

struct kymo_eh_place kymo__place_of(struct kymo_bytes expression, uint64_t pc);

#endif
