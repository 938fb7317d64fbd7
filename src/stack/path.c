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

/* How many frames of the path are also the outermost of the COUNT in OWN->merged. */
static size_t common_frames(const struct kymo_walker *own, size_t count)
{
    size_t most = count < own->path_count ? count : own->path_count, i = 0;
    const struct kymo_merged *frame = own->merged + count;
    for (const struct kymo_path_frame *at = own->path; i < most; i++, at++) {
        frame--;
        if (at->frame.place != frame->place || at->frame.code != frame->code)
            break;
    }
    return i;
}

/* How many of the first COUNT frames of the path still have the same word, after some function of
   the interpreter was freed: another may be at its address. */
static size_t same_frames(const struct kymo_walker *own, size_t count)
{
    size_t i = 0;
    while (i < count && (own->path[i].frame.code == KYMO__NO_CODE ||
                         own->path[i].word == kymo__path_word(own->path[i].frame)))
        i++;
    return i;
}

/* How many frames of the path can be used. */
static size_t known_frames(struct kymo_walker *own, const struct kymo_path_scope *scope,
                           size_t count)
{
    struct kymo_path_scope before = own->path_scope;
    own->path_scope = *scope;
    if (before.session != scope->session || before.modules != scope->modules)
        return 0;
    size_t known = common_frames(own, count);
    return before.epoch == scope->epoch ? known : same_frames(own, known);
}

bool kymo__path_follow(struct kymo_walker *own, const struct kymo_path_scope *scope, size_t count,
                       kymo_stack *node)
{
    size_t i = known_frames(own, scope, count);
    *node = i ? own->path[i - 1].node : 0;
    for (; i < count; i++) {
        struct kymo_merged frame = own->merged[count - 1 - i];
        uint64_t word = word_of(own, scope->modules, frame);
        kymo_stack child = word ? kymo__stacktree_child(*node, word) : *node;
        own->path_count = i;
        if (word && !child)
            return false;
        own->path[i] = (struct kymo_path_frame){frame, word, *node = child};
    }
    own->path_count = count;
    return true;
}
