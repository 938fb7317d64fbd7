/* doctor_machine.c — checks the machine: processor, cores, memory and limits. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "doctor.h"
#include "units.h"

enum { MIB = 1 << 20 };

/* The default memory budget of a recording, and the minimum it needs on top of that. */
static const uint64_t budget = (uint64_t)64 * MIB;

void kymo__cli_doctor_system(struct cli_doctor *doctor)
{
    struct utsname name;
    if (uname(&name) != 0)
        memset(&name, 0, sizeof name);
    bool known = strcmp(name.machine, "x86_64") == 0 || strcmp(name.machine, "aarch64") == 0;
    kymo__cli_doctor_report(
        doctor, known ? CLI_FINE : CLI_WARN, "system",
        known ? NULL : "kymograph is tested on x86_64 and aarch64; timestamps are slower here",
        "%s %s on %s", name.sysname, name.release, name.machine);
}

void kymo__cli_doctor_cores(struct cli_doctor *doctor)
{
    cpu_set_t allowed;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    /* Fails with more processors than a cpu_set_t holds; then assume all are allowed. */
    long usable =
        sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : online;
    kymo__cli_doctor_report(
        doctor, usable > 1 ? CLI_FINE : CLI_WARN, "cores",
        usable > 1
            ? NULL
            : "kymograph compresses captures in a thread, which shares the only core with the "
              "program; allow a second core (taskset, --cpus)",
        "%ld of %ld may be used", usable, online);
}

/* The memory limit of this process's control group; UINT64_MAX for none. */
static uint64_t group_limit(void)
{
    char line[512], path[1024];
    uint64_t limit;
    if (kymo__cli_doctor_line("/proc/self/cgroup", line, sizeof line) &&
        strncmp(line, "0::", 3) == 0) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
        if (kymo__cli_doctor_line(path, line, sizeof line) && kymo__cli_read_number(line, &limit))
            return limit;
    }
    if (kymo__cli_doctor_line("/sys/fs/cgroup/memory.max", line, sizeof line) &&
        kymo__cli_read_number(line, &limit))
        return limit;
    if (kymo__cli_doctor_line("/sys/fs/cgroup/memory/memory.limit_in_bytes", line, sizeof line) &&
        kymo__cli_read_number(line, &limit))
        return limit;
    return UINT64_MAX;
}

static uint64_t available_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    unsigned long long kib = 0;
    char line[128];
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib ? (uint64_t)kib * 1024 : UINT64_MAX;
}

static void check_resource(struct cli_doctor *doctor, const char *name, uint64_t limit,
                           uint64_t enough, const char *what, const char *way_out)
{
    if (limit < enough)
        kymo__cli_doctor_report(doctor, CLI_WARN, name, way_out, "%s at most %s", what,
                                kymo__cli_bytes(limit).text);
}

static uint64_t soft_limit(int resource)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

void kymo__cli_doctor_memory(struct cli_doctor *doctor)
{
    uint64_t group = group_limit(), available = available_memory();
    uint64_t room = group < available ? group : available;
    uint64_t enough = 4 * budget;
    kymo__cli_doctor_report(
        doctor, room >= enough ? CLI_FINE : CLI_WARN, "memory",
        room >= enough
            ? NULL
            : "record with a smaller memory budget (kymo_options.budget, at least 1 MiB)",
        "%s %s; a recording uses at most %s by default",
        room == UINT64_MAX ? "any amount" : kymo__cli_bytes(room).text,
        group < available ? "allowed by the control group" : "available",
        kymo__cli_bytes(budget).text);
    check_resource(doctor, "limits", soft_limit(RLIMIT_AS), 16 * budget,
                   "ulimit -v lets a process map",
                   "raise it with ulimit -v, or record with a smaller memory budget");
    check_resource(doctor, "limits", soft_limit(RLIMIT_DATA), 16 * budget,
                   "ulimit -d lets a process allocate",
                   "raise it with ulimit -d, or record with a smaller memory budget");
    check_resource(doctor, "limits", soft_limit(RLIMIT_FSIZE), UINT64_MAX,
                   "ulimit -f lets a file grow to",
                   "a capture stops at that size and says so; raise it with ulimit -f");
}
