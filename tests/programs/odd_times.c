/* odd_times.c — write a capture whose calls take no time at all, or a century: odd_times FILE. */
#include <kymo/read.h>

#include "defs.h"
#include "format.h"
#include "writer.h"

int main(int argc, char **argv)
{
    enum { BEGIN = 1000000, INSTANTS = 1000 };
    const uint64_t century = UINT64_C(36525) * 86400 * 1000000000;
    struct kymo_file_header header = {.pid = 1,
                                      .clock = KYMO_CLOCK_MONOTONIC,
                                      .ticks_rate = 1000000000,
                                      .ticks = BEGIN,
                                      .monotonic = BEGIN};
    struct kymo_writer *writer;
    if (argc != 2 || kymo__writer_new(argv[1], &header, &writer) < 0)
        return 2;
    const struct kymo_def clock = {.type = KYMO__DEF_CLOCK, .number = {BEGIN, BEGIN, 0}};
    const struct kymo_def thread = {.type = KYMO__DEF_THREAD,
                                    .number = {0, 1, BEGIN, kymo__writer_string(writer, "main")}};
    kymo__writer_define(writer, &clock);
    kymo__writer_define(writer, &thread);
    uint32_t file = kymo__writer_string(writer, "program.py");
    uint32_t longest = kymo__writer_key(writer, kymo__writer_string(writer, "century"), file, 1,
                                        KYMO_CLASS_FUNCTION);
    uint32_t none = kymo__writer_key(writer, kymo__writer_string(writer, "nothing"), file, 2,
                                     KYMO_CLASS_FUNCTION);
    kymo__writer_event(writer, 0, BEGIN, kymo_word(KYMO_ENTER, 0, longest), 0);
    for (uint64_t i = 0; i < INSTANTS; i++) { /* two at each time, each of no length */
        uint64_t at = BEGIN + i / 2 * (century / INSTANTS);
        kymo__writer_event(writer, 0, at, kymo_word(KYMO_ENTER, 0, none), 0);
        kymo__writer_event(writer, 0, at, kymo_word(KYMO_LEAVE, 0, none), 0);
    }
    kymo__writer_event(writer, 0, BEGIN + century, kymo_word(KYMO_LEAVE, 0, longest), 0);
    return kymo__writer_finish(writer, true) < 0;
}
