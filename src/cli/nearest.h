/* nearest.h — the word somebody probably meant.

   Start with kymo__cli_nearest, offer every word there is, then look at `best`:
   NULL when none is near enough to be worth suggesting. */
#ifndef KYMO_CLI_NEAREST_H
#define KYMO_CLI_NEAREST_H

struct cli_nearest {
    const char *wanted;
    const char *best;
    int distance; /* of best, and the limit for the next */
};

struct cli_nearest kymo__cli_nearest(const char *wanted);
void kymo__cli_nearest_offer(struct cli_nearest *nearest, const char *word);

#endif
