/* absent.h — lines that say what is not in a capture, for `info` and `report`. */
#ifndef KYMO_CLI_ABSENT_H
#define KYMO_CLI_ABSENT_H

#include <kymo/read.h>
#include <stdbool.h>

struct cli_absent {
    uint64_t children; /* child processes that the calls show; 0 if unknown */
    bool nothing;      /* there are hardly any records in a capture that took a while */
};

/* The value of KEY in CAPTURE's metadata; NULL if it has none. */
const char *kymo__cli_metadata(const struct kymo_capture *capture, const char *key);

/* Is COUNT hardly any for what CAPTURE lasted? */
bool kymo__cli_hardly_any(struct kymo_capture *capture, const struct kymo_info *info,
                          uint64_t count);

void kymo__cli_print_absent(const struct kymo_capture *capture, const struct kymo_info *info,
                            const struct cli_absent *absent);

#endif
