/* wallnote.h — notes the error of the wall clock in the metadata of a capture, so that captures of
   several hosts can be compared with an error bar. */
#ifndef KYMO_WALLNOTE_H
#define KYMO_WALLNOTE_H

#include <stdbool.h>
#include <stdint.h>

struct kymo_names;

/* The worst of several readings; all zero before the first. */
struct kymo_wall_worst {
    bool unsynchronised;
    int64_t most_us;
};

/* Read the error and remember it in WORST. */
void kymo__wall_watch(struct kymo_wall_worst *worst);

/* Read the error and define it as metadata KEY, nothing if it is unknown. WORST: of the earlier
   readings, or NULL. */
void kymo__wall_note(struct kymo_names *names, const char *key,
                     const struct kymo_wall_worst *worst);

#endif
