/* info.h — what `kymograph info` found out about one capture, and its two forms. */
#ifndef KYMO_CLI_INFO_H
#define KYMO_CLI_INFO_H

#include <stdbool.h>

#include <kymo/kymo.h>

enum { CLI_GAP_REASONS = KYMO_GAP_FLIGHT + 1 };

struct cli_facts {
    const char *path;
    struct kymo_capture *capture;
    struct kymo_info info;
    bool verified; /* every block was read */
    /* What is missing, by enum kymo_gap; 0 collects reasons this program is too old
       to know. */
    struct cli_loss {
        uint64_t gaps, records;
    } losses[CLI_GAP_REASONS];
};

void kymo__cli_info_text(const struct cli_facts *facts);
void kymo__cli_info_json(const struct cli_facts *facts);

#endif
