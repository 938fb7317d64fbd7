/* align.c — align the clocks of several captures; see rewrite.h. */
#include <errno.h>

#include "rewrite.h"

int kymo__align(struct kymo_part *parts, size_t count, enum kymo_align how,
                struct kymo_alignment *alignment)
{
    *alignment = (struct kymo_alignment){.start = how == KYMO__ALIGN_START};
    struct kymo_info first = {.size = sizeof(first)};
    kymo_capture_info(parts[0].capture, &first);
    struct kymo_hostclock reference, clock;
    kymo__hostclock_read(parts[0].capture, &reference);
    parts[0].shift = 0;
    parts[0].relation = (struct kymo_relation){.sync = KYMO__SYNC_YES};
    for (size_t i = 1; i < count; i++) {
        struct kymo_info info = {.size = sizeof(info)};
        kymo_capture_info(parts[i].capture, &info);
        if (how == KYMO__ALIGN_START) {
            parts[i].shift = first.start - info.start;
            parts[i].relation = (struct kymo_relation){.how = KYMO__RELATED_START,
                                                       .shift = parts[i].shift,
                                                       .error = -1,
                                                       .drift_error = -1};
            continue;
        }
        kymo__hostclock_read(parts[i].capture, &clock);
        parts[i].relation = kymo__hostclock_relate(&reference, &clock, how == KYMO__ALIGN_WALL);
        parts[i].shift = parts[i].relation.shift;
        if (parts[i].relation.how == KYMO__RELATED_MONOTONIC)
            continue;
        alignment->wall = true;
        if (how == KYMO__ALIGN_WALL)
            continue;
        kymo_ns start = info.start + parts[i].shift, end = info.end + parts[i].shift;
        bool known = first.wall_start > 0 && info.wall_start > 0;
        if (known && start <= first.end && end >= first.start)
            continue;
        alignment->strange = i;
        alignment->apart = !known ? 0 : start > first.end ? start - first.end : first.start - end;
        return -EDOM;
    }
    return 0;
}
