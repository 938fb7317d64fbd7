/* doctor.h — one check of `kymograph doctor` after another, and where they report. */
#ifndef KYMO_CLI_DOCTOR_H
#define KYMO_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "json.h"

/* How a check came out. Only what keeps kymograph from recording and reading is a FAIL. */
enum cli_health { CLI_FINE, CLI_WARN, CLI_FAIL };

struct cli_doctor {
    const char *directory; /* where captures would be written */
    const char *python;    /* of --python, or NULL */
    bool as_json;
    struct cli_json json;
    int failed, warned;
};

/* Report a check: its NAME, how it came out, the way out (NULL when it is fine), and
   what was found. */
void kymo__cli_doctor_report(struct cli_doctor *doctor, enum cli_health health, const char *name,
                             const char *way_out, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Read the first line of FILE, a small file of the kernel's, into LINE. */
bool kymo__cli_doctor_line(const char *file, char *line, size_t size);

/* The checks; each reports one line or a few. */
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
