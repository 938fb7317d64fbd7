/* The rate of the counter that one process has measured is used by others of the machine, and by no
   other machine. */
#include "clockrate.h"

#include <kymo/record.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "procid.h"

static const uint8_t boot[16] = {0x12, 0x34, [15] = 0xef};
#define BOOT "123400000000000000000000000000ef"
enum { RATE = 2100000000 };

/* The first case: nothing has been measured yet. */
static void a_text_that_is_not_of_this_boot_is_ignored(void)
{
    static const char *const strange[] = {
        "",
        BOOT,
        BOOT " ",
        BOOT " 0",
        BOOT " 2100000000x",
        BOOT " -2100000000",
        BOOT " 99999999999999999999",
        BOOT "2100000000",
        "123400000000000000000000000000ee 2100000000",
        "1234 2100000000",
    };
    for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
        kymo__clock_rate_read(strange[i], boot);
        CHECK_EQ(kymo__clock_rate_measured(), 0);
    }
}

static void a_rate_of_this_boot_is_used_unless_one_is_known(void)
{
    kymo__clock_rate_read(BOOT " 2100000000", boot);
    CHECK_EQ(kymo__clock_rate_measured(), RATE);
    kymo__clock_rate_read(BOOT " 2200000000", boot);
    CHECK_EQ(kymo__clock_rate_measured(), RATE);
    /* Unless the processor states it, or it has no such counter. */
    struct kymo_snapshot now = kymo__clock_snapshot();
    uint64_t rate = kymo__clock_rate(&now);
    CHECK(rate == RATE || rate == 1000000000 || rate == kymo__counter_rate());
}

static void what_a_process_writes_others_of_its_machine_can_read(void)
{
    uint8_t here[16];
    char text[64], other[64];
    kymo__boot_id(here);
    kymo__clock_rate_know(RATE);
    size_t len = kymo_clock_rate(text, sizeof(text));
    if (len == 0)
        CHECK_SKIP("the boot has no id");
    CHECK_EQ(len, strlen(text));
    CHECK(strcmp(text + 32, " 2100000000") == 0);
    CHECK_EQ(kymo_clock_rate(other, len), 0); /* no room for it */
    CHECK_EQ(kymo_clock_rate(other, len + 1), len);
    CHECK(strcmp(text, other) == 0);
}

static const struct check_case cases[] = {
    CHECK_CASE(a_text_that_is_not_of_this_boot_is_ignored),
    CHECK_CASE(a_rate_of_this_boot_is_used_unless_one_is_known),
    CHECK_CASE(what_a_process_writes_others_of_its_machine_can_read),
};

CHECK_MAIN(cases)
