/* trail.c — see trail.h. */
#include "trail.h"

#include "interrupted.h"
#include "path.h"
#include "stacktree.h"
#include "walker.h"

/* `known` of a frame, and of a memo: the node in the low half, and whether it was used as a stack. */
#define USED (UINT64_C(1) << 32)

static inline kymo_stack node_of(uint64_t known)
{
    return (kymo_stack)known;
}

static inline uint64_t known_below(const struct kymo_trail *trail, size_t i)
{
    return i ? trail->frames[i - 1].known : 0;
}

static inline struct kymo_trail_memo *
memo_of(struct kymo_walker *own, const struct kymo_trail_frame *frame, kymo_stack parent)
{
    uint64_t hash = (frame->place ^ (uint64_t)parent << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return &own->trail_memos[hash >> (64 - KYMO__TRAIL_MEMO_BITS)];
}

/* Everything that the meaning of addresses depends on. */
static inline uint64_t scope_of(uint32_t session)
{
    return (uint64_t)session << 40 ^ kymo__interpreter_epoch();
}

/* Find the nodes of the frames from trail_done on in the thread's table. */
static inline bool recall_frames(struct kymo_walker *own)
{
    struct kymo_trail *trail = &own->trail;
    uint64_t known = known_below(trail, own->trail_done);
    for (; own->trail_done < trail->count; own->trail_done++) {
        struct kymo_trail_frame *frame = &trail->frames[own->trail_done];
        const struct kymo_trail_memo *memo = memo_of(own, frame, node_of(known));
        if (kymo__unlikely(memo->place != frame->place || memo->code != frame->code ||
                           memo->parent != node_of(known) || memo->scope != own->trail_scope))
            return false;
        frame->known = known = memo->known;
    }
    return known & USED || !node_of(known);
}

static inline void end_use(struct kymo_walker *own)
{
    kymo__compiler_fence();
    kymo__store_relaxed(&own->trail_busy, 0u);
}

enum kymo_trail_found kymo__trail_look(uint32_t session, kymo_stack *stack)
{
    struct kymo_walker *own = kymo__walker;
    *stack = 0;
    if (kymo__unlikely(own->trail_busy))
        return KYMO__TRAIL_NONE; /* a signal handler interrupted it, or jumped out of it */
    kymo__store_relaxed(&own->trail_busy, 1u);
    kymo__compiler_fence();
    if (kymo__unlikely(own->trail_session != session)) {
        own->trail.frames = own->trail_frames + 1;
        own->trail_frames[0].frame = KYMO_NO_FRAME;
        own->trail.capacity = KYMO__STACK_MAX;
        own->trail.count = 0;
        own->trail_session = session;
    }
    uint64_t scope = scope_of(session);
    size_t same = kymo__interpreter()->follow(&own->trail);
    if (kymo__unlikely(same > own->trail.count)) {
        own->trail.count = 0;
        end_use(own);
        return KYMO__TRAIL_NONE;
    }
    own->trail_done = same;
    own->trail_deep = own->trail.count >= KYMO__SHALLOW / 2;
    if (kymo__unlikely(own->trail_scope != scope))
        return KYMO__TRAIL_NEW;
    if (kymo__unlikely(!recall_frames(own)))
        return KYMO__TRAIL_NEW;
    *stack = node_of(known_below(&own->trail, own->trail.count));
    end_use(own);
    return KYMO__TRAIL_KNOWN;
}

static uint64_t word_of(const struct kymo_trail_frame *frame)
{
    return frame->code ? kymo__path_word((struct kymo_merged){frame->code, frame->place}) : 0;
}

/* How many of the first COUNT frames still have the same word, after some function of the
   interpreter was freed: another may be at its address. */
static size_t still_same(const struct kymo_trail *trail, size_t count)
{
    kymo_stack parent = 0;
    for (size_t i = 0; i < count; i++) {
        kymo_stack node = node_of(trail->frames[i].known);
        uint64_t word = word_of(&trail->frames[i]);
        if (word ? node == parent || kymo__stacktree_word(node) != word : node != parent)
            return i;
        parent = node;
    }
    return count;
}

/* Look the frame up in the tree, below PARENT. False if there is no room. */
static bool plant_frame(struct kymo_walker *own, struct kymo_trail_frame *frame, uint64_t parent)
{
    uint64_t word = word_of(frame);
    kymo_stack child = word ? kymo__stacktree_child(node_of(parent), word) : 0;
    if (word && !child)
        return false;
    frame->known = word ? child : parent;
    *memo_of(own, frame, node_of(parent)) = (struct kymo_trail_memo){.place = frame->place,
                                                                     .code = frame->code,
                                                                     .scope = own->trail_scope,
                                                                     .known = frame->known,
                                                                     .parent = node_of(parent)};
    return true;
}

/* The innermost frame's node is used as a stack. */
static void mark_used(struct kymo_walker *own)
{
    struct kymo_trail *trail = &own->trail;
    struct kymo_trail_frame *last = &trail->frames[trail->count - 1];
    kymo_stack parent = node_of(known_below(trail, trail->count - 1));
    struct kymo_trail_memo *memo = memo_of(own, last, parent);
    last->known |= USED;
    if (memo->place == last->place && memo->code == last->code && memo->parent == parent &&
        memo->scope == own->trail_scope)
        memo->known = last->known;
}

bool kymo__trail_plant(uint32_t session, kymo_stack *stack, bool *fresh)
{
    struct kymo_walker *own = kymo__walker;
    struct kymo_trail *trail = &own->trail;
    uint64_t scope = scope_of(session);
    *stack = 0;
    *fresh = false;
    if (own->trail_scope != scope) {
        own->trail_done = still_same(trail, own->trail_done);
        own->trail_scope = scope;
    }
    bool room = true;
    while (room && !recall_frames(own) && own->trail_done < trail->count) {
        room =
            plant_frame(own, &trail->frames[own->trail_done], known_below(trail, own->trail_done));
        own->trail_done += room;
    }
    trail->count = own->trail_done; /* the rest is tried again */
    *stack = room ? node_of(known_below(trail, trail->count)) : 0;
    if (*stack) {
        *fresh = kymo__stacktree_use(*stack);
        mark_used(own);
    }
    end_use(own);
    return room;
}

void kymo__trail_drop(void)
{
    kymo__walker->trail.count = 0;
    end_use(kymo__walker);
}
