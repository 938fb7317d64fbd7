/* doctor.h — the checks of `kymograph doctor`, and how they report. */
#ifndef KYMO_CLI_DOCTOR_H
#define KYMO_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "jsonout.h"

/* The result of a check. FAIL only for what keeps kymograph from recording or reading. */
enum cli_health { CLI_FINE, CLI_WARN, CLI_FAIL };

struct cli_doctor {
    const char *directory; /* where captures would be written */
    const char *python;    /* the value of --python, or NULL */
    bool as_json;
    struct kymo_jsonout json;
    int failed, warned;
};

/* Report a check: its NAME, its result, how to fix it (NULL if nothing is wrong), and the
   details. */
void kymo__cli_doctor_report(struct cli_doctor *doctor, enum cli_health health, const char *name,
                             const char *way_out, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Read the first line of FILE, a small file under /proc or /sys, into LINE. */
bool kymo__cli_doctor_line(const char *file, char *line, size_t size);

/* The checks; each reports one or a few lines. */
void kymo__cli_doctor_system(struct cli_doctor *doctor);
void kymo__cli_doctor_cores(struct cli_doctor *doctor);
void kymo__cli_doctor_memory(struct cli_doctor *doctor);
void kymo__cli_doctor_counter(struct cli_doctor *doctor);
void kymo__cli_doctor_membarrier(struct cli_doctor *doctor);
void kymo__cli_doctor_fork(struct cli_doctor *doctor);
void kymo__cli_doctor_perf(struct cli_doctor *doctor);
void kymo__cli_doctor_ptrace(struct cli_doctor *doctor);
void kymo__cli_doctor_disk(struct cli_doctor *doctor);
void kymo__cli_doctor_recording(struct cli_doctor *doctor);
void kymo__cli_doctor_python(struct cli_doctor *doctor);

#endif
