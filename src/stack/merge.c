/* merge.c — see merge.h. */
#include "merge.h"

#include "modules.h"

#define ADDRESS_BITS 48
#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)
#define MODULE_MAX 0x7fffu

uint64_t kymo__native_word(uint64_t pc)
{
    struct kymo_loaded module;
    bool known = kymo__module_at(pc - 1, &module) && module.number <= MODULE_MAX;
    uint64_t number = known ? module.number : 0;
    return number << ADDRESS_BITS | (pc & ADDRESS_MASK);
}

struct kymo_frame kymo__word_frame(uint64_t word)
{
    bool managed = (word & KYMO__MANAGED) != 0;
    return (struct kymo_frame){
        .address = managed ? word & ~KYMO__MANAGED : word & ADDRESS_MASK,
        .module = managed ? 0 : (uint32_t)(word >> ADDRESS_BITS),
        .managed = managed,
    };
}

/* Append interpreter frames, up to and including the next one with a mark. */
static size_t put_managed(struct kymo_merged *frames, size_t count, size_t most,
                          const struct kymo_managed_walk *managed, size_t *at)
{
    while (*at < managed->count && count < most) {
        const struct kymo_managed_frame *frame = &managed->frames[(*at)++];
        frames[count++] = (struct kymo_merged){frame->code, frame->place};
        if (frame->mark)
            break;
    }
    return count;
}

/* The next mark from AT on, or 0. */
static uint64_t next_mark(const struct kymo_managed_walk *managed, size_t at)
{
    while (at < managed->count && !managed->frames[at].mark)
        at++;
    return at < managed->count ? managed->frames[at].mark : 0;
}

/* Native frame I starts where the next inner one ends. If that is on another stack, as with a
   handler on an alternate stack, or unknown, frames are assumed to be no longer than this. */
#define FRAME_MOST (UINT64_C(1) << 20)

static uint64_t frame_begin(const struct kymo_walk *native, size_t i, uint64_t lowest)
{
    uint64_t end = native->frames[i].end;
    uint64_t begin = i + 1 < native->count ? native->frames[i + 1].end : lowest;
    if (begin && begin <= end)
        return begin;
    return end > FRAME_MOST ? end - FRAME_MOST : 0;
}

size_t kymo__merge(struct kymo_merged *frames, size_t most, const struct kymo_walk *native,
                   const struct kymo_managed_walk *managed, uint64_t lowest)
{
    size_t count = 0, at = 0;
    uint64_t mark = next_mark(managed, 0);
    for (size_t i = native->count; i-- > 0 && count < most;) {
        uint64_t begin = frame_begin(native, i, lowest);
        while (mark >= begin && mark < native->frames[i].end && mark && count < most) {
            count = put_managed(frames, count, most, managed, &at);
            mark = next_mark(managed, at);
        }
        if (count < most)
            frames[count++] = (struct kymo_merged){KYMO__NO_CODE, native->frames[i].pc};
    }
    while (at < managed->count && count < most)
        count = put_managed(frames, count, most, managed, &at);
    return count;
}
