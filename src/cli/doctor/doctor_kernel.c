/* doctor_kernel.c — checks which kernel features are available and permitted. */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"
#include "mapped.h"

void kymo__cli_doctor_membarrier(struct cli_doctor *doctor)
{
    long offered = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (offered < 0)
        kymo__cli_doctor_report(doctor, CLI_WARN, "membarrier",
                                "stopping a recording takes a little longer; needs Linux 4.14, "
                                "and a sandbox may forbid it",
                                "not available: %s", strerror(errno));
    else if (!(offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        kymo__cli_doctor_report(doctor, CLI_WARN, "membarrier",
                                "stopping a recording takes a little longer; needs Linux 4.14",
                                "only the slow form is available");
    else
        kymo__cli_doctor_report(doctor, CLI_FINE, "membarrier", NULL, "available");
}

/* True when a page marked MADV_WIPEONFORK is empty in a forked child. */
static bool page_is_wiped(size_t size)
{
    unsigned char *page = kymo__pages_new(size);
    if (!page)
        return false;
    bool wiped = false;
    if (madvise(page, size, MADV_WIPEONFORK) == 0) {
        int status = -1;
        page[0] = 1;
        pid_t child = fork();
        if (child == 0)
            _exit(page[0]);
        wiped = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                WEXITSTATUS(status) == 0;
    }
    munmap(page, size);
    return wiped;
}

void kymo__cli_doctor_fork(struct cli_doctor *doctor)
{
    bool wiped = page_is_wiped((size_t)sysconf(_SC_PAGESIZE));
    kymo__cli_doctor_report(doctor, wiped ? CLI_FINE : CLI_WARN, "fork",
                            wiped ? NULL
                                  : "a child created by a raw system call instead of fork() "
                                    "might record by accident; Linux 4.14 or later provides "
                                    "MADV_WIPEONFORK",
                            wiped ? "a forked child never records by accident (MADV_WIPEONFORK)"
                                  : "MADV_WIPEONFORK is not available");
}

void kymo__cli_doctor_perf(struct cli_doctor *doctor)
{
    char line[32];
    if (!kymo__cli_doctor_line("/proc/sys/kernel/perf_event_paranoid", line, sizeof line)) {
        kymo__cli_doctor_report(doctor, CLI_WARN, "perf",
                                "recording does not need them; hardware counters are unavailable",
                                "this kernel or container has no perf events");
        return;
    }
    int level = atoi(line);
    bool open_to_us = level <= 2 || geteuid() == 0;
    kymo__cli_doctor_report(doctor, open_to_us ? CLI_FINE : CLI_WARN, "perf",
                            open_to_us ? NULL
                                       : "recording does not need them; for hardware counters: "
                                         "sudo sysctl kernel.perf_event_paranoid=2",
                            "perf events are %s (perf_event_paranoid is %d)",
                            open_to_us ? "allowed for your own processes"
                                       : "forbidden for "
                                         "ordinary users",
                            level);
}

void kymo__cli_doctor_ptrace(struct cli_doctor *doctor)
{
    static const char *const scopes[] = {
        "any process of the same user may be inspected",
        "only child processes may be inspected",
        "only root may inspect other processes",
        "no process may be inspected",
    };
    char line[32];
    int scope = 0;
    if (kymo__cli_doctor_line("/proc/sys/kernel/yama/ptrace_scope", line, sizeof line))
        scope = atoi(line);
    scope = scope < 0 ? 0 : scope > 3 ? 3 : scope;
    bool fine = scope == 0 || (scope < 3 && geteuid() == 0);
    kymo__cli_doctor_report(doctor, fine ? CLI_FINE : CLI_WARN, "ptrace",
                            fine         ? NULL
                            : scope == 3 ? "recording does not need it; only a reboot changes this"
                                         : "recording does not need it; to inspect running "
                                           "processes: sudo sysctl kernel.yama.ptrace_scope=0",
                            "%s (ptrace_scope is %d)", scopes[scope], scope);
}
