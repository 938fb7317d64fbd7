/* walk_x86_64.c — see walk.h: code here has no frame pointers, so each step needs the rule for
   its address. Three things make that quick.

   A thread remembers the rules of the addresses it met, and for each also who called last time
   (struct kymo_site): while it guesses right, the next rule is there before the return address
   has been read. Nothing in a step depends on a comparison that could be guessed wrong.

   It remembers the last walk too, with every word of the stack that was read for it. The rule
   depends on the address alone; so where this walk comes to a frame with the same address and
   the same registers, and all words further out are what they were, the rest is the same. Then
   it is enough to compare those words, which do not depend on each other.

   Where a rule is not a simple one, odd_step does what it says. Frames inside of such a one
   are walked anew each time, as are stacks that are not the thread's own: what was read there
   last time may be gone. */
#include "walk.h"

#include <string.h>
#include <ucontext.h>

#include "hash.h"
#include "loader.h"
#include "rules.h"
#include "walker.h"

/* Words of other functions' frames are read here, whatever they are. */
#define FOREIGN __attribute__((no_sanitize("address", "thread", "undefined")))

enum { CONTEXT_USED = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP + 1]) };

enum { RED_ZONE = 128, BLOCK = 8, RBX = 3 };

struct registers {
    uint64_t pc; /* as a return address */
    uint64_t sp, fp, rbx;
    const mcontext_t *all; /* at the first frame of a context, else NULL */
};

/* What a walk goes on with. */
struct going {
    struct kymo_walker *walker;
    struct kymo_range range;
    uint64_t pc, sp, fp;
    size_t count;   /* of fresh frames */
    size_t odd;     /* so many of them are not to be continued from next time */
    size_t kept;    /* of those of last time, further out */
    uint64_t by_fp; /* lowest bit: there is one whose CFA depends on fp */
    bool more;      /* stopped for lack of room */
    struct registers from;
};

FOREIGN static inline uint64_t word(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

static inline bool inside(const struct kymo_range *range, uint64_t address, uint64_t size)
{
    return address >= range->low && address <= range->high - size;
}

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

/* rbx in the frame after the fresh ones: the last of those that saved it tells. */
FOREIGN static bool find_rbx(const struct going *go, uint64_t *rbx)
{
    for (size_t i = go->count; i-- > 0;) {
        const struct kymo_fresh *f = &go->walker->fresh[i];
        struct kymo_rule rule = kymo__rule_at(f->pc - 1, go->walker->version);
        if (rule.kind != KYMO__RULE_SP && rule.kind != KYMO__RULE_FP)
            return false;
        if (rule.extra) {
            uint64_t at = f->end - 8 * (uint64_t)rule.extra;
            if (!inside(&go->range, at, 8))
                return false;
            *rbx = word(at);
            return true;
        }
    }
    *rbx = go->from.rbx;
    return true;
}

/* The value of DWARF's register REG in the current frame. */
static bool find_register(const struct going *go, int reg, uint64_t *value)
{
    static const uint8_t greg[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15};
    if (go->count == 0 && go->from.all && reg >= 0 && reg < 16) {
        *value = (uint64_t)go->from.all->gregs[greg[reg]];
        return true;
    }
    return reg == RBX && find_rbx(go, value);
}

/* Go on where the signal came, whose context is at ADDRESS. */
FOREIGN static bool through_signal(struct going *go, uint64_t address)
{
    const ucontext_t *context = (const ucontext_t *)(uintptr_t)address;
    if (!inside(&go->range, address, CONTEXT_USED) || address % 8)
        return false;
    const mcontext_t *m = &context->uc_mcontext;
    uint64_t sp = (uint64_t)m->gregs[REG_RSP];
    const struct kymo_range *stack = &go->walker->stack;
    if (sp - stack->low < stack->high - stack->low)
        go->range = *stack;
    else if (!kymo__walker_range(go->walker, sp, &go->range))
        return false;
    go->range.low = sp - RED_ZONE > go->range.low ? sp - RED_ZONE : go->range.low;
    go->pc = (uint64_t)m->gregs[REG_RIP] + 1;
    go->sp = sp;
    go->fp = (uint64_t)m->gregs[REG_RBP];
    return true;
}

/* The CFA and the place of the saved fp (0: not saved) of a frame that has a rule. */
FOREIGN static bool odd_cfa(const struct going *go, struct kymo_rule rule, uint64_t *cfa,
                            uint64_t *saved)
{
    uint64_t base = go->sp;
    if (rule.kind == KYMO__RULE_FP || rule.kind == KYMO__RULE_FP_WORD)
        base = go->fp;
    else if (rule.kind == KYMO__RULE_REGISTER && !find_register(go, rule.extra, &base))
        return false;
    *cfa = base + (uint64_t)(int64_t)rule.cfa;
    if (rule.kind == KYMO__RULE_SP_WORD || rule.kind == KYMO__RULE_FP_WORD) {
        if (!inside(&go->range, *cfa, 8))
            return false;
        *cfa = word(*cfa) + (rule.kind == KYMO__RULE_SP_WORD ? (uint64_t)rule.extra : 0);
    }
    *saved = rule.fp ? *cfa + (uint64_t)(int64_t)rule.fp : 0;
    if (rule.kind == KYMO__RULE_FP_WORD)
        *saved = go->fp + (uint64_t)(int64_t)rule.fp;
    else if (rule.kind == KYMO__RULE_REGISTER && rule.fp & 1)
        *saved = go->fp + (uint64_t)(int64_t)rule.fp - 1;
    return true;
}

/* A frame that no table describes: believe fp if it can be one. */
FOREIGN static bool chain_step(const struct going *go, uint64_t *cfa, uint64_t *saved)
{
    uint64_t fp = go->fp;
    if (fp % 8 || fp < go->sp || !inside(&go->range, fp, 16))
        return false;
    uint64_t pc = word(fp + 8); /* what is at fp may be anything: the caller need not use it */
    *cfa = fp + 16;
    *saved = fp;
    return kymo__rule_at(pc - 1, go->walker->version).kind != KYMO__RULE_NONE;
}

/* The stack, which is not the thread's own, may not be the one that was there last time. */
static void look_again(struct going *go)
{
    struct kymo_range range;
    if (!kymo__stack_around(go->sp, &range) || range.own)
        return;
    go->walker->other = range;
    go->range.high = range.high;
}

/* Step by a rule that is not simple. False when the walk ends here. */
KYMO__COLD FOREIGN static bool odd_step(struct going *go)
{
    if (go->pc == 0) { /* so says a word that may be another one next time */
        go->odd = go->count;
        return false;
    }
    struct kymo_rule rule = kymo__rule_at(go->pc - 1, go->walker->version);
    struct kymo_fresh *f = &go->walker->fresh[go->count];
    uint64_t cfa = 0, saved = 0;
    bool found = false;
    *f = (struct kymo_fresh){.pc = go->pc, .end = UINT64_MAX, .fp = go->fp};
    if (rule.kind == KYMO__RULE_SIGNAL) {
        found = through_signal(go, go->sp + (uint64_t)rule.cfa);
        f->end = found ? go->sp : f->end;
        go->odd = ++go->count;
        return found;
    }
    if (rule.kind == KYMO__RULE_CHAIN) {
        found = chain_step(go, &cfa, &saved);
    } else if (rule.kind == KYMO__RULE_NONE && go->count == 0 && go->from.all) {
        cfa = go->sp + 8; /* a call to where no code is has done nothing but the call */
        found = true;
    } else if (rule.kind != KYMO__RULE_NONE && rule.kind != KYMO__RULE_END) {
        found = odd_cfa(go, rule, &cfa, &saved);
    }
    go->count++;
    if (rule.kind != KYMO__RULE_END)
        go->odd = go->count;
    if (found && cfa > go->range.high && !go->range.own)
        look_again(go);
    if (!found || cfa <= go->sp || !inside(&go->range, cfa - 8, 8) ||
        (saved && !inside(&go->range, saved, 8)))
        return false;
    f->end = cfa;
    go->pc = word(cfa - 8);
    go->fp = saved ? word(saved) : go->fp;
    go->sp = cfa;
    return true;
}

/* How many of the COUNT slots are left when the last ones that are as they were are taken away. */
FOREIGN static inline size_t compare_slots(const struct kymo_slot *slots, size_t count)
{
    while (count && word(slots[count - 1].at) == slots[count - 1].value)
        count--;
    return count;
}

/* The same for frames: those that still return to the frame before them. */
FOREIGN static inline size_t compare_frames(const struct kymo_native *frames, size_t count)
{
    while (count > BLOCK) {
        const struct kymo_native *f = &frames[count - BLOCK];
        uint64_t different = 0;
#pragma GCC unroll 8
        for (int i = 0; i < BLOCK; i++)
            different |= word(f[i].end - 8) ^ f[i - 1].pc;
        if (different)
            break;
        count -= BLOCK;
    }
    while (count > 1 && word(frames[count - 1].end - 8) == frames[count - 2].pc)
        count--;
    return count;
}

/* Frame number LAST of last time is this one again. 0 if all further out are still there;
   otherwise so many frames have to be left, as the one after them leads elsewhere. */
static size_t compare(const struct kymo_walker *w, size_t last)
{
    size_t left = compare_frames(w->frames, last + 1);
    if (left > 1)
        return left - 1;
    size_t slots = compare_slots(w->slots, w->held[last].slots);
    if (!slots)
        return 0;
    while (last && w->held[last - 1].slots >= slots)
        last--;
    return last;
}

/* Frame number LAST of last time is this one again, unless fp is not. True if all further out
   are still there, and there is room for them; else OLD is where to look further. */
static bool is_known(struct going *go, size_t last, uint64_t fp, size_t count,
                     const struct kymo_native **old)
{
    const struct kymo_walker *w = go->walker;
    size_t left = last;
    if (!w->held[last].needs_fp || w->held[last].fp == fp) {
        left = compare(w, last);
        if (!left && count + last < KYMO__WALK_MAX) {
            go->kept = last + 1;
            return true;
        }
    }
    *old = &w->frames[left];
    return false;
}

/* Walk until the end, or until the rest is known to be the same as last time. */
FOREIGN static inline void climb(struct going *go)
{
    struct kymo_walker *w = go->walker;
    struct kymo_fresh *fresh = w->fresh, *const full = fresh + KYMO__WALK_MAX;
    const struct kymo_native *old = &w->frames[w->usable]; /* one further in than the candidate */
    uint64_t pc = go->pc, sp = go->sp, fp = go->fp, high = go->range.high, by_fp = 0;
    uint32_t number = site_of(w, pc), trail = 0;
    for (;;) {
        while (old->end <= sp) {
            if (old->end < sp || old[-1].pc != pc)
                old--;
            else if (is_known(go, (size_t)(old - w->frames) - 1, fp, (size_t)(fresh - w->fresh),
                              &old))
                goto end;
        }
        if (kymo__unlikely(fresh == full)) {
            go->more = true;
            break;
        }
        uint64_t code = w->sites[number].code;
        int64_t saved = kymo__code_saved(code);
        uint64_t base = code & 1 ? fp : sp;
        __asm__("" : "+r"(base)); /* a conditional move, never a jump */
        uint64_t cfa = base + (uint64_t)kymo__code_cfa(code);
        uint64_t at = cfa - 8 + (uint64_t)saved; /* where fp is saved, else the return address */
        if (kymo__unlikely(at < sp || cfa > high)) { /* also when there is no code */
            go->pc = pc, go->sp = sp, go->fp = fp, go->count = (size_t)(fresh - w->fresh);
            bool on = odd_step(go);
            if (go->sp < sp)
                old = &w->frames[w->usable]; /* on another stack, whose frames were passed */
            pc = go->pc, sp = go->sp, fp = go->fp, high = go->range.high;
            fresh = &w->fresh[go->count];
            if (!on)
                break;
        } else {
            fresh->pc = pc;
            fresh->end = cfa;
            fresh->fp = fp;
            fresh->code = code;
            fresh++;
            by_fp |= code;
            uint64_t value = word(at);
            __asm__("" : "+r"(value)); /* read in any case: again no jump */
            pc = word(cfa - 8);
            fp = saved ? value : fp;
            sp = cfa;
        }
        trail = (trail << 3 ^ number) % (1u << KYMO__TRAIL_BITS);
        number = w->trails[trail];
        if (kymo__unlikely(w->sites[number].pc != pc)) {
            number = site_of(w, pc);
            w->trails[trail] = (uint16_t)number;
        }
    }
end:
    go->count = (size_t)(fresh - w->fresh);
    go->by_fp = by_fp;
}

/* Put the fresh frames after those that were kept. */
static inline void settle(struct going *go)
{
    struct kymo_walker *w = go->walker;
    size_t at = go->kept;
    struct kymo_held outer = at ? w->held[at - 1] : (struct kymo_held){0};
    uint64_t hash = outer.hash;
    const struct kymo_fresh *f = &w->fresh[go->count];
    if ((go->by_fp & 1) | outer.needs_fp) {
        for (; f != w->fresh; at++) {
            f--;
            int64_t saved = kymo__code_saved(f->code);
            w->slots[outer.slots].at = f->end - 8 + (uint64_t)saved;
            w->slots[outer.slots].value = outer.fp;
            outer.slots += saved ? outer.needs_fp : 0;
            outer.needs_fp = (f->code & 1) | (saved ? 0 : outer.needs_fp);
            outer.fp = f->fp;
            w->held[at] = outer;
        }
        at = go->kept;
        f = &w->fresh[go->count];
    } else {
        for (size_t i = 0; i < go->count; i++) {
            w->held[at + i].slots = outer.slots;
            w->held[at + i].needs_fp = 0;
        }
    }
    for (; f != w->fresh; at++) {
        f--;
        uint64_t pc = f->pc, end = f->end;
        __asm__("" : "+r"(pc), "+r"(end)); /* in two pieces, as they were just written */
        w->frames[at].pc = pc;
        w->frames[at].end = end;
        hash = hash * UINT64_C(0xd1342543de82ef95) + kymo__hash_word(pc);
        w->held[at].hash = hash;
    }
    w->frames[0].end = UINT64_MAX;
    w->frames[at].end = go->from.sp;
    w->count = at;
    w->usable = !go->range.own || go->more ? 0 : at - go->odd;
}

static bool walk_from(struct kymo_walk *walk, unsigned skip, const struct registers *from,
                      struct kymo_walker *w, struct kymo_range range)
{
    struct going go = {
        .walker = w, .range = range, .pc = from->pc, .sp = from->sp, .fp = from->fp, .from = *from};
    climb(&go);
    settle(&go);
    size_t count = w->count > skip ? w->count - skip : 0;
    *walk = (struct kymo_walk){
        .frames = w->frames,
        .count = count,
        .hash = count ? w->held[count - 1].hash : 0,
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
    struct kymo_walker *w = kymo__walker_claim(sp, &range);
    if (!w)
        return false;
    range.low = sp;
    const struct registers from = {.pc = pc, .sp = sp, .fp = fp, .rbx = rbx};
    return walk_from(walk, skip, &from, w, range);
}

/* The registers as the caller has them, which no C function can tell. */
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
    const struct registers from = {
        .pc = (uint64_t)m->gregs[REG_RIP] + 1,
        .sp = (uint64_t)m->gregs[REG_RSP],
        .fp = (uint64_t)m->gregs[REG_RBP],
        .rbx = (uint64_t)m->gregs[REG_RBX],
        .all = m,
    };
    struct kymo_range range;
    struct kymo_walker *w = kymo__walker_claim(from.sp, &range);
    if (!w)
        return false;
    /* What the interrupted function put below sp was left alone by the signal. */
    uint64_t low = from.sp - RED_ZONE;
    low = low > range.low ? low : range.low;
    range.low = kymo__readable_from(low & ~UINT64_C(7), range.high);
    return walk_from(walk, 0, &from, w, range);
}
