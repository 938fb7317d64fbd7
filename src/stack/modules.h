/* modules.h — the files whose code is in this process, by address.

   The table is read without a lock. It is rebuilt after the loader has loaded something, which one
   number in the loader's memory reveals. Unloaded modules keep their number and name, for stacks
   captured earlier. */
#ifndef KYMO_MODULES_H
#define KYMO_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kymo_loaded {
    uint64_t low, high; /* its code */
    uint64_t base;
    const uint8_t *eh_frame_hdr;          /* NULL: none */
    uint64_t readable_low, readable_high; /* the mapped bytes around it */
    uint32_t number;                      /* for kymo_module_get; never reused; 0: none was left */
    uint32_t zero;                        /* no padding: entries are compared as bytes */
};

/* Find the module with code at PC as of the last refresh. False if there is none. Any thread;
   signal-safe. */
bool kymo__module_at(uint64_t pc, struct kymo_loaded *loaded);

/* Rebuild the table if the version has changed. Takes the loader's lock: not in a signal handler.
   Returns 0 or -ENOMEM. */
int kymo__modules_refresh(void);

/* Find the tables for PC: fills in eh_frame_hdr and the bytes around it. Asks the loader if that
   needs no lock, otherwise the table. False if PC is in no known module. Any thread;
   signal-safe. */
bool kymo__module_tables(uint64_t pc, struct kymo_loaded *loaded);

/* The version for which the table was built. */
uint64_t kymo__modules_known(void);

#endif
