/* framechain.h — what changed in a thread's frames since it was last asked.

   Frames are linked from the innermost outwards, and any of them may have moved on, so all must be
   looked at. But where they are is known from the last time, so that the processor, which guesses that
   nothing has changed, need not wait for one link to find the next frame. An address that is
   remembered is only compared; what is read are the frames that the links lead to. */
#ifndef KYMO_EXT_FRAMECHAIN_H
#define KYMO_EXT_FRAMECHAIN_H

#include KYMO_STACK_HEADER

/* Where the level of a frame is noted. */
static inline uint16_t *kymo__level_at(struct kymo_trail *trail, uint64_t frame)
{
    size_t mask = sizeof trail->levels / sizeof trail->levels[0] - 1;
    return &trail->levels[(frame >> 4 ^ frame >> 14) & mask];
}

/* Compare frames from *FRAME on, which is *AT, with those of the trail, as long as they are linked as they
   were. Returns the outermost that has changed, or NULL. *AT becomes what follows the last one
   compared, and *FRAME the next one. */
static inline const struct kymo_trail_frame *
kymo__compare_frames(const struct kymo_trail_frame **at, const kymo_py_frame **frame)
{
    const struct kymo_trail_frame *expected = *at, *changed = NULL;
    const kymo_py_frame *now = *frame;
    if (expected->code != kymo__frame_code(now))
        changed = expected;
    for (;;) {
        if (!kymo__frame_stays(now, expected))
            changed = expected;
        expected--;
        const uint64_t wanted = expected->frame;
        uint64_t next = wanted;
        __asm__("" : "+r"(next)); /* so that the compiler does not take the link instead of it */
        *frame = kymo__frame_caller(now);
        if ((uint64_t)(uintptr_t)*frame != wanted)
            break;
        now = (const kymo_py_frame *)(uintptr_t)next;
    }
    *at = expected;
    return changed;
}

/* Bring TRAIL up to date with the frames from TOP on; see kymo_interpreter.follow. */
static inline size_t kymo__follow_frames(const kymo_py_frame *top, struct kymo_trail *trail)
{
    const kymo_py_frame *frame = top;
    size_t count = 0, same = 0;
    while (frame) {
        size_t level = *kymo__level_at(trail, (uint64_t)(uintptr_t)frame);
        const struct kymo_trail_frame *first = &trail->frames[level], *at = first;
        if (level < trail->count && first->frame == (uint64_t)(uintptr_t)frame) {
            const struct kymo_trail_frame *changed = kymo__compare_frames(&at, &frame);
            count += (size_t)(first - at);
            if (!frame && at < trail->frames)
                same = changed ? (size_t)(changed - trail->frames) : level + 1;
        } else {
            frame = kymo__frame_caller(frame);
            count++;
        }
    }
    if (count > trail->capacity) {
        trail->count = 0;
        return SIZE_MAX;
    }
    trail->count = count;
    frame = top;
    for (size_t i = count; i-- > same; frame = kymo__frame_caller(frame)) {
        trail->frames[i] = (struct kymo_trail_frame){.frame = (uint64_t)(uintptr_t)frame,
                                                     .code = kymo__frame_code(frame),
                                                     .place = kymo__frame_place(frame)};
        *kymo__level_at(trail, (uint64_t)(uintptr_t)frame) = (uint16_t)i;
    }
    return same;
}

#endif
