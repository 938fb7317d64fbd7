/* align.c — align the clocks of several captures; see rewrite.h. */
#include <errno.h>
#include <string.h>

#include "rewrite.h"

static bool same_boot(const struct kymo_part *a, const struct kymo_part *b)
{
    static const uint8_t unknown[16];
    const uint8_t *x = a->capture->reader->header.boot, *y = b->capture->reader->header.boot;
    return memcmp(x, y, 16) == 0 && memcmp(x, unknown, 16) != 0;
}

int kymo__align(struct kymo_part *parts, size_t count, enum kymo_align how,
                struct kymo_alignment *alignment)
{
    *alignment = (struct kymo_alignment){.start = how == KYMO__ALIGN_START};
    struct kymo_info first = {.size = sizeof(first)};
    kymo_capture_info(parts[0].capture, &first);
    parts[0].shift = 0;
    for (size_t i = 1; i < count; i++) {
        struct kymo_info info = {.size = sizeof(info)};
        kymo_capture_info(parts[i].capture, &info);
        if (how == KYMO__ALIGN_START) {
            parts[i].shift = first.start - info.start;
            continue;
        }
        parts[i].shift = 0;
        if (how == KYMO__ALIGN_BEST && same_boot(&parts[0], &parts[i]))
            continue;
        alignment->wall = true;
        parts[i].shift = parts[i].capture->base.wall_offset - parts[0].capture->base.wall_offset;
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
