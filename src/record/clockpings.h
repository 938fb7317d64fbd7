/* clockpings.h — exchanges notes with other hosts through a folder that they share, to learn how far
   their clocks are apart.

   What one host has read, another had written before. So an exchange bounds the offset between two
   clocks from both sides, whatever it took, and nothing is assumed about delays. One process of each
   host writes notes. All hosts exchange them with one, the hub: that with the smallest boot id of
   those that are alive. It answers what it reads. The other processes of a host read in its note
   what it found out.

   No thread of its own: the writer thread calls it when something is due. It reads a few small
   files a second, and forgets about it all if the folder cannot be used. */
#ifndef KYMO_CLOCKPINGS_H
#define KYMO_CLOCKPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kymo_pinger;

/* The clocks to compare; a test has its own. */
struct kymo_pinger_clocks {
    int64_t (*now)(void *arg); /* nanoseconds of CLOCK_MONOTONIC */
    int64_t (*raw)(void *arg); /* of CLOCK_MONOTONIC_RAW */
    void *arg;
};

/* Exchange notes in FOLDER, which exists, as the host with BOOT. CLOCKS may be NULL. Touches no file
   yet. NULL if there is no memory, or BOOT is unknown. */
struct kymo_pinger *kymo__pinger_new(const char *folder, const uint8_t boot[16],
                                     const struct kymo_pinger_clocks *clocks);

/* Remove what it wrote, and free PINGER. NULL is fine. */
void kymo__pinger_free(struct kymo_pinger *pinger);

/* Do what is due. Returns when to call again, on its clock; INT64_MAX: never. */
int64_t kymo__pinger_serve(struct kymo_pinger *pinger);

/* Is there an exchange worth keeping? If so, describe it in TEXT and return true. They become rarer,
   so that there are hundreds after a day. ENDING: also the last one. */
bool kymo__pinger_take(struct kymo_pinger *pinger, bool ending, char *text, size_t size);

#endif
