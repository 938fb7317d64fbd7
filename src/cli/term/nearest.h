/* nearest.h — finds the word that the user probably meant.

   Start with kymo__cli_nearest, offer every known word, then read `best`: NULL when none is close
   enough to suggest. */
#ifndef KYMO_CLI_NEAREST_H
#define KYMO_CLI_NEAREST_H

struct cli_nearest {
    const char *wanted;
    const char *best;
    int distance; /* distance of best; the next must be below it */
};

struct cli_nearest kymo__cli_nearest(const char *wanted);
void kymo__cli_nearest_offer(struct cli_nearest *nearest, const char *word);

#endif
