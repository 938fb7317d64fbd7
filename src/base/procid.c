/* procid.c — see procid.h. */
#include "procid.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
