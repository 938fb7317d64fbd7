/* odd_x86_64.c — walk steps that the two simple rules do not cover: through signal handlers,
   functions that aligned their stack, code without tables, and the outermost frame. */
#include "rules.h"
#include "step_x86_64.h"

enum { CONTEXT_USED = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP + 1]) };

enum { RBX = 3 };

/* Find rbx in the frame after the fresh ones: the last one that saved it has the value. */
KYMO__FOREIGN static bool find_rbx(const struct kymo_going *go, uint64_t *rbx)
{
    for (size_t i = go->count; i-- > 0;) {
        const struct kymo_native *f = &go->walker->fresh[i];
        struct kymo_rule rule = kymo__rule_at(f->pc - 1, go->walker->version);
        if (rule.kind != KYMO__RULE_SP && rule.kind != KYMO__RULE_FP)
            return false;
        if (rule.extra) {
            uint64_t at = f->end - 8 * (uint64_t)rule.extra;
            if (!kymo__inside(&go->range, at, 8))
                return false;
            *rbx = kymo__word(at);
            return true;
        }
    }
    *rbx = go->from.rbx;
    return true;
}

/* The value of DWARF register REG in the current frame. */
static bool find_register(const struct kymo_going *go, int reg, uint64_t *value)
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

/* Continue where the signal arrived; its context is at ADDRESS. */
KYMO__FOREIGN static bool through_signal(struct kymo_going *go, uint64_t address)
{
    const ucontext_t *context = (const ucontext_t *)(uintptr_t)address;
    if (!kymo__inside(&go->range, address, CONTEXT_USED) || address % 8)
        return false;
    const mcontext_t *m = &context->uc_mcontext;
    uint64_t sp = (uint64_t)m->gregs[REG_RSP];
    const struct kymo_range *stack = &go->walker->stack;
    if (sp - stack->low < stack->high - stack->low)
        go->range = *stack;
    else if (!kymo__walker_range(go->walker, sp, &go->range))
        return false;
    go->range.low = sp - KYMO__RED_ZONE > go->range.low ? sp - KYMO__RED_ZONE : go->range.low;
    go->pc = (uint64_t)m->gregs[REG_RIP] + 1;
    go->sp = sp;
    go->from.fp = (uint64_t)m->gregs[REG_RBP]; /* as if it were in the register */
    go->fp_at = (uint64_t)(uintptr_t)&go->from.fp;
    return true;
}

/* The CFA and the location of the saved fp (0: not saved) of a frame that has a rule. */
KYMO__FOREIGN static bool odd_cfa(const struct kymo_going *go, struct kymo_rule rule, uint64_t *cfa,
                                  uint64_t *saved)
{
    uint64_t base = go->sp, fp = kymo__word(go->fp_at);
    if (rule.kind == KYMO__RULE_FP || rule.kind == KYMO__RULE_FP_WORD)
        base = fp;
    else if (rule.kind == KYMO__RULE_REGISTER && !find_register(go, rule.extra, &base))
        return false;
    *cfa = base + (uint64_t)(int64_t)rule.cfa;
    if (rule.kind == KYMO__RULE_SP_WORD || rule.kind == KYMO__RULE_FP_WORD) {
        if (!kymo__inside(&go->range, *cfa, 8))
            return false;
        *cfa = kymo__word(*cfa) + (rule.kind == KYMO__RULE_SP_WORD ? (uint64_t)rule.extra : 0);
    }
    *saved = rule.fp ? *cfa + (uint64_t)(int64_t)rule.fp : 0;
    if (rule.kind == KYMO__RULE_FP_WORD)
        *saved = fp + (uint64_t)(int64_t)rule.fp;
    else if (rule.kind == KYMO__RULE_REGISTER && rule.fp & 1)
        *saved = fp + (uint64_t)(int64_t)rule.fp - 1;
    return true;
}

/* A frame that no table describes: trust fp if it is plausible. */
KYMO__FOREIGN static bool chain_step(const struct kymo_going *go, uint64_t *cfa, uint64_t *saved)
{
    uint64_t fp = kymo__word(go->fp_at);
    if (fp % 8 || fp < go->sp || !kymo__inside(&go->range, fp, 16))
        return false;
    uint64_t pc =
        kymo__word(fp + 8); /* the word at fp may be anything: the caller need not use fp */
    *cfa = fp + 16;
    *saved = fp;
    return kymo__rule_at(pc - 1, go->walker->version).kind != KYMO__RULE_NONE;
}

/* This stack is not the thread's own and may differ from the one seen last time. */
static void look_again(struct kymo_going *go)
{
    struct kymo_range range;
    if (!kymo__stack_around(go->sp, &range) || range.own)
        return;
    go->walker->other = range;
    go->range.high = range.high;
}

/* Step by a rule that is not simple. False if the walk ends here. */
KYMO__COLD KYMO__FOREIGN bool kymo__odd_step(struct kymo_going *go)
{
    if (go->pc == 0) { /* read from a word that may differ next time */
        go->odd = go->count;
        return false;
    }
    struct kymo_rule rule = kymo__rule_at(go->pc - 1, go->walker->version);
    struct kymo_native *f = &go->walker->fresh[go->count];
    uint64_t cfa = 0, saved = 0;
    bool found = false;
    *f = (struct kymo_native){.pc = go->pc, .end = UINT64_MAX};
    if (rule.kind == KYMO__RULE_SIGNAL) {
        found = through_signal(go, go->sp + (uint64_t)rule.cfa);
        f->end = found ? go->sp : f->end;
        go->odd = ++go->count;
        return found;
    }
    if (rule.kind == KYMO__RULE_CHAIN) {
        found = chain_step(go, &cfa, &saved);
    } else if (rule.kind == KYMO__RULE_NONE && go->count == 0 && go->from.all) {
        cfa = go->sp + 8; /* after a call to an address without code, only the return address has
                             been pushed */
        found = true;
    } else if (rule.kind != KYMO__RULE_NONE && rule.kind != KYMO__RULE_END) {
        found = odd_cfa(go, rule, &cfa, &saved);
    }
    go->count++;
    if (rule.kind != KYMO__RULE_END)
        go->odd = go->count;
    if (found && cfa > go->range.high && !go->range.own)
        look_again(go);
    if (!found || cfa <= go->sp || !kymo__inside(&go->range, cfa - 8, 8) ||
        (saved && !kymo__inside(&go->range, saved, 8)))
        return false;
    f->end = cfa;
    go->pc = kymo__word(cfa - 8);
    go->fp_at = saved ? saved : go->fp_at;
    go->sp = cfa;
    return true;
}
