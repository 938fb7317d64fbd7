/* modules.h — the files whose code is in this process, by address.

   The table is read without a lock by everybody. It is made anew when the loader has loaded
   something since, which one number in the loader's memory tells; modules that are gone keep
   their number and their names, for stacks captured while they were there. */
#ifndef KYMO_MODULES_H
#define KYMO_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kymo_loaded {
    uint64_t low, high; /* its code */
    uint64_t base;
    const uint8_t *eh_frame_hdr;          /* NULL: none */
    uint64_t readable_low, readable_high; /* the mapped bytes around that */
    uint32_t number;                      /* for kymo_module_get; never given twice */
};

/* The module with code at PC as of the last refresh, or NULL. Any thread, also in a signal
   handler. */
const struct kymo_loaded *kymo__module_at(uint64_t pc);

/* Make the table anew if the version has changed. Takes the loader's lock: not in a signal
   handler. Returns 0 or -ENOMEM. */
int kymo__modules_refresh(void);

/* Where to find the rule for PC: fills in eh_frame_hdr and the bytes around it. Asks the loader
   without a lock where it can be asked so, and the table otherwise. False when PC is in no
   module, or in none that is known. Any thread, also in a signal handler. */
bool kymo__module_tables(uint64_t pc, struct kymo_loaded *loaded);

/* The version that the table was made for. */
uint64_t kymo__modules_known(void);

#endif
