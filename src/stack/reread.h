/* reread.h — find a stack again by the words that its walk read, without walking.

   Where a walk leads depends on where it begins, on the rules of what is loaded, and on the words that
   it reads on the way. If all of these are as they were when this thread recorded a stack, it is that
   stack. Comparing words is much cheaper than walking: none of them has to wait for another. */
#ifndef KYMO_REREAD_H
#define KYMO_REREAD_H

#include "hash.h"
#include "walker.h"

/* What a stack is looked for by. */
struct kymo_reread_key {
    uint64_t frame;   /* __builtin_frame_address(0) of a function that is still running: the walk is
                         compared from its caller on */
    uint64_t managed; /* hash of the interpreter's frames */
    uint64_t version; /* of the modules */
    uint32_t session;
    uint32_t how; /* which parts, and how many frames are left out */
};

enum { KYMO__REREAD_BLOCK = 8 };

static inline uint32_t kymo__reread_place(const struct kymo_reread_key *key)
{
    uint64_t hash = kymo__hash_word(key->frame ^ key->managed);
    return (uint32_t)(hash >> (64 - KYMO__REREAD_BITS));
}

/* Reads words of other functions' frames, whatever they contain. Those of a stack with the same frame
   address were read before, further out on the same stack, which is still there. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline bool
kymo__reads_same(const struct kymo_reread_word *words, size_t count)
{
    for (size_t i = 0; i < count; i += KYMO__REREAD_BLOCK) {
        uint64_t different = 0;
#pragma GCC unroll 8
        for (int j = 0; j < KYMO__REREAD_BLOCK; j++)
            different |= *(const uint64_t *)(uintptr_t)words[i + j].at ^ words[i + j].value;
        if (different)
            return false;
    }
    return true;
}

static inline bool kymo__reread_is(const struct kymo_walker *own, const struct kymo_reread *known,
                                   const struct kymo_reread_key *key)
{
    return known->frame == key->frame && known->managed == key->managed &&
           known->version == key->version && known->session == key->session &&
           known->how == key->how && own->reread_end - known->begin <= KYMO__REREAD_WORDS &&
           kymo__reads_same(&own->reread_words[known->begin % KYMO__REREAD_WORDS], known->count);
}

/* True if the stack with KEY is known; then *STACK is it. During a capture of OWN. */
static inline bool kymo__reread_find(const struct kymo_walker *own,
                                     const struct kymo_reread_key *key, kymo_stack *stack)
{
    uint32_t place = kymo__reread_place(key);
    for (unsigned i = 0; i < KYMO__REREAD_WAYS; i++) {
        const struct kymo_reread *known = &own->rereads[place ^ i];
        if (kymo__reread_is(own, known, key)) {
            *stack = known->stack;
            return true;
        }
    }
    return false;
}

/* STACK has KEY, and the last walk of OWN was its. Nothing is kept if the walk depended on more than
   words of the thread's own stack. */
void kymo__reread_keep(struct kymo_walker *own, const struct kymo_reread_key *key,
                       kymo_stack stack);

#endif
