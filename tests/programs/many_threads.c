/* many_threads.c — write a capture with many threads, each with a call of its own: what no program would
   do, but a file can say. many_threads FILE THREADS. */
#include <stdio.h>
#include <stdlib.h>

#include <kymo/read.h>

#include "defs.h"
#include "format.h"
#include "writer.h"

int main(int argc, char **argv)
{
    enum { STEP = 1000, BEGIN = 1000000 };
    struct kymo_file_header header = {.pid = 1,
                                      .clock = KYMO_CLOCK_MONOTONIC,
                                      .ticks_rate = 1000000000,
                                      .ticks = BEGIN,
                                      .monotonic = BEGIN};
    struct kymo_writer *writer;
    if (argc != 3 || kymo__writer_new(argv[1], &header, &writer) < 0)
        return 2;
    unsigned long threads = strtoul(argv[2], NULL, 10);
    const struct kymo_def clock = {.type = KYMO__DEF_CLOCK, .number = {BEGIN, BEGIN, 0}};
    kymo__writer_define(writer, &clock);
    uint32_t key =
        kymo__writer_key(writer, kymo__writer_string(writer, "work"),
                         kymo__writer_string(writer, "program.py"), 1, KYMO_CLASS_FUNCTION);
    for (uint32_t i = 0; i < threads; i++) {
        uint64_t at = BEGIN + (uint64_t)i * STEP;
        char name[32];
        snprintf(name, sizeof(name), "worker %u", i);
        const struct kymo_def thread = {
            .type = KYMO__DEF_THREAD,
            .number = {i, i + 1, at, kymo__writer_string(writer, name)},
        };
        kymo__writer_define(writer, &thread);
        kymo__writer_event(writer, i, at, kymo_word(KYMO_ENTER, 0, key), 0);
        kymo__writer_event(writer, i, at + STEP / 2, kymo_word(KYMO_LEAVE, 0, key), 0);
    }
    return kymo__writer_finish(writer, true) < 0;
}
