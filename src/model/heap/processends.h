/* processends.h — when the processes of a capture end: with the last of their records. */
#ifndef KYMO_PROCESSENDS_H
#define KYMO_PROCESSENDS_H

#include "reader.h"

struct kymo_process_end {
    uint64_t ticks;
    uint32_t process;
};

/* In order of time, without the process that ends last: that is the end of the capture. */
struct kymo_process_ends {
    struct kymo_process_end *all;
    size_t count;
};

/* Returns 0 or -ENOMEM; call fini in either case. */
int kymo__process_ends_init(struct kymo_process_ends *ends, const struct kymo_reader *reader);
void kymo__process_ends_fini(struct kymo_process_ends *ends);

/* How many processes a capture has, and the one of THREAD, which is less than that. */
static inline size_t kymo__process_count(const struct kymo_reader *reader)
{
    return reader->process_count ? reader->process_count : 1;
}

static inline uint32_t kymo__process_of(const struct kymo_reader *reader, uint32_t thread)
{
    uint32_t process = reader->threads[thread].process;
    return process < reader->process_count ? process : 0;
}

#endif
