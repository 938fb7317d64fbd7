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

/* A merge that is going on, from the innermost frames outwards. */
struct merging {
    struct kymo_merged *frames;
    size_t count, most;
    const struct kymo_walk *native;
    const struct kymo_managed_walk *managed;
    size_t at;     /* of the interpreter's frames, the next */
    uint64_t mark; /* the next */
    uint64_t lowest;
};

/* Append the interpreter's frames that native frame I runs. */
static inline void put_run(struct merging *m, size_t i)
{
    uint64_t begin = frame_begin(m->native, i, m->lowest), end = m->native->frames[i].end;
    while (m->mark >= begin && m->mark < end && m->mark && m->count < m->most) {
        m->count = put_managed(m->frames, m->count, m->most, m->managed, &m->at);
        m->mark = next_mark(m->managed, m->at);
    }
}

/* Append all native frames except the OUTER outermost ones, each after what it runs. */
static inline void put_native(struct merging *m, size_t outer)
{
    for (size_t i = m->native->count; i-- > outer && m->count < m->most;) {
        put_run(m, i);
        if (m->count < m->most)
            m->frames[m->count++] = (struct kymo_merged){KYMO__NO_CODE, m->native->frames[i].pc};
    }
}

size_t kymo__merge(struct kymo_merged *frames, size_t most, const struct kymo_walk *native,
                   const struct kymo_managed_walk *managed, uint64_t lowest)
{
    struct merging m = {frames, 0, most, native, managed, 0, next_mark(managed, 0), lowest};
    put_native(&m, 0);
    while (m.at < managed->count && m.count < most)
        m.count = put_managed(frames, m.count, most, managed, &m.at);
    return m.count;
}

bool kymo__merge_within(struct kymo_merged *frames, size_t most, const struct kymo_walk *native,
                        const struct kymo_managed_walk *managed, uint64_t lowest,
                        const struct kymo_merge_outer *outer, size_t *count)
{
    struct merging m = {frames, 0, most, native, managed, 0, next_mark(managed, 0), lowest};
    const size_t end = managed->count - outer->managed;
    put_native(&m, outer->native);
    if (outer->in_native)
        put_run(&m, outer->native - 1);
    else /* it is the interpreter's, and these were called from it without a native call in between */
        for (; m.at < end && !managed->frames[m.at].mark && m.count < most; m.at++)
            frames[m.count++] =
                (struct kymo_merged){managed->frames[m.at].code, managed->frames[m.at].place};
    *count = m.count;
    return m.at == end && m.count < most;
}
