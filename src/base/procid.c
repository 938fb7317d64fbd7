/* procid.c — see procid.h. */
#include "procid.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "atomic.h"
#include "file.h"

uint64_t kymo__process_start(uint32_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    if (kymo__file_text(path, text, sizeof(text)) <= 0)
        return 0;
    /* The second field is the program's name in parentheses and may hold anything;
       the fields after the last parenthesis are counted from the third. */
    char *at = strrchr(text, ')');
    if (at && (at[1] == '\0' || at[2] == 'Z' || at[2] == 'X'))
        return 0; /* a zombie, waiting for its parent */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* By the clock that the kernel takes it from. */
static uint64_t ticks_since_boot(void)
{
    struct timespec now;
    const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
    if (clock_gettime(CLOCK_BOOTTIME, &now) < 0)
        return 0;
    return (uint64_t)now.tv_sec * ticks + (uint64_t)now.tv_nsec / (1000000000u / ticks);
}

static uint64_t before_fork;
static uint64_t own_start; /* 0: ask the kernel */
static pid_t own_pid;

void kymo__process_before_fork(void)
{
    kymo__store_relaxed(&before_fork, ticks_since_boot());
}

void kymo__process_forked(void)
{
    /* What it inherited was stored before it started, whichever fork that was for. */
    uint64_t now = ticks_since_boot();
    own_start = now == kymo__load_relaxed(&before_fork) ? now : 0;
    own_pid = getpid();
}

uint64_t kymo__process_start_own(void)
{
    pid_t pid = getpid();
    return own_start && own_pid == pid ? own_start : kymo__process_start((uint32_t)pid);
}

static void read_boot_id(uint8_t id[16])
{
    char text[64];
    if (kymo__file_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)) <= 0)
        return;
    int digits = 0;
    for (const char *at = text; *at && digits < 32; at++) {
        if (!isxdigit((unsigned char)*at))
            continue;
        int value =
            isdigit((unsigned char)*at) ? *at - '0' : tolower((unsigned char)*at) - 'a' + 10;
        id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | value);
        digits++;
    }
}

void kymo__boot_id(uint8_t id[16])
{
    static uint64_t known[2]; /* no process outlives it */
    uint64_t parts[2] = {kymo__load_acquire(&known[0]), kymo__load_acquire(&known[1])};
    if (!parts[0] || !parts[1]) {
        memset(id, 0, 16);
        read_boot_id(id);
        memcpy(parts, id, 16);
        kymo__store_release(&known[0], parts[0]);
        kymo__store_release(&known[1], parts[1]);
    }
    memcpy(id, parts, 16);
}

int kymo__process_alive(uint32_t pid, uint64_t start, const uint8_t boot[16])
{
    uint8_t here[16];
    kymo__boot_id(here);
    if (memcmp(here, boot, 16) != 0)
        return -1;
    uint64_t now = kymo__process_start(pid);
    return now != 0 && now == start;
}
