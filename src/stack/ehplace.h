/* ehplace.h — DWARF expressions, as far as .eh_frame needs them.

   An expression is worked out without any register's value: what comes out is a number, a
   register plus a number, or the word in memory at such a place plus a number. The only
   register whose value is known is the program counter. */
#ifndef KYMO_EHPLACE_H
#define KYMO_EHPLACE_H

#include "bytes.h"

enum kymo_place_kind {
    KYMO__PLACE_UNKNOWN,
    KYMO__PLACE_NUMBER,
    KYMO__PLACE_REGISTER,
    KYMO__PLACE_WORD
};

struct kymo_place {
    uint8_t kind;
    uint8_t reg;    /* REGISTER and WORD: number of DWARF's */
    int64_t offset; /* what is added to the register; NUMBER: itself */
    int64_t add;    /* WORD: what is added to that */
};

struct kymo_place kymo__place_of(struct kymo_bytes expression, uint64_t pc);

#endif
