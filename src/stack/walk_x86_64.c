/* walk_x86_64.c — see walk.h: code here has no frame pointers, so each step needs the rule for its
   address. Three things make that fast.

   A thread caches the rules of the addresses it met and, for each, the caller of last time (struct
   kymo_site): as long as the guess is right, the next rule is available before the return address
   has been read. No step depends on a branch that could be mispredicted.

   It also remembers the last walk, with every stack word that was read. A rule depends only on the
   address; so if this walk reaches a frame with the same address and registers, and all words
   further out are unchanged, the rest is the same. It is then enough to compare those words, which
   do not depend on each other.

   Rules that are not simple are handled by odd_x86_64.c. Frames inside such a frame are walked
   again each time, as are stacks that are not the thread's own: what was read there last time may
   be gone. */
#include "walk.h"

#include "hash.h"
#include "loader.h"
#include "rules.h"
#include "step_x86_64.h"
#include "walker.h"

#define FACTOR UINT64_C(0xd1342543de82ef95)

enum { BLOCK = 8 };

KYMO__COLD static void site_make(struct kymo_site *site, uint64_t pc, uint64_t version)
{
    struct kymo_rule rule = kymo__rule_at(pc - 1, version);
    int saved = rule.fp ? rule.fp + 8 : 0;
    bool by_fp = rule.kind == KYMO__RULE_FP;
    bool simple = by_fp || (rule.kind == KYMO__RULE_SP && rule.cfa + rule.fp >= 0);
    site->pc = pc;
    site->code = simple ? kymo__code(rule.cfa, by_fp, saved) : 0;
}

static inline uint32_t site_of(struct kymo_walker *w, uint64_t pc)
{
    uint32_t number = (uint32_t)(kymo__hash_word(pc) >> (64 - KYMO__SITE_BITS));
    if (kymo__unlikely(w->sites[number].pc != pc))
        site_make(&w->sites[number], pc, w->version);
    return number;
}

/* The site of PC, which the guess at TRAIL missed; from now on it is GUESS. */
static inline uint32_t guess_anew(struct kymo_walker *w, uint32_t trail, uint64_t pc,
                                  uint32_t *guess)
{
    uint32_t number = site_of(w, pc);
    *guess = number | (trail << 3 ^ number) % (1u << KYMO__TRAIL_BITS) << 16;
    w->trails[trail] = *guess;
    return number;
}

/* How many of the COUNT frames remain after removing the last ones that still return to the frame
   before them; at least one. */
KYMO__FOREIGN static inline size_t compare_frames(const struct kymo_native *frames, size_t count)
{
    while (count > BLOCK) {
        const struct kymo_native *f = &frames[count - BLOCK];
        uint64_t different = 0;
#pragma GCC unroll 8
        for (int i = 0; i < BLOCK; i++)
            different |= kymo__word(f[i].end - 8) ^ f[i - 1].pc;
        if (different)
            break;
        count -= BLOCK;
    }
    while (count > 1 && kymo__word(frames[count - 1].end - 8) == frames[count - 2].pc)
        count--;
    return count;
}

/* The same for the COUNT slots of frames from the one with SP and FP outwards. */
KYMO__FOREIGN static inline size_t compare_slots(const struct kymo_slot *slots, size_t count,
                                                 uint64_t sp, uint64_t fp)
{
    while (count && slots[count - 1].at < sp && slots[count - 1].value == fp)
        count--; /* whatever was saved further in, now it is FP */
    if (count && slots[count - 1].at < sp)
        return count;
    while (count >= BLOCK) { /* the others, further out, are all above SP */
        const struct kymo_slot *s = &slots[count - BLOCK];
        uint64_t different = 0;
#pragma GCC unroll 8
        for (int i = 0; i < BLOCK; i++)
            different |= kymo__word(s[i].at) ^ s[i].value;
        if (different)
            break;
        count -= BLOCK;
    }
    while (count && kymo__word(slots[count - 1].at) == slots[count - 1].value)
        count--;
    return count;
}

/* OLD is where the previous frame also ended last time, and COUNT frames are fresh. True if
   everything further out is unchanged; otherwise OLD becomes the next candidate. */
static inline bool is_known(struct kymo_going *go, const struct kymo_native **old, uint64_t fp_at,
                            size_t count)
{
    const struct kymo_walker *w = go->walker;
    size_t kept = (size_t)(*old - w->frames), slots = w->slot_count;
    size_t left = compare_frames(w->frames, kept);
    if (left > 1) {
        *old = &w->frames[left - 1];
        return false;
    }
    uint64_t sp = (*old)->end;
    while (slots && w->slots[slots - 1].sp < sp)
        slots--;
    go->kept = kept;
    go->kept_slots = slots;
    if (slots)
        slots = compare_slots(w->slots, slots, sp, kymo__word(fp_at));
    if (!slots && kymo__likely(count + kept <= KYMO__WALK_MAX))
        return true;
    uint64_t wrong = slots ? w->slots[slots - 1].sp : UINT64_MAX - 1;
    do
        (*old)--;
    while ((*old)->end <= wrong);
    go->kept = 0;
    return false;
}

/* Walk to the end, or until the rest is known to be unchanged. */
KYMO__FOREIGN static inline void climb(struct kymo_going *go)
{
    struct kymo_walker *w = go->walker;
    struct kymo_native *fresh = w->fresh, *const full = fresh + KYMO__WALK_MAX;
    const struct kymo_native *old = &w->frames[w->usable];
    uint64_t pc = go->pc, sp = go->sp, high = go->range.high, fp_at = go->fp_at;
    uint32_t number = site_of(w, pc), trail = number;
    for (;;) {
        while (old->end <= sp) {
            if (old->end < sp || old[-1].pc != pc)
                old--;
            else if (is_known(go, &old, fp_at, (size_t)(fresh - w->fresh)))
                goto end;
        }
        if (kymo__unlikely(fresh == full)) {
            go->more = true;
            break;
        }
        uint64_t code = w->sites[number].code, base = sp;
        if (kymo__unlikely(code & 1)) {
            base = kymo__word(fp_at);
            w->fresh_slots[go->slots++] = (struct kymo_slot){
                .sp = sp,
                .value = base,
                .at = fp_at == (uint64_t)(uintptr_t)&go->from.fp ? 0 : fp_at,
            };
        }
        int64_t saved = kymo__code_saved(code);
        uint64_t cfa = base + (uint64_t)kymo__code_cfa(code);
        uint64_t at = cfa - 8 + (uint64_t)saved; /* where fp is saved, else the return address */
        if (kymo__unlikely(at < sp || cfa > high)) { /* also if there is no code */
            go->pc = pc, go->sp = sp, go->fp_at = fp_at, go->count = (size_t)(fresh - w->fresh);
            bool on = kymo__odd_step(go);
            if (go->odd == go->count)
                go->slots = 0; /* they belong to frames that cannot be reused */
            if (go->sp < sp)
                old = &w->frames[w->usable]; /* on another stack, past its frames */
            pc = go->pc, sp = go->sp, fp_at = go->fp_at, high = go->range.high;
            fresh = &w->fresh[go->count];
            if (!on)
                break;
        } else {
            fresh->pc = pc;
            fresh->end = cfa;
            fresh++;
            fp_at = saved ? at : fp_at;
            __asm__("" : "+r"(fp_at)); /* force a conditional move instead of a branch */
            pc = kymo__word(cfa - 8);
            sp = cfa;
        }
        uint32_t guess = w->trails[trail];
        number = guess & 0xffff;
        if (kymo__unlikely(w->sites[number].pc != pc))
            number = guess_anew(w, trail, pc, &guess);
        trail = guess >> 16;
    }
end:
    go->count = (size_t)(fresh - w->fresh);
    go->sp = sp;
    go->fp_at = fp_at;
}

/* Do for slots what `settle` does for frames. */
static inline void settle_slots(struct kymo_going *go)
{
    struct kymo_walker *w = go->walker;
    size_t count = go->kept ? go->kept_slots : 0;
    uint64_t at = go->fp_at == (uint64_t)(uintptr_t)&go->from.fp ? 0 : go->fp_at;
    for (size_t i = count; i > 0 && w->slots[i - 1].at < go->sp; i--)
        w->slots[i - 1].at = at;
    for (size_t i = go->slots; i-- > 0;)
        w->slots[count++] = w->fresh_slots[i];
    w->slot_count = count;
}

/* Store F as frame number AT; HASH covers it and all further out. */
static inline void put_frame(struct kymo_walker *w, size_t at, const struct kymo_native *f,
                             uint64_t hash)
{
    uint64_t pc = f->pc, end = f->end;
    __asm__("" : "+r"(pc), "+r"(end)); /* in two pieces, as they were just written */
    w->frames[at].pc = pc;
    w->frames[at].end = end;
    w->hashes[at] = hash;
}

/* Append the fresh frames to those that were kept: two at a time, as each hash needs the previous
   one. */
static inline void settle_frames(struct kymo_going *go)
{
    struct kymo_walker *w = go->walker;
    size_t at = go->kept, left = go->count;
    uint64_t hash = at ? w->hashes[at - 1] : 0;
    settle_slots(go);
    for (; left >= 2; left -= 2, at += 2) {
        const struct kymo_native *f = &w->fresh[left - 1];
        uint64_t first = kymo__hash_word(f[0].pc), second = kymo__hash_word(f[-1].pc);
        put_frame(w, at, f, hash * FACTOR + first);
        hash = hash * (FACTOR * FACTOR) + (first * FACTOR + second);
        put_frame(w, at + 1, f - 1, hash);
    }
    if (left) {
        hash = hash * FACTOR + kymo__hash_word(w->fresh[0].pc);
        put_frame(w, at++, w->fresh, hash);
    }
    w->same = w->same < go->kept ? w->same : go->kept;
    w->frames[0].end = UINT64_MAX;
    w->frames[at].end = go->from.sp;
    w->count = at;
    w->usable = !go->range.own || go->more ? 0 : at - go->odd;
}

static bool walk_from(struct kymo_walk *walk, unsigned skip, const struct kymo_registers *from,
                      struct kymo_walker *w, struct kymo_range range)
{
    struct kymo_going go = {
        .walker = w, .range = range, .pc = from->pc, .sp = from->sp, .from = *from};
    go.fp_at = (uint64_t)(uintptr_t)&go.from.fp;
    climb(&go);
    settle_frames(&go);
    size_t count = w->count > skip ? w->count - skip : 0;
    *walk = (struct kymo_walk){
        .frames = w->frames,
        .count = count,
        .hash = count ? w->hashes[count - 1] : 0,
        .truncated = go.more,
    };
    kymo__walker_release(w);
    return true;
}

/* Called by kymo__walk, below, with the caller's registers. */
__attribute__((used)) bool kymo__walk_registers(struct kymo_walk *walk, unsigned skip, uint64_t sp,
                                                uint64_t pc, uint64_t fp, uint64_t rbx);

bool kymo__walk_registers(struct kymo_walk *walk, unsigned skip, uint64_t sp, uint64_t pc,
                          uint64_t fp, uint64_t rbx)
{
    struct kymo_range range;
    struct kymo_walker *w = kymo__walker;
    if (kymo__likely(w && kymo__walker_quick(w, sp)))
        range = w->stack;
    else if (!(w = kymo__walker_claim(sp, &range, false)))
        return false;
    range.low = sp;
    const struct kymo_registers from = {.pc = pc, .sp = sp, .fp = fp, .rbx = rbx};
    return walk_from(walk, skip, &from, w, range);
}

/* The registers as the caller has them, which C cannot access. */
__asm__(".text\n"
        ".globl kymo__walk\n"
        ".hidden kymo__walk\n"
        ".type kymo__walk, @function\n"
        "kymo__walk:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "lea 8(%rsp), %rdx\n"
        "mov (%rsp), %rcx\n"
        "mov %rbp, %r8\n"
        "mov %rbx, %r9\n"
        "jmp kymo__walk_registers\n"
        ".cfi_endproc\n"
        ".size kymo__walk, . - kymo__walk\n");

bool kymo__walk_context(struct kymo_walk *walk, const void *context)
{
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
    const struct kymo_registers from = {
        .pc = (uint64_t)m->gregs[REG_RIP] + 1,
        .sp = (uint64_t)m->gregs[REG_RSP],
        .fp = (uint64_t)m->gregs[REG_RBP],
        .rbx = (uint64_t)m->gregs[REG_RBX],
        .all = m,
    };
    struct kymo_range range;
    struct kymo_walker *w = kymo__walker_claim(from.sp, &range, true);
    if (!w)
        return false;
    /* The signal left the interrupted function's data below sp alone. */
    uint64_t low = from.sp - KYMO__RED_ZONE;
    low = low > range.low ? low : range.low;
    range.low = kymo__readable_from(low & ~UINT64_C(7), range.high);
    return walk_from(walk, 0, &from, w, range);
}

/* The frame of a function that asked for its address: its caller's fp, the return address, its end. */
enum { FRAME_HEAD = 16 };

size_t kymo__walk_words(struct kymo_walker *own, uint64_t frame, struct kymo_reread_word *words,
                        size_t most)
{
    const uint64_t from = frame + FRAME_HEAD;
    size_t count = 0, i = own->count;
    if (own->usable != own->count || !i)
        return 0;
    while (i > 1 && own->frames[i - 1].end < from)
        i--;
    if (own->frames[i - 1].end != from)
        return 0;
    for (; i > 1 && count < most; i--)
        words[count++] =
            (struct kymo_reread_word){own->frames[i - 1].end - 8, own->frames[i - 2].pc};
    for (size_t slot = 0; slot < own->slot_count && count < most; slot++) {
        const struct kymo_slot *used = &own->slots[slot];
        if (used->sp < from)
            continue;
        if (used->at < frame)
            return 0; /* only the walk that found it can tell what it is now */
        words[count++] = (struct kymo_reread_word){used->at, used->value};
    }
    return count < most ? count : 0;
}
