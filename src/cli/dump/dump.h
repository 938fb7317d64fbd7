/* dump.h — prints one event per line, as text or JSON. */
#ifndef KYMO_CLI_DUMP_H
#define KYMO_CLI_DUMP_H

#include "thread_choice.h"

struct cli_dump {
    const struct kymo_capture *capture;
    const struct kymo_info *info;
    const struct cli_threads *threads;
    bool absolute;   /* wall-clock times instead of times since the start */
    uint32_t *depth; /* by thread: how many spans are open */
    /* Set by kymo__cli_dump_heading: the widths of the columns, */
    int time_cells, thread_cells;
    int rest_cells;   /* of name and details; 0: as wide as they are */
    uint32_t deepest; /* levels that are indented */
};

void kymo__cli_dump_heading(struct cli_dump *dump);
void kymo__cli_dump_text(struct cli_dump *dump, const struct kymo_event *event);
void kymo__cli_dump_json(struct cli_dump *dump, const struct kymo_event *event);

#endif
