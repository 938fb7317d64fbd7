/* thread_choice.h — which threads of a capture a user means. */
#ifndef KYMO_CLI_THREAD_CHOICE_H
#define KYMO_CLI_THREAD_CHOICE_H

#include <stdbool.h>

#include <kymo/kymo.h>

/* The arrays have one element more than there are threads: for a record that belongs
   to none. */
struct cli_threads {
    uint32_t count;
    char **label; /* by index: index and name, clean, as the column shows them */
    bool *chosen; /* by index */
    int cells;    /* width of the widest label */
    int64_t only; /* the index when one is chosen, else -1 */
};

/* Where thread INDEX of an event stands in the arrays. */
static inline uint32_t kymo__cli_threads_slot(const struct cli_threads *threads, uint32_t index)
{
    return index < threads->count ? index : threads->count;
}

/* Choose the threads of CAPTURE that WANTED names: an index, "tid:N", a name, or NULL
   for all. Several threads may have one name. Complains and returns CLI_BAD when
   there is no such thread. */
int kymo__cli_threads_choose(const struct kymo_capture *capture, const char *path,
                             const char *wanted, struct cli_threads *threads);

/* Keep of those chosen the threads of the process that WANTED names: an index, "pid:N", a
   name, or NULL for all. Complains and returns CLI_BAD when there is no such process, or it
   has none of them; free in any case. */
int kymo__cli_threads_of_process(const struct kymo_capture *capture, const char *path,
                                 const char *wanted, struct cli_threads *threads);
void kymo__cli_threads_free(struct cli_threads *threads);

#endif
