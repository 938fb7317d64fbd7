/* pace.c — see pace.h. */
#include "pace.h"

#include <kymo/averages.h>
#include <time.h>

#include "clock.h"

void kymo_capture_until(struct kymo_capture *capture, kymo_ns until)
{
    capture->until = until;
}

struct kymo_pace kymo__pace_of(const struct kymo_capture *capture, const bool *chosen,
                               kymo_ns until)
{
    struct kymo_pace pace = {.until = until};
    for (uint32_t i = 0; i < capture->reader->thread_count; i++) {
        struct kymo_thread_info info = {.size = sizeof(info)};
        kymo_capture_thread(capture, i, &info);
        pace.records += !chosen || chosen[i] ? info.records : 0;
    }
    return pace;
}

kymo_ns kymo__pace_share(struct kymo_pace *pace, uint64_t records)
{
    if (!pace->until)
        return 0;
    const kymo_ns now = kymo__clock_ns(CLOCK_MONOTONIC);
    const kymo_ns left = kymo__ns_between(now, pace->until);
    if (records >= pace->records) {
        pace->records = 0;
        return pace->until;
    }
    const double part = (double)records / (double)pace->records;
    pace->records -= records;
    return kymo__ns_add(now, (kymo_ns)((double)left * part));
}

int kymo__pace_read(struct kymo_calls *calls, unsigned most, kymo_ns until, bool *cut)
{
    if (until && !*cut && kymo__clock_ns(CLOCK_MONOTONIC) >= until) {
        kymo__calls_cut(calls);
        *cut = true;
    }
    return kymo__calls_read(calls, most);
}
