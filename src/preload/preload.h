/* preload.h — what libkymo and the preloaded library know of each other, and nothing else.

   libkymo finds the table by its name, KYMO__PRELOAD_TABLE, and makes `next` lead to its hooks, like
   a slot of any other object. */
#ifndef KYMO_PRELOAD_H
#define KYMO_PRELOAD_H

#define KYMO__PRELOAD_TABLE "kymo_preload_table"

/* One function of the malloc family; a symbol that is NULL ends the table. */
struct kymo_preload_entry {
    const char *symbol;
    void *next; /* what it calls; NULL: there is no such function */
    void *real; /* the same, and never a hook */
};

/* Environment variables with which `kymograph run` tells the library what to do; it removes them.
   Those after FILE are only set for programs that are not Python. */
#define KYMO__PRELOAD_BEFORE "KYMO_PRELOAD_BEFORE"   /* what LD_PRELOAD was */
#define KYMO__PRELOAD_FILE "KYMO_PRELOAD_FILE"       /* a descriptor to close, if there is one */
#define KYMO__PRELOAD_LIBRARY "KYMO_PRELOAD_LIBRARY" /* libkymo, to record from the beginning */
#define KYMO__PRELOAD_OUTPUT "KYMO_PRELOAD_OUTPUT"   /* the capture */
#define KYMO__PRELOAD_OPTIONS "KYMO_PRELOAD_OPTIONS" /* mode, rate, domains, stacks: four numbers */

/* preload_end.c: LIBRARY, a handle of libkymo, records this process, until it ends or becomes another
   program. */
void kymo__preload_recorded(void *library);

#endif
