/* chunks.h — a lock-free stack of chunks: any thread may push and pop. Links are chunk indices;
   the head also counts changes, so that a pop notices a chunk that was popped and pushed again
   meanwhile. */
#ifndef KYMO_CHUNKS_H
#define KYMO_CHUNKS_H

#include "atomic.h"
#include "format.h"

struct kymo_chunk_stack {
    uint64_t head;  /* changes << 32 | index + 1 of the top; 0 in the low half: empty */
    uint32_t count; /* approximate number of chunks */
};

static inline void kymo__chunks_push(struct kymo_chunk_stack *stack, struct kymo_chunk *chunks,
                                     struct kymo_chunk *chunk)
{
    uint64_t head = kymo__load_relaxed(&stack->head), top;
    do {
        kymo__store_relaxed(&chunk->next, (uint32_t)head);
        top = ((head >> 32) + 1) << 32 | (uint64_t)(chunk - chunks + 1);
    } while (!kymo__swap_if(&stack->head, &head, top));
    kymo__add_relaxed(&stack->count, 1u);
}

static inline struct kymo_chunk *kymo__chunks_pop(struct kymo_chunk_stack *stack,
                                                  struct kymo_chunk *chunks)
{
    uint64_t head = kymo__load_acquire(&stack->head), top;
    struct kymo_chunk *chunk;
    do {
        if (!(uint32_t)head)
            return NULL;
        chunk = &chunks[(uint32_t)head - 1];
        top = ((head >> 32) + 1) << 32 | kymo__load_relaxed(&chunk->next);
    } while (!kymo__swap_if(&stack->head, &head, top));
    kymo__add_relaxed(&stack->count, (uint32_t)-1);
    return chunk;
}

/* Take the whole stack at once, still linked: the index + 1 of the top, or 0. Chunks pushed
   meanwhile are not included, so the order is that of the pushes. */
static inline uint32_t kymo__chunks_take(struct kymo_chunk_stack *stack, struct kymo_chunk *chunks)
{
    uint64_t head = kymo__load_acquire(&stack->head);
    do {
        if (!(uint32_t)head)
            return 0;
    } while (!kymo__swap_if(&stack->head, &head, ((head >> 32) + 1) << 32));
    uint32_t taken = 0;
    for (uint32_t at = (uint32_t)head; at; at = kymo__load_relaxed(&chunks[at - 1].next))
        taken++;
    kymo__add_relaxed(&stack->count, -taken);
    return (uint32_t)head;
}

#endif
