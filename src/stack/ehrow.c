/* ehrow.c — see ehrow.h. */
#include "ehrow.h"

static bool is_at(const struct kymo_saved *saved, uint8_t reg, int64_t offset)
{
    return saved->how == KYMO__AT_PLACE && saved->place.kind == KYMO__PLACE_REGISTER &&
           saved->place.reg == reg && saved->place.offset == offset;
}

#if defined(__aarch64__)

/* The return address is in its register, just after the caller's fp, or saved alone. */
static bool saved_fields(struct kymo_rule *rule, const struct kymo_row *row)
{
    const struct kymo_saved *ra = &row->saved[KYMO__SAVED_RA], *fp = &row->saved[KYMO__SAVED_FP];
    if (ra->how == KYMO__SAME && fp->how == KYMO__SAME) {
        rule->extra = KYMO__RA_IN_REGISTER;
    } else if (ra->how == KYMO__AT_CFA && fp->how == KYMO__AT_CFA &&
               ra->place.offset == fp->place.offset + 8) {
        rule->extra = KYMO__RA_AFTER_FP;
        rule->fp = (int16_t)fp->place.offset;
        return rule->fp == fp->place.offset && rule->fp < 0;
    } else if (ra->how == KYMO__AT_CFA && fp->how == KYMO__SAME) {
        rule->extra = KYMO__RA_ALONE;
        rule->fp = (int16_t)ra->place.offset;
        return rule->fp == ra->place.offset && rule->fp < 0;
    } else {
        return false;
    }
    return true;
}

/* The kernel's description of its signal frame leaves out the interrupted frame; the walker
   recognises it by its code. */
static bool signal_fields(struct kymo_rule *rule, const struct kymo_row *row)
{
    (void)rule, (void)row, (void)is_at;
    return false;
}

#else

enum { CONTEXT_RBP = 120, CONTEXT_RSP = 160, CONTEXT_RIP = 168 }; /* in a ucontext_t */

static bool saved_fields(struct kymo_rule *rule, const struct kymo_row *row)
{
    const struct kymo_saved *ra = &row->saved[KYMO__SAVED_RA], *fp = &row->saved[KYMO__SAVED_FP];
    const struct kymo_saved *rbx = &row->saved[KYMO__SAVED_RBX];
    if (ra->how != KYMO__AT_CFA || ra->place.offset != -8 ||
        (rule->kind == KYMO__RULE_SP && rule->cfa < 8))
        return false;
    if (fp->how == KYMO__AT_CFA) {
        rule->fp = (int16_t)fp->place.offset;
        if (rule->fp != fp->place.offset || rule->fp > -16 || rule->fp % 8 ||
            rule->kind == KYMO__RULE_FP_WORD)
            return false;
    } else if (fp->how == KYMO__AT_PLACE) {
        rule->fp = (int16_t)fp->place.offset;
        if (!is_at(fp, KYMO__FP, rule->fp) || rule->fp % 8)
            return false;
        if (rule->kind == KYMO__RULE_REGISTER)
            rule->fp = (int16_t)(rule->fp + 1);
        else if (rule->kind == KYMO__RULE_SP && rule->cfa == 8)
            rule->fp = 0; /* at its `ret`: gcc does not say that it has been restored */
        else if (rule->kind != KYMO__RULE_FP_WORD)
            return false;
    } else if (fp->how == KYMO__ODD || rule->kind == KYMO__RULE_FP_WORD) {
        return false;
    }
    if (rule->kind == KYMO__RULE_SP || rule->kind == KYMO__RULE_FP)
        rule->extra = rbx->how == KYMO__AT_CFA && rbx->place.offset < 0 &&
                              rbx->place.offset >= -8 * 127 && rbx->place.offset % 8 == 0
                          ? (int8_t)(rbx->place.offset / -8)
                          : 0;
    return true;
}

static bool signal_fields(struct kymo_rule *rule, const struct kymo_row *row)
{
    int64_t context = row->cfa.offset - CONTEXT_RSP;
    if (row->cfa.kind != KYMO__PLACE_WORD || row->cfa.reg != KYMO__SP || row->cfa.add ||
        context < 0 || context > 4096 ||
        !is_at(&row->saved[KYMO__SAVED_RA], KYMO__SP, context + CONTEXT_RIP) ||
        !is_at(&row->saved[KYMO__SAVED_FP], KYMO__SP, context + CONTEXT_RBP))
        return false;
    *rule = (struct kymo_rule){.kind = KYMO__RULE_SIGNAL, .cfa = (int32_t)context};
    return true;
}

#endif

struct kymo_rule kymo__row_rule(const struct kymo_row *row, bool signal)
{
    const struct kymo_rule none = {.kind = KYMO__RULE_NONE};
    struct kymo_rule rule = none;
    if (row->saved[KYMO__SAVED_RA].how == KYMO__UNDEFINED)
        return (struct kymo_rule){.kind = KYMO__RULE_END};
    if (signal)
        return signal_fields(&rule, row) ? rule : none;
    const struct kymo_eh_place *cfa = &row->cfa;
    if (cfa->offset < -(1 << 29) || cfa->offset > 1 << 29 || cfa->offset % 8)
        return none;
    rule.cfa = (int32_t)cfa->offset;
    if (cfa->kind == KYMO__PLACE_REGISTER) {
        rule.kind = cfa->reg == KYMO__SP   ? KYMO__RULE_SP
                    : cfa->reg == KYMO__FP ? KYMO__RULE_FP
                                           : KYMO__RULE_REGISTER;
        rule.extra = (int8_t)cfa->reg;
    } else if (cfa->kind == KYMO__PLACE_WORD && cfa->reg == KYMO__SP && cfa->add >= 0 &&
               cfa->add < 128) {
        rule.kind = KYMO__RULE_SP_WORD;
        rule.extra = (int8_t)cfa->add;
    } else if (cfa->kind == KYMO__PLACE_WORD && cfa->reg == KYMO__FP && cfa->add == 0) {
        rule.kind = KYMO__RULE_FP_WORD;
    } else {
        return none;
    }
    if (rule.kind == KYMO__RULE_SP && rule.cfa < 0)
        return none;
    return saved_fields(&rule, row) ? rule : none;
}
