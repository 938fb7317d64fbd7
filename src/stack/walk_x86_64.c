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

#include <assert.h>
#include <string.h>
#include <ucontext.h>

#include "hash.h"
#include "loader.h"
#include "rules.h"
#include "walker.h"

/* Words of other functions' frames are read here, whatever they are. */
#define FOREIGN __attribute__((no_sanitize("address", "thread", "undefined")))

enum { CONTEXT_USED = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP + 1]) };

enum { RED_ZONE = 128, SITE_BITS = 12, BLOCK = 8, RBX = 3 };

static_assert(KYMO__SITES == 1 << SITE_BITS, "");

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
    size_t count; /* of fresh frames */
    size_t kept;  /* of those of last time, further out */
    bool more;    /* stopped for lack of room */
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

/* The site of PC, made if there is none. */
KYMO__COLD static struct kymo_site *site_of(struct kymo_walker *w, uint64_t pc)
{
    struct kymo_site *site = &w->sites[kymo__hash_word(pc) >> (64 - SITE_BITS)];
    if (site->pc == pc)
        return site;
    struct kymo_rule rule = kymo__rule_at(pc - 1, w->version);
    bool simple = rule.kind == KYMO__RULE_SP || rule.kind == KYMO__RULE_FP;
    if (simple && rule.kind == KYMO__RULE_SP && rule.cfa + rule.fp < 0)
        simple = false; /* saved below sp: only where a signal came */
    *site = (struct kymo_site){
        .pc = pc,
        .cfa = simple ? rule.cfa * 2 + (rule.kind == KYMO__RULE_FP) : 0,
        .fp = simple ? rule.fp : KYMO__SITE_ODD,
        .next = site->next,
    };
    return site;
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
    uint64_t next = word(fp), pc = word(fp + 8);
    if ((next && next <= fp) || pc < 0x10000)
        return false;
    *cfa = fp + 16;
    *saved = fp;
    return kymo__rule_at(pc - 1, go->walker->version).kind != KYMO__RULE_NONE;
}

/* Step by a rule that is not simple. False when the walk ends here. */
KYMO__COLD FOREIGN static bool odd_step(struct going *go)
{
    struct kymo_rule rule = kymo__rule_at(go->pc - 1, go->walker->version);
    struct kymo_fresh *f = &go->walker->fresh[go->count];
    uint64_t cfa = 0, saved = 0;
    *f = (struct kymo_fresh){
        .pc = go->pc, .end = go->range.high, .fp = go->fp, .odd = rule.kind + 1u};
    bool found = false;
    if (rule.kind == KYMO__RULE_SIGNAL) {
        found = through_signal(go, go->sp + (uint64_t)rule.cfa);
        f->end = found ? go->sp : f->end;
        go->count++;
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
    if (!found || cfa <= go->sp || !inside(&go->range, cfa - 8, 8) ||
        (saved && !inside(&go->range, saved, 8)))
        return false;
    f->end = cfa;
    go->pc = word(cfa - 8);
    go->fp = saved ? word(saved) : go->fp;
    go->sp = cfa;
    return go->pc != 0;
}

/* The first of the SLOTS, from the last one on, that is not what it was, + 1; or 0. */
FOREIGN static inline size_t compare(const struct kymo_slot *slots, size_t count)
{
    while (count >= BLOCK) {
        const struct kymo_slot *s = &slots[count - BLOCK];
        uint64_t different = 0;
        for (unsigned i = 0; i < BLOCK; i++)
            different |= *(const uint64_t *)(uintptr_t)s[i].at ^ s[i].value;
        if (different)
            break;
        count -= BLOCK;
    }
    while (count && *(const uint64_t *)(uintptr_t)slots[count - 1].at == slots[count - 1].value)
        count--;
    return count;
}

/* Walk until the end, or until the rest is known to be the same as last time. */
FOREIGN static inline void climb(struct going *go)
{
    struct kymo_walker *w = go->walker;
    struct kymo_fresh *fresh = w->fresh;
    const struct kymo_held *old = &w->held[w->usable];
    uint64_t pc = go->pc, sp = go->sp, fp = go->fp;
    uint64_t low = go->range.low, span = go->range.high - 8 - low;
    struct kymo_site *site = &w->sites[w->first_site];
    size_t n = 0;
    if (site->pc != pc) {
        site = site_of(w, pc);
        w->first_site = (uint32_t)(site - w->sites);
    }
    for (;;) {
        while (old->sp < sp)
            old--;
        if (old->sp == sp && w->frames[old - w->held - 1].pc == pc &&
            (!old->needs_fp || old->fp == fp)) {
            size_t wrong = compare(w->slots, old->slots), kept = (size_t)(old - w->held);
            if (!wrong && n + kept <= KYMO__WALK_MAX) {
                go->kept = kept;
                break;
            }
            do
                old--; /* to the frame further out than the one that read the wrong word */
            while (old->slots >= wrong && old != w->held);
        }
        if (kymo__unlikely(n == KYMO__WALK_MAX)) {
            go->more = true;
            break;
        }
        int32_t rule = site->cfa;
        int64_t saved = site->fp;
        uint64_t base = rule & 1 ? fp : sp;
        __asm__("" : "+r"(base)); /* a conditional move, never a jump */
        uint64_t cfa = base + (uint64_t)(int64_t)(rule >> 1);
        uint64_t at = cfa + (uint64_t)(saved ? saved : -8);
        if (kymo__unlikely(saved == KYMO__SITE_ODD || cfa <= sp || cfa - 8 - low > span ||
                           at - low > span)) {
            go->pc = pc, go->sp = sp, go->fp = fp, go->count = n;
            bool on = odd_step(go);
            if (go->sp < sp)
                old = &w->held[w->usable]; /* on another stack, whose frames were passed */
            pc = go->pc, sp = go->sp, fp = go->fp, n = go->count;
            low = go->range.low, span = go->range.high - 8 - low;
            if (!on)
                break;
        } else {
            fresh[n++] = (struct kymo_fresh){
                .pc = pc, .end = cfa, .fp = fp, .cfa = rule, .saved = (int16_t)saved};
            uint64_t value = word(at);
            pc = word(cfa - 8);
            fp = saved ? value : fp;
            __asm__("" : "+r"(fp));
            sp = cfa;
            if (kymo__unlikely(pc == 0)) {
                fresh[n - 1].odd = 1; /* what was read is not where another frame is */
                break;
            }
        }
        struct kymo_site *guess = &w->sites[site->next];
        if (kymo__unlikely(guess->pc != pc)) {
            guess = site_of(w, pc);
            site->next = (uint16_t)(guess - w->sites);
        }
        site = guess;
    }
    go->count = n;
}

/* Put the fresh frames after those that were kept. */
static inline void settle(struct going *go)
{
    struct kymo_walker *w = go->walker;
    size_t at = go->kept, usable = SIZE_MAX;
    struct kymo_held outer = at ? w->held[at] : (struct kymo_held){0};
    uint64_t outer_pc = at ? w->frames[at - 1].pc : 0;
    for (size_t i = go->count; i-- > 0; at++) {
        const struct kymo_fresh *f = &w->fresh[i];
        bool simple = !f->odd, saved = f->saved != 0;
        if (kymo__unlikely(!simple) && f->odd != 1 + KYMO__RULE_END && usable == SIZE_MAX)
            usable = at;
        w->frames[at] = (struct kymo_native){.pc = f->pc, .end = f->end};
        struct kymo_slot *slots = &w->slots[outer.slots];
        slots[0] = (struct kymo_slot){.at = f->end - 8, .value = outer_pc};
        slots[1] =
            (struct kymo_slot){.at = f->end + (uint64_t)(int64_t)f->saved, .value = outer.fp};
        outer.slots += simple + (simple & saved & outer.needs_fp);
        outer.needs_fp = (f->cfa & 1) | (saved ? 0 : outer.needs_fp);
        outer.sp = i ? w->fresh[i - 1].end : go->from.sp;
        outer.fp = f->fp;
        outer.hash = outer.hash * UINT64_C(0xd1342543de82ef95) + kymo__hash_word(f->pc);
        w->held[at + 1] = outer;
        outer_pc = f->pc;
    }
    w->count = at;
    w->usable = !go->range.own || go->more ? 0 : usable < at ? usable : at;
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
        .hash = count ? w->held[count].hash : 0,
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
