/* thread_choice.h — chooses the threads of a capture that a user names. */
#ifndef KYMO_CLI_THREAD_CHOICE_H
#define KYMO_CLI_THREAD_CHOICE_H

#include <stdbool.h>

#include <kymo/kymo.h>

/* The arrays have one extra element, for records that belong to no thread. */
struct cli_threads {
    uint32_t count;
    char **label; /* by index: index and cleaned name, for the column */
    bool *chosen; /* by index */
    int cells;    /* width of the widest label */
    int64_t only; /* the index if exactly one is chosen, else -1 */
};

/* The position of an event's thread INDEX in the arrays. */
static inline uint32_t kymo__cli_threads_slot(const struct cli_threads *threads, uint32_t index)
{
    return index < threads->count ? index : threads->count;
}

/* Choose the threads of CAPTURE that WANTED names: an index, "tid:N", a name, or NULL for all.
   Several threads may share a name. Prints a message and returns CLI_BAD when there is no such
   thread. */
int kymo__cli_threads_choose(const struct kymo_capture *capture, const char *path,
                             const char *wanted, struct cli_threads *threads);

/* Of the chosen threads, keep those of the process that WANTED names: an index, "pid:N", a name,
   or NULL for all. Prints a message and returns CLI_BAD when there is no such process or it has
   none of them; free THREADS in any case. */
int kymo__cli_threads_of_process(const struct kymo_capture *capture, const char *path,
                                 const char *wanted, struct cli_threads *threads);
void kymo__cli_threads_free(struct cli_threads *threads);

#endif
