/* path.c — see path.h. */
#include "path.h"

#include "hash.h"
#include "interrupted.h"
#include "stacktree.h"

uint64_t kymo__path_word(struct kymo_merged frame)
{
    if (frame.code == KYMO__NO_CODE)
        return kymo__native_word(frame.place);
    struct kymo_managed_frame one = {.code = frame.code, .place = frame.place};
    struct kymo_managed_walk walk = {.frames = &one, .capacity = 1, .count = 1};
    kymo__interpreter()->keep(&walk);
    return walk.count ? KYMO__MANAGED | one.code : 0;
}

/* The word of FRAME, for a thread that asks for the same few thousand addresses again and again. */
static inline uint64_t word_of(struct kymo_walker *own, uint64_t modules, struct kymo_merged frame)
{
    if (frame.code != KYMO__NO_CODE)
        return kymo__path_word(frame);
    uint64_t place = kymo__hash_word(frame.place) >> (64 - KYMO__WORD_BITS);
    struct kymo_word_memo *memo = &own->word_memos[place];
    if (memo->pc != frame.place || memo->modules != modules)
        *memo = (struct kymo_word_memo){frame.place, kymo__native_word(frame.place), modules};
    return memo->word;
}

/* The number of the first frame of the path from I on that has another word now, or COUNT: some function
   of the interpreter was freed, and another may be at its address. All of them are on the stack. */
static size_t same_words(const struct kymo_walker *own, size_t i, size_t count)
{
    while (i < count && (own->path[i].frame.code == KYMO__NO_CODE ||
                         own->path[i].word == kymo__path_word(own->path[i].frame)))
        i++;
    return i;
}

/* Take over the frames of MANAGED. Returns how many of the outermost have not changed. */
static size_t plant_managed(struct kymo_walker *own, const struct kymo_managed_walk *managed)
{
    size_t most = managed->count < own->planted_count ? managed->count : own->planted_count, i = 0;
    const struct kymo_managed_frame *from = managed->frames + managed->count;
    for (; i < most; i++) {
        const struct kymo_managed_frame *a = &own->planted[i], *b = from - 1 - i;
        if (a->place != b->place || a->code != b->code || a->mark != b->mark)
            break;
    }
    for (size_t j = i; j < managed->count; j++)
        own->planted[j] = from[-1 - (ptrdiff_t)j];
    own->planted_count = managed->count;
    return i;
}

/* How many of the first COUNT frames of the path come from frames of the two walks that have not
   changed. */
static size_t outer_frames(struct kymo_walker *own, size_t count, const struct kymo_walk *native,
                           const struct kymo_managed_walk *managed)
{
    size_t natives = own->same < native->count ? own->same : native->count;
    natives -= natives && natives == native->count; /* the innermost may begin elsewhere */
    size_t managed_same = plant_managed(own, managed);
    own->same = native->count ? native->count - 1 : 0;
    while (count && (own->path[count - 1].managed > managed_same ||
                     count - own->path[count - 1].managed > natives))
        count--;
    return count;
}

/* Merge the two walks without the OUTER outermost frames of the path. False if that is not possible. */
static bool merge_inner(struct kymo_walker *own, size_t outer, const struct kymo_walk *native,
                        const struct kymo_managed_walk *managed, uint64_t lowest, size_t *count)
{
    if (!outer)
        return false;
    const struct kymo_path_frame *last = &own->path[outer - 1];
    const struct kymo_merge_outer from = {
        .native = outer - last->managed,
        .managed = last->managed,
        .in_native = last->frame.code == KYMO__NO_CODE,
    };
    return kymo__merge_within(own->merged, KYMO__STACK_MAX - outer, native, managed, lowest, &from,
                              count);
}

/* How many of the USABLE frames of the path, from number OUTER on, are the outermost of the COUNT in
   OWN->merged. */
static size_t common_frames(const struct kymo_walker *own, size_t outer, size_t usable,
                            size_t count)
{
    size_t most = count < usable - outer ? count : usable - outer, i = 0;
    const struct kymo_merged *frame = own->merged + count;
    for (const struct kymo_path_frame *at = own->path + outer; i < most; i++, at++) {
        frame--;
        if (at->frame.place != frame->place || at->frame.code != frame->code)
            break;
    }
    return i;
}

bool kymo__path_follow(struct kymo_walker *own, const struct kymo_path_scope *scope,
                       const struct kymo_walk *native, const struct kymo_managed_walk *managed,
                       uint64_t lowest, kymo_stack *node)
{
    const struct kymo_path_scope before = own->path_scope;
    bool valid = before.session == scope->session && before.modules == scope->modules;
    bool doubtful = before.epoch != scope->epoch;
    size_t usable = valid ? own->path_count : 0, count;
    size_t from = outer_frames(own, own->path_whole ? usable : 0, native, managed);
    own->path_scope = *scope;
    if (doubtful)
        from = same_words(own, 0, from);
    if (!merge_inner(own, from, native, managed, lowest, &count)) {
        from = 0;
        count = kymo__merge(own->merged, KYMO__STACK_MAX, native, managed, lowest);
        own->path_whole = count < KYMO__STACK_MAX;
    }
    size_t known = from + common_frames(own, from, usable, count), total = from + count;
    if (doubtful)
        known = same_words(own, from, known);
    *node = known ? own->path[known - 1].node : 0;
    for (size_t i = known; i < total; i++) {
        struct kymo_merged frame = own->merged[total - 1 - i];
        uint64_t word = word_of(own, scope->modules, frame);
        kymo_stack child = word ? kymo__stacktree_child(*node, word) : *node;
        own->path_count = i;
        if (word && !child)
            return false;
        uint32_t managed_outer = i ? own->path[i - 1].managed : 0;
        own->path[i] = (struct kymo_path_frame){frame, word, *node = child,
                                                managed_outer + (frame.code != KYMO__NO_CODE)};
    }
    own->path_count = total;
    return true;
}
