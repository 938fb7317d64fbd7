/* info.h — the facts that `kymograph info` gathers about a capture, and its two output formats. */
#ifndef KYMO_CLI_INFO_H
#define KYMO_CLI_INFO_H

#include <stdbool.h>

#include <kymo/kymo.h>

#include "family.h"
#include "jsonout.h"

enum { CLI_GAP_REASONS = KYMO_GAP_PAYLOAD + 1 };

struct cli_facts {
    const char *path;
    struct kymo_capture *capture;
    struct kymo_info info;
    const struct kymo_family *family; /* its first process is CAPTURE */
    bool verified;                    /* every block was read */
    /* What is missing, by enum kymo_gap; index 0 collects reasons unknown to this version. */
    struct cli_loss {
        uint64_t gaps, records;
    } losses[CLI_GAP_REASONS];
};

void kymo__cli_info_text(const struct cli_facts *facts);
void kymo__cli_info_json(const struct cli_facts *facts);

/* The processes of FAMILY, if there are several: a table, and the objects of an array. */
void kymo__cli_info_family(const struct kymo_family *family);
void kymo__cli_info_family_json(struct kymo_jsonout *json, const struct kymo_family *family);

#endif
