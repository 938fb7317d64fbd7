/* samples_shown.c — decide which frames of a stack are shown. */
#include "samples.h"

bool kymo__samples_shows(const struct kymo_samples *s, uint32_t node, bool between)
{
    const struct kymo_reader_stacks *stacks = &s->names.capture->reader->stacks;
    uint32_t frame = stacks->nodes[node].frame;
    if (stacks->frames[frame].kind != KYMO_FRAME_NATIVE || s->native == KYMO_NATIVE_ALL ||
        s->role[frame] == KYMO__ROLE_COLLECTOR)
        return true;
    if (s->native == KYMO_NATIVE_NONE)
        return false;
    if (between)
        return s->role[frame] == KYMO__ROLE_CODE;
    return !s->managed_outside[node] || s->role[frame] != KYMO__ROLE_MACHINERY;
}

size_t kymo__samples_shown(const struct kymo_samples *s, uint32_t node, struct kymo_shown *shown)
{
    const struct kymo_reader_stacks *stacks = &s->names.capture->reader->stacks;
    size_t count = 0;
    bool between = false; /* a Python frame was met further in */
    for (uint32_t at = node; at; at = stacks->nodes[at].parent) {
        uint32_t frame = stacks->nodes[at].frame;
        between |= kymo__samples_managed(s, at);
        if (!kymo__samples_shows(s, at, between))
            continue;
        for (size_t i = s->names.first[frame]; i < s->names.first[frame + 1]; i++) {
            if (kymo__samples_skips(s, frame, i))
                continue;
            if (count == KYMO__SHOWN_MOST) {
                shown[count++] = (struct kymo_shown){(uint32_t)s->named + 1, 0};
                return count;
            }
            shown[count++] = (struct kymo_shown){(uint32_t)i, frame};
        }
    }
    if (!count)
        shown[count++] = (struct kymo_shown){(uint32_t)s->named, 0};
    return count;
}

const struct kymo_callable *kymo__samples_callable(const struct kymo_samples *s, uint32_t named)
{
    return &s->survey->callables.all[s->callable_of[named]];
}
