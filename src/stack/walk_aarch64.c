/* walk_aarch64.c — see walk.h: code here keeps frame records, pairs of the caller's x29 and the
   return address, linked through x29.

   The compiler chooses where a record lies in its frame, so the frame's end comes from the rule for
   its address; a thread caches those (struct kymo_site). Rules are also needed for a frame
   interrupted by a signal, which may not have made its record yet, and to find the signal's
   context, which the kernel puts at the end of its handler's frame. */
#include "walk.h"

#include <string.h>
#include <ucontext.h>

#include "hash.h"
#include "loader.h"
#include "rules.h"
#include "walker.h"

/* Reads words of other functions' frames, whatever they contain. */
#define FOREIGN __attribute__((no_sanitize("address", "thread", "undefined")))

enum { CONTEXT_AT = 128, CONTEXT_USED = 176 + 34 * 8 };
enum {
    SITE_SIGNAL = INT32_MAX
}; /* a site's `code`, else how far above its record the frame ends */

struct going {
    struct kymo_walker *walker;
    struct kymo_range range;
    uint64_t pc, fp;
    uint64_t end; /* end of the previous frame, if a rule gave it; else 0 */
    size_t count;
};

FOREIGN static inline uint64_t word(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

static inline bool inside(const struct kymo_range *range, uint64_t address, uint64_t size)
{
    return address >= range->low && address <= range->high - size && address % 8 == 0;
}

/* PC without its pointer authentication code. The instruction is a hint, a no-op on CPUs without
   the feature. */
static inline uint64_t strip(uint64_t pc)
{
    register uint64_t x30 __asm__("x30") = pc;
    __asm__("hint 7" : "+r"(x30)); /* xpaclri */
    return x30;
}

/* How far above its record the frame of PC ends, or 0; or SITE_SIGNAL. */
KYMO__COLD static uint64_t above_record(uint64_t pc, uint64_t version)
{
    struct kymo_rule rule = kymo__rule_at(pc - 1, version);
    if (rule.kind == KYMO__RULE_SIGNAL)
        return SITE_SIGNAL;
    bool record = (rule.kind == KYMO__RULE_SP || rule.kind == KYMO__RULE_FP) &&
                  rule.extra == KYMO__RA_AFTER_FP;
    return record ? (uint64_t)-rule.fp : 0;
}

static inline struct kymo_site *site_of(struct kymo_walker *w, uint64_t pc)
{
    struct kymo_site *site = &w->sites[kymo__hash_word(pc) >> (64 - KYMO__SITE_BITS)];
    if (kymo__unlikely(site->pc != pc))
        *site = (struct kymo_site){.pc = pc, .code = above_record(pc, w->version)};
    return site;
}

static void add_frame(struct going *go, uint64_t pc, uint64_t end)
{
    go->walker->fresh[go->count++] = (struct kymo_native){.pc = pc, .end = end};
}

/* Continue from registers as a signal left them: add the frame, and find the caller's registers by
   its rule. */
FOREIGN static bool interrupted(struct going *go, uint64_t pc, uint64_t sp, uint64_t fp,
                                uint64_t lr)
{
    struct kymo_rule rule = kymo__rule_at(pc, go->walker->version);
    uint64_t cfa = (rule.kind == KYMO__RULE_FP ? fp : sp) + (uint64_t)(int64_t)rule.cfa;
    uint64_t saved = cfa + (uint64_t)(int64_t)rule.fp;
    go->pc = strip(lr);
    go->fp = fp;
    go->end = 0;
    if (rule.kind == KYMO__RULE_END) {
        go->pc = 0;
    } else if (rule.kind != KYMO__RULE_SP && rule.kind != KYMO__RULE_FP) {
        cfa = 0;
        if (rule.kind == KYMO__RULE_CHAIN) /* as if it had made its record */
            go->pc = inside(&go->range, fp, 16) ? strip(word(fp + 8)) : 0,
            go->fp = go->pc ? word(fp) : 0;
    } else if (rule.extra == KYMO__RA_AFTER_FP) {
        bool readable = cfa > sp && inside(&go->range, saved, 16);
        go->pc = readable ? strip(word(saved + 8)) : 0;
        go->fp = readable ? word(saved) : 0;
    } else if (rule.extra == KYMO__RA_ALONE) {
        bool readable = cfa > sp && inside(&go->range, saved, 8);
        go->pc = readable ? strip(word(saved)) : 0;
    }
    add_frame(go, pc + 1, go->pc && cfa > sp ? cfa : UINT64_MAX);
    return go->pc != 0;
}

/* Continue where the signal arrived; its frame is at SP. */
FOREIGN static bool through_signal(struct going *go, uint64_t sp)
{
    add_frame(go, go->pc, UINT64_MAX);
    struct kymo_native *own = &go->walker->fresh[go->count - 1];
    const ucontext_t *context = (const ucontext_t *)(uintptr_t)(sp + CONTEXT_AT);
    if (go->count == KYMO__WALK_MAX || !inside(&go->range, sp, CONTEXT_AT + CONTEXT_USED))
        return false;
    const mcontext_t *m = &context->uc_mcontext;
    const struct kymo_range *stack = &go->walker->stack;
    if (m->sp - stack->low < stack->high - stack->low)
        go->range = *stack;
    else if (!kymo__walker_range(go->walker, m->sp, &go->range))
        return false;
    go->range.low = m->sp > go->range.low ? m->sp : go->range.low;
    own->end = m->sp;
    return interrupted(go, m->pc, m->sp, m->regs[29], m->regs[30]);
}

/* Follow the records. True if the buffer is full. */
FOREIGN static bool climb(struct going *go)
{
    struct kymo_walker *w = go->walker;
    uint64_t below = 0;
    while (go->pc) {
        if (go->count == KYMO__WALK_MAX)
            return true;
        const struct kymo_site *site = site_of(w, go->pc);
        if (kymo__unlikely(site->code == SITE_SIGNAL) && go->end) {
            below = 0;
            if (!through_signal(go, go->end))
                break;
            continue;
        }
        uint64_t fp = go->fp;
        if (fp <= below || !inside(&go->range, fp, 16)) {
            add_frame(go, go->pc, UINT64_MAX);
            break;
        }
        go->end = site->code && site->code != SITE_SIGNAL ? fp + site->code : 0;
        uint64_t pc = go->pc;
        go->pc = strip(word(fp + 8));
        go->fp = word(fp);
        add_frame(go, pc, go->end ? go->end : go->pc && go->fp > fp ? go->fp : UINT64_MAX);
        below = fp;
    }
    return false;
}

static void settle_walk(struct going *go, struct kymo_walk *walk, unsigned skip, bool more)
{
    struct kymo_walker *w = go->walker;
    uint64_t hash = 0;
    size_t count = go->count > skip ? go->count - skip : 0, at = 0;
    for (size_t i = go->count; i-- > go->count - count;) {
        if (at < w->same &&
            (w->frames[at].pc != w->fresh[i].pc || w->frames[at].end != w->fresh[i].end))
            w->same = at && w->frames[at].end != w->fresh[i].end ? at - 1 : at;
        w->frames[at++] = w->fresh[i];
        hash = hash * UINT64_C(0xd1342543de82ef95) + kymo__hash_word(w->fresh[i].pc);
    }
    if (w->same >= at)
        w->same = at ? at - 1 : 0; /* the innermost may end earlier now */
    *walk =
        (struct kymo_walk){.frames = w->frames, .count = count, .hash = hash, .truncated = more};
    kymo__walker_release(w);
}

/* Called by kymo__walk, below, with the caller's registers. */
__attribute__((used)) bool kymo__walk_registers(struct kymo_walk *walk, unsigned skip, uint64_t sp,
                                                uint64_t pc, uint64_t fp);

bool kymo__walk_registers(struct kymo_walk *walk, unsigned skip, uint64_t sp, uint64_t pc,
                          uint64_t fp)
{
    struct going go = {.pc = strip(pc), .fp = fp};
    if (!(go.walker = kymo__walker_claim(sp, &go.range, false)))
        return false;
    go.range.low = sp;
    bool more = climb(&go);
    settle_walk(&go, walk, skip, more);
    return true;
}

/* The registers as the caller has them, which C cannot access. */
__asm__(".text\n"
        ".globl kymo__walk\n"
        ".hidden kymo__walk\n"
        ".type kymo__walk, %function\n"
        "kymo__walk:\n"
        ".cfi_startproc\n"
        "hint 34\n" /* bti c */
        "mov x2, sp\n"
        "mov x3, x30\n"
        "mov x4, x29\n"
        "b kymo__walk_registers\n"
        ".cfi_endproc\n"
        ".size kymo__walk, . - kymo__walk\n");

bool kymo__walk_context(struct kymo_walk *walk, const void *context)
{
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
    struct going go = {0};
    if (!(go.walker = kymo__walker_claim(m->sp, &go.range, true)))
        return false;
    uint64_t low = m->sp > go.range.low ? m->sp : go.range.low;
    go.range.low = kymo__readable_from(low & ~UINT64_C(7), go.range.high);
    bool more = interrupted(&go, m->pc, m->sp, m->regs[29], m->regs[30]) && climb(&go);
    settle_walk(&go, walk, 0, more);
    return true;
}

FOREIGN size_t kymo__walk_words(struct kymo_walker *own, uint64_t frame,
                                struct kymo_reread_word *words, size_t most)
{
    struct kymo_range range = own->stack;
    size_t count = 0;
    uint64_t below = 0;
    range.low = frame;
    if (frame - own->stack.low >= own->stack.high - own->stack.low)
        return 0;
    for (uint64_t fp = frame; fp > below && inside(&range, fp, 16); below = fp, fp = word(fp)) {
        if (count + 2 > most)
            return 0;
        words[count++] = (struct kymo_reread_word){fp, word(fp)};
        words[count++] = (struct kymo_reread_word){fp + 8, word(fp + 8)};
        uint64_t pc = strip(word(fp + 8));
        if (!pc)
            break;
        if (site_of(own, pc)->code == SITE_SIGNAL)
            return 0;
    }
    return count;
}
