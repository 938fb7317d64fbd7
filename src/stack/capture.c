/* capture.c — combine the walks of one thread into one id. See kymo/stack.h.

   The hash is computed during the walks. Only if it is new are the two stacks merged. Stacks that a
   session keeps become nodes of the tree, all others are kept by content. */
#include "interrupted.h"

#include <errno.h>
#include <string.h>

#include "atomic.h"
#include "bycontent.h"
#include "loader.h"
#include "merge.h"
#include "modules.h"
#include "path.h"
#include "reread.h"
#include "stacktree.h"
#include "walk.h"
#include "walker.h"

struct kymo_interpreting kymo__interpreting = {.epoch = 1};

int kymo_interpreter_register(const struct kymo_interpreter *given)
{
    const struct kymo_interpreter *none = NULL;
    if (given->size < sizeof *given)
        return -EINVAL;
    return kymo__swap_if(&kymo__interpreting.interpreter, &none, given) ? 0 : KYMO_EREGISTERED;
}

void kymo_interpreter_forget(void)
{
    kymo__add_relaxed(&kymo__interpreting.epoch, UINT64_C(1));
}

static void skip_managed(struct kymo_managed_walk *managed, size_t skip)
{
    size_t gone = skip < managed->count ? skip : managed->count;
    managed->frames += gone;
    managed->count -= gone;
}

/* The version of known modules. Stacks captured before a module was loaded differ from those
   captured after: the same address may be in another file. */
static inline uint64_t known_modules(bool in_signal)
{
    uint64_t known = kymo__modules_known();
    if (kymo__likely(known == kymo__modules_version()) || in_signal)
        return known;
    kymo__modules_refresh();
    return kymo__modules_known();
}

static inline uint64_t hash_both(const struct kymo_walk *native,
                                 const struct kymo_managed_walk *managed)
{
    uint64_t hash = kymo_stack_hash(native->hash ^ native->hash >> 32, managed->hash);
    hash = kymo_stack_hash(hash ^ hash >> 29, 0);
    return hash ^ hash >> 32;
}

/* The id of what was walked and has this HASH. LOWEST: see merge.h. */
static kymo_stack identify(struct kymo_walker *own, uint64_t hash, const struct kymo_walk *native,
                           struct kymo_managed_walk *managed, unsigned skip, uint64_t lowest)
{
    kymo_stack stack = kymo__table_find(hash);
    if (kymo__likely(stack != 0))
        return stack;
    if (managed->count)
        kymo__interpreter()->keep(managed);
    skip_managed(managed, skip);
    size_t count = kymo__merge(own->merged, KYMO__STACK_MAX, native, managed, lowest);
    for (size_t i = 0; i < count; i++)
        own->words[i] = own->merged[i].code == KYMO__NO_CODE
                            ? kymo__native_word(own->merged[i].place)
                            : KYMO__MANAGED | own->merged[i].code;
    return count ? kymo__table_add(hash, own->words, count) : 0;
}

static inline uint64_t managed_seed(unsigned skip)
{
    return kymo_stack_hash(kymo__interpreter_epoch(), skip + 1);
}

static inline void walk_managed(struct kymo_managed_walk *managed, unsigned skip)
{
    const struct kymo_interpreter *known = kymo__interpreter();
    managed->hash = managed_seed(skip);
    if (known)
        known->walk(managed);
}

/* Resolve the names of STACK's frames, which is this thread's, while they exist. */
static void name_frames(struct kymo_walker *own, kymo_stack stack)
{
    const struct kymo_interpreter *known = kymo__interpreter();
    size_t count = stack && known ? kymo__table_words(stack, own->words, KYMO__STACK_MAX) : 0;
    for (size_t i = 0; i < count && i < KYMO__STACK_MAX; i++)
        if (own->words[i] & KYMO__MANAGED)
            known->peek(own->words[i] & ~KYMO__MANAGED);
}

/* Walk what PARTS asks for. SKIP counts native frames if those are among it. */
static inline __attribute__((always_inline)) void walk_both(unsigned parts, unsigned skip,
                                                            struct kymo_walk *native,
                                                            struct kymo_managed_walk *managed,
                                                            unsigned managed_skip)
{
    if (parts & KYMO_STACK_MANAGED)
        walk_managed(managed, managed_skip);
    if (parts & KYMO_STACK_NATIVE && kymo__walk(native, skip))
        native->hash = kymo_stack_hash(native->hash, known_modules(false));
}

__attribute__((noinline)) kymo_stack kymo_stack_capture(unsigned parts, unsigned skip)
{
    uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct kymo_walker *own = kymo__walker_capture(sp);
    if (kymo__unlikely(!own))
        return 0;
    struct kymo_walk native = {0};
    struct kymo_managed_walk managed = {.frames = own->managed, .capacity = KYMO__STACK_MAX};
    unsigned managed_skip = parts & KYMO_STACK_NATIVE ? 0 : skip;
    walk_both(parts, skip + 1, &native, &managed, managed_skip);
    kymo_stack stack =
        identify(own, hash_both(&native, &managed), &native, &managed, managed_skip, sp);
    if (kymo__unlikely(parts & KYMO_STACK_NAMED))
        name_frames(own, stack);
    kymo__walker_captured(own, native.truncated || managed.truncated);
    return stack;
}

/* ---- stacks that the session keeps ---- */

/* What this thread knows about the stack with HASH. True if it knows it. */
static inline bool recall(struct kymo_walker *own, uint64_t hash, uint32_t session,
                          kymo_stack *stack)
{
    struct kymo_walk_memo *memo = &own->memos[hash % KYMO__MEMOS];
    /* A signal handler may replace it at any time, changing the hash first. */
    *stack = memo->stack;
    kymo__compiler_fence();
    return kymo__likely(memo->hash == hash && memo->session == session);
}

enum kymo_recalled kymo__stack_recall(uint32_t session, kymo_stack *stack)
{
    struct kymo_walker *own = kymo__walker;
    const struct kymo_interpreter *known = kymo__interpreter();
    *stack = 0;
    if (kymo__unlikely(!known || !known->hash))
        return known ? KYMO__RECALL_LOOK : KYMO__RECALL_KNOWN;
    if (own && own->trail_deep)
        return KYMO__RECALL_DEEP;
    uint64_t seed = managed_seed(0);
    struct kymo_managed_walk managed = {.hash = known->hash(seed, KYMO__SHALLOW)};
    if (managed.hash == seed)
        return KYMO__RECALL_KNOWN; /* no frames: the thread is not the interpreter's */
    if (!own)
        return KYMO__RECALL_LOOK;
    if (managed.hash == UINT64_MAX) {
        own->trail_deep = 1;
        return KYMO__RECALL_DEEP;
    }
    return recall(own, hash_both(&(struct kymo_walk){0}, &managed), session, stack)
               ? KYMO__RECALL_KNOWN
               : KYMO__RECALL_LOOK;
}

/* MANAGED: the hash of the interpreter's frames. */
static inline struct kymo_reread_key reread_key(unsigned parts, unsigned skip, uint32_t session,
                                                uint64_t frame, uint64_t managed)
{
    return (struct kymo_reread_key){
        .frame = frame,
        .managed = managed,
        .version = kymo__modules_version(),
        .session = session,
        .how = parts | skip << 8,
    };
}

bool kymo__stack_again(unsigned parts, unsigned skip, uint32_t session, uint64_t frame,
                       kymo_stack *stack)
{
    const struct kymo_interpreter *known = kymo__interpreter();
    struct kymo_walker *own = kymo__walker;
    bool managed = parts & KYMO_STACK_MANAGED;
    if (!own || !own->reread_found || own->capture || (managed && known && !known->hash))
        return false;
    kymo__store_relaxed(&own->capture, frame);
    kymo__compiler_fence();
    uint64_t hash = managed ? managed_seed(0) : 0;
    if (managed && known)
        hash = known->hash(hash, KYMO__REREAD_MANAGED);
    const struct kymo_reread_key key = reread_key(parts, skip, session, frame, hash);
    own->reread_found = kymo__reread_find(own, &key, stack);
    if (own->reread_found)
        kymo__walker_captured(own, false);
    else
        kymo__store_relaxed(&own->capture, UINT64_C(0));
    return own->reread_found;
}

/* The stack of PENDING, whose walk just ended, is known: it may be found without one from now on. */
static void keep_words(const struct kymo_pending *pending, const struct kymo_reread_key *key,
                       kymo_stack stack)
{
    struct kymo_walker *own = pending->own;
    if (key->frame && pending->native.count && !pending->native.truncated &&
        !pending->managed.truncated && own->version == key->version &&
        kymo__modules_known() == key->version)
        kymo__reread_keep(own, key, stack);
}

__attribute__((noinline)) bool kymo__stack_look(unsigned parts, unsigned skip, uint32_t session,
                                                uint64_t frame, struct kymo_pending *pending,
                                                kymo_stack *stack)
{
    uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct kymo_walker *own = kymo__walker_capture(sp);
    *stack = 0;
    if (kymo__unlikely(!own))
        return true;
    pending->own = own;
    pending->native = (struct kymo_walk){0};
    pending->managed =
        (struct kymo_managed_walk){.frames = own->managed, .capacity = KYMO__STACK_MAX};
    unsigned managed_skip = parts & KYMO_STACK_NATIVE ? 0 : skip;
    if (parts & KYMO_STACK_MANAGED)
        walk_managed(&pending->managed, managed_skip);
    struct kymo_reread_key key = {0};
    if (parts & KYMO_STACK_NATIVE) {
        key = reread_key(parts, skip, session, frame, pending->managed.hash);
        own->reread_found = kymo__reread_find(own, &key, stack);
        if (own->reread_found) {
            kymo__walker_captured(own, false);
            return true;
        }
        if (kymo__walk(&pending->native, skip + 2))
            pending->native.hash = kymo_stack_hash(pending->native.hash, known_modules(false));
    }
    uint64_t hash = hash_both(&pending->native, &pending->managed);
    bool known = recall(own, hash, session, stack);
    if (known)
        keep_words(pending, &key, *stack);
    if (known || !(pending->native.count | pending->managed.count)) {
        kymo__walker_captured(own, pending->native.truncated || pending->managed.truncated);
        return true;
    }
    *stack = 0;
    pending->session = session;
    pending->hash = hash;
    pending->lowest = sp;
    pending->parts = parts;
    pending->skip = managed_skip;
    return false;
}

/* A signal handler that captures reads memos too: an incomplete one has no hash. */
static void remember_pending(const struct kymo_pending *pending, kymo_stack stack)
{
    struct kymo_walk_memo *memo = &pending->own->memos[pending->hash % KYMO__MEMOS];
    kymo__store_relaxed(&memo->hash, UINT64_C(0));
    kymo__compiler_fence();
    memo->session = pending->session;
    memo->stack = stack;
    kymo__compiler_fence();
    kymo__store_relaxed(&memo->hash, pending->hash);
}

bool kymo__stack_plant(struct kymo_pending *pending, kymo_stack *stack)
{
    struct kymo_walker *own = pending->own;
    const struct kymo_path_scope scope = {.session = pending->session,
                                          .epoch = kymo__interpreter_epoch(),
                                          .modules = kymo__modules_known()};
    bool planted =
        kymo__path_follow(own, &scope, &pending->native, &pending->managed, pending->lowest, stack);
    for (unsigned i = 0; i < pending->skip && *stack; i++)
        *stack = kymo__stacktree_parent(*stack);
    if (pending->parts & KYMO_STACK_NAMED)
        for (kymo_stack at = *stack; at; at = kymo__stacktree_parent(at))
            if (kymo__stacktree_word(at) & KYMO__MANAGED)
                kymo__interpreter()->peek(kymo__stacktree_word(at) & ~KYMO__MANAGED);
    if (planted)
        remember_pending(pending, *stack);
    return planted;
}

void kymo__stack_looked(struct kymo_pending *pending)
{
    kymo__walker_captured(pending->own, pending->native.truncated || pending->managed.truncated);
}

/* ---- in signal handlers ---- */

kymo_stack kymo__stack_capture_context(unsigned parts, const void *context, bool *torn)
{
    if (torn)
        *torn = false;
    struct kymo_walker *own = kymo__walker_capture((uint64_t)(uintptr_t)__builtin_frame_address(0));
    if (!own)
        return 0;
    struct kymo_walk native = {0};
    struct kymo_managed_walk managed = {
        .frames = own->managed, .capacity = KYMO__STACK_MAX, .careful = 1};
    if (parts & KYMO_STACK_MANAGED)
        walk_managed(&managed, 0);
    if (torn && managed.torn) {
        *torn = true;
        kymo__walker_captured(own, false);
        return 0;
    }
    if (parts & KYMO_STACK_NATIVE && kymo__walk_context(&native, context))
        native.hash = kymo_stack_hash(native.hash, known_modules(true));
    kymo_stack stack = identify(own, hash_both(&native, &managed), &native, &managed, 0, 0);
    if (kymo__unlikely(parts & KYMO_STACK_NAMED))
        name_frames(own, stack);
    kymo__walker_captured(own, native.truncated || managed.truncated);
    return stack;
}

static size_t tree_frames(kymo_stack stack, struct kymo_frame *frames, size_t count)
{
    size_t total = 0;
    for (; stack; stack = kymo__stacktree_parent(stack), total++)
        if (total < count)
            frames[total] = kymo__word_frame(kymo__stacktree_word(stack));
    return total;
}

size_t kymo_stack_frames(kymo_stack stack, struct kymo_frame *frames, size_t count)
{
    if (kymo__stacktree_has(stack))
        return tree_frames(stack, frames, count);
    size_t total = stack ? kymo__table_words(stack, NULL, 0) : 0;
    if (count > total)
        count = total;
    /* The words go into the last part of the frames: a word is shorter. */
    uint64_t *words = (uint64_t *)(frames + count) - count;
    if (count)
        kymo__table_words(stack, words, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, &words[i], sizeof word);
        frames[i] = kymo__word_frame(word);
    }
    return total;
}

int kymo_stack_stats(struct kymo_stack_stats *stats)
{
    if (stats->size < sizeof(size_t))
        return -EINVAL;
    struct kymo_stack_stats now = {.size = stats->size};
    kymo__table_stats(&now);
    kymo__stacktree_stats(&now);
    kymo__walker_counts(&now.captures, &now.truncated);
    memcpy(stats, &now, stats->size < sizeof now ? stats->size : sizeof now);
    return 0;
}
