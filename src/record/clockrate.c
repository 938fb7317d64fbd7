/* clockrate.c — see clockrate.h. The text is the boot id, 32 hexadecimal digits, a space, and the
   ticks per second. */
#include "clockrate.h"

#include <inttypes.h>
#include <kymo/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "procid.h"

enum { BOOT_DIGITS = 32 };

/* A counter that is slower or faster than this does not exist. */
#define SLOWEST UINT64_C(100000)
#define FASTEST UINT64_C(100000000000)

static void write_boot(const uint8_t boot[16], char text[BOOT_DIGITS + 1])
{
    for (int i = 0; i < BOOT_DIGITS / 2; i++)
        snprintf(text + 2 * i, 3, "%02x", boot[i]);
}

size_t kymo_clock_rate(char *text, size_t size)
{
    const uint8_t unknown[16] = {0};
    uint8_t boot[16];
    char words[BOOT_DIGITS + 1];
    const uint64_t rate = kymo__clock_rate_measured();
    kymo__boot_id(boot);
    if (!rate || memcmp(boot, unknown, sizeof(boot)) == 0)
        return 0;
    write_boot(boot, words);
    int n = snprintf(text, size, "%s %" PRIu64, words, rate);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

void kymo__clock_rate_read(const char *text, const uint8_t boot[16])
{
    char words[BOOT_DIGITS + 1], *end;
    write_boot(boot, words);
    if (strncmp(text, words, BOOT_DIGITS) != 0 || text[BOOT_DIGITS] != ' ')
        return;
    uint64_t rate = strtoull(text + BOOT_DIGITS + 1, &end, 10);
    if (*end == '\0' && rate >= SLOWEST && rate <= FASTEST)
        kymo__clock_rate_know(rate);
}
