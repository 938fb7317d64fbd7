/* ehrow.h — what .eh_frame says for one address, before it becomes a rule.

   It is a row of the table that a function's program describes: where the CFA is, and where the
   caller's useful registers are saved. */
#ifndef KYMO_EHROW_H
#define KYMO_EHROW_H

#include "ehframe.h"
#include "ehplace.h"

/* DWARF register numbers. */
#if defined(__aarch64__)
enum { KYMO__FP = 29, KYMO__SP = 31, KYMO__RBX = -1 };
#else
enum { KYMO__FP = 6, KYMO__SP = 7, KYMO__RBX = 3 };
#endif

/* The caller's registers that we need, and where they are. */
enum { KYMO__SAVED_RA, KYMO__SAVED_FP, KYMO__SAVED_RBX, KYMO__SAVED };
enum kymo_how { KYMO__SAME, KYMO__AT_CFA, KYMO__AT_PLACE, KYMO__UNDEFINED, KYMO__ODD };

struct kymo_saved {
    enum kymo_how how;
    struct kymo_eh_place place; /* KYMO__AT_CFA: only its offset counts */
};

struct kymo_row {
    struct kymo_eh_place cfa;
    struct kymo_saved saved[KYMO__SAVED];
};

/* Convert ROW to a rule, if possible. SIGNAL: it is for a function that a signal handler returns
   to. */
struct kymo_rule kymo__row_rule(const struct kymo_row *row, bool signal);

#endif
