/* nearest.c — edit distance, with a swap of neighbours counted as one edit. */
#include "nearest.h"

#include <string.h>

enum { LONGEST = 32 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* The number of edits from A to B; LONGEST when either is too long to compare. */
static int distance(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    if (m >= LONGEST || n >= LONGEST)
        return LONGEST;

    int cost[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= m; i++)
        cost[i][0] = (int)i;
    for (size_t j = 0; j <= n; j++)
        cost[0][j] = (int)j;
    for (size_t i = 1; i <= m; i++) {
        for (size_t j = 1; j <= n; j++) {
            int best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = smaller(best, cost[i - 1][j] + 1);
            best = smaller(best, cost[i][j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    }
    return cost[m][n];
}

struct cli_nearest kymo__cli_nearest(const char *wanted)
{
    /* Up to a third of the letters may be wrong, and one in a short word; beyond that a suggestion
       does not help. */
    int limit = (int)(strlen(wanted) / 3);
    return (struct cli_nearest){.wanted = wanted, .distance = (limit < 1 ? 1 : limit) + 1};
}

void kymo__cli_nearest_offer(struct cli_nearest *nearest, const char *word)
{
    int edits = distance(nearest->wanted, word);
    size_t typed = strlen(nearest->wanted);
    if (typed >= 2 && strncmp(nearest->wanted, word, typed) == 0)
        edits = 1; /* a prefix counts as the word, however long the word is */
    if (edits < nearest->distance) {
        nearest->distance = edits;
        nearest->best = word;
    }
}
