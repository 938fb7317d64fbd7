/* capture.c — from the walks of one thread to one id. See kymo/stack.h.

   A frame is kept as a word:

       native     0 | module (15 bits) | return address (48 bits)
       managed    1 | the interpreter's number (63 bits)

   The hash is made of what the walks met. Only when it is new are the two stacks put together:
   every mark of the interpreter's is an address inside the native frame that runs it, so that
   their order is that of addresses. */
#include "interrupted.h"

#include <errno.h>
#include <string.h>

#include "atomic.h"
#include "bycontent.h"
#include "loader.h"
#include "modules.h"
#include "walk.h"
#include "walker.h"

#define MANAGED (UINT64_C(1) << 63)
#define ADDRESS_BITS 48
#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)
#define MODULE_MAX 0x7fffu

static const struct kymo_interpreter *interpreter;
static uint64_t epoch = 1; /* of the interpreter's functions; what is between changes it */

int kymo_interpreter_register(const struct kymo_interpreter *given)
{
    const struct kymo_interpreter *none = NULL;
    if (given->size < sizeof *given)
        return -EINVAL;
    return kymo__swap_if(&interpreter, &none, given) ? 0 : -KYMO_EREGISTERED;
}

const struct kymo_interpreter *kymo__interpreter(void)
{
    return kymo__load_acquire(&interpreter);
}

void kymo_interpreter_forget(void)
{
    kymo__add_relaxed(&epoch, UINT64_C(1));
}

static uint64_t native_word(uint64_t pc)
{
    const struct kymo_loaded *module = kymo__module_at(pc - 1);
    uint64_t number = module && module->number <= MODULE_MAX ? module->number : 0;
    return number << ADDRESS_BITS | (pc & ADDRESS_MASK);
}

/* Frames of an interpreter, up to and including the next one with a mark. */
static size_t put_managed(uint64_t *words, size_t count, const struct kymo_managed_walk *managed,
                          size_t *at)
{
    while (*at < managed->count && count < KYMO__STACK_MAX) {
        const struct kymo_managed_frame *frame = &managed->frames[(*at)++];
        words[count++] = MANAGED | frame->code;
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

/* Where the part of the stack begins that is native frame I's, which ends at the beginning of the
   next one further out. Where that is on another stack, as with a handler that has its own, and
   where nothing is known of it, frames are taken to be no longer than this. */
#define FRAME_MOST (UINT64_C(1) << 20)

static uint64_t frame_begin(const struct kymo_walk *native, size_t i, uint64_t lowest)
{
    uint64_t end = native->frames[i].end;
    uint64_t begin = i + 1 < native->count ? native->frames[i + 1].end : lowest;
    if (begin && begin <= end)
        return begin;
    return end > FRAME_MOST ? end - FRAME_MOST : 0;
}

/* Both walks as one row of words, innermost first. LOWEST is an address below the innermost frame,
   or 0. Marks that are in no native frame, on the stack of a coroutine library for instance, come
   last, with all that are further out. */
static size_t merge(uint64_t *words, const struct kymo_walk *native,
                    const struct kymo_managed_walk *managed, uint64_t lowest)
{
    size_t count = 0, at = 0;
    uint64_t mark = next_mark(managed, 0);
    for (size_t i = native->count; i-- > 0 && count < KYMO__STACK_MAX;) {
        uint64_t begin = frame_begin(native, i, lowest);
        while (mark >= begin && mark < native->frames[i].end && mark && count < KYMO__STACK_MAX) {
            count = put_managed(words, count, managed, &at);
            mark = next_mark(managed, at);
        }
        if (count < KYMO__STACK_MAX)
            words[count++] = native_word(native->frames[i].pc);
    }
    while (at < managed->count && count < KYMO__STACK_MAX)
        count = put_managed(words, count, managed, &at);
    return count;
}

static void skip_managed(struct kymo_managed_walk *managed, size_t skip)
{
    size_t gone = skip < managed->count ? skip : managed->count;
    managed->frames += gone;
    managed->count -= gone;
}

/* Which modules are known. Stacks captured before another one was loaded are not those captured
   after: the same address may lie in another file then. */
static inline uint64_t known_modules(bool in_signal)
{
    uint64_t known = kymo__modules_known();
    if (kymo__likely(known == kymo__modules_version()) || in_signal)
        return known;
    kymo__modules_refresh();
    return kymo__modules_known();
}

/* The id of what was walked. LOWEST: see merge. */
static kymo_stack identify(struct kymo_walker *own, const struct kymo_walk *native,
                           struct kymo_managed_walk *managed, unsigned skip, uint64_t lowest)
{
    uint64_t hash = kymo_stack_hash(native->hash ^ native->hash >> 32, managed->hash);
    hash = kymo_stack_hash(hash ^ hash >> 29, 0);
    hash ^= hash >> 32;
    kymo_stack stack = kymo__table_find(hash);
    if (kymo__likely(stack != 0))
        return stack;
    if (managed->count)
        kymo__interpreter()->keep(managed);
    skip_managed(managed, skip);
    size_t count = merge(own->words, native, managed, lowest);
    return count ? kymo__table_add(hash, own->words, count) : 0;
}

static inline void walk_managed(struct kymo_managed_walk *managed, unsigned skip)
{
    const struct kymo_interpreter *known = kymo__interpreter();
    managed->hash = kymo_stack_hash(kymo__load_relaxed(&epoch), skip + 1);
    if (known)
        known->walk(managed);
}

/* Have what the frames of STACK, which is this thread's, are called learnt while they live. */
static void name_frames(struct kymo_walker *own, kymo_stack stack)
{
    const struct kymo_interpreter *known = kymo__interpreter();
    size_t count = stack && known ? kymo__table_words(stack, own->words, KYMO__STACK_MAX) : 0;
    for (size_t i = 0; i < count && i < KYMO__STACK_MAX; i++)
        if (own->words[i] & MANAGED)
            known->peek(own->words[i] & ~MANAGED);
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
    if (parts & KYMO_STACK_MANAGED)
        walk_managed(&managed, managed_skip);
    if (parts & KYMO_STACK_NATIVE && kymo__walk(&native, skip + 1))
        native.hash = kymo_stack_hash(native.hash, known_modules(false));
    kymo_stack stack = identify(own, &native, &managed, managed_skip, sp);
    if (kymo__unlikely(parts & KYMO_STACK_NAMED))
        name_frames(own, stack);
    kymo__walker_captured(own, native.truncated || managed.truncated);
    return stack;
}

kymo_stack kymo__stack_capture_context(unsigned parts, const void *context)
{
    struct kymo_walker *own = kymo__walker_capture((uint64_t)(uintptr_t)__builtin_frame_address(0));
    if (!own)
        return 0;
    struct kymo_walk native = {0};
    struct kymo_managed_walk managed = {
        .frames = own->managed, .capacity = KYMO__STACK_MAX, .careful = 1};
    if (parts & KYMO_STACK_MANAGED)
        walk_managed(&managed, 0);
    if (parts & KYMO_STACK_NATIVE && kymo__walk_context(&native, context))
        native.hash = kymo_stack_hash(native.hash, known_modules(true));
    kymo_stack stack = identify(own, &native, &managed, 0, 0);
    if (kymo__unlikely(parts & KYMO_STACK_NAMED))
        name_frames(own, stack);
    kymo__walker_captured(own, native.truncated || managed.truncated);
    return stack;
}

size_t kymo_stack_frames(kymo_stack stack, struct kymo_frame *frames, size_t count)
{
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
        bool managed = (word & MANAGED) != 0;
        frames[i].managed = managed;
        frames[i].module = managed ? 0 : (uint32_t)(word >> ADDRESS_BITS);
        frames[i].address = managed ? word & ~MANAGED : word & ADDRESS_MASK;
    }
    return total;
}

int kymo_stack_stats(struct kymo_stack_stats *stats)
{
    if (stats->size < sizeof(size_t))
        return -EINVAL;
    struct kymo_stack_stats now = {.size = stats->size};
    kymo__table_stats(&now);
    kymo__walker_counts(&now.captures, &now.truncated);
    memcpy(stats, &now, stats->size < sizeof now ? stats->size : sizeof now);
    return 0;
}
