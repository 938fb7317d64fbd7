/* ehframe.h — how to get from a frame to its caller, for one address.

   Compilers describe this in .eh_frame as a small program per function. Real code uses little of
   what such programs can express: kymo_rule holds that in eight bytes, and everything else is
   KYMO__RULE_NONE. The bytes are not trusted: pointers outside their segment are not followed. */
#ifndef KYMO_EHFRAME_H
#define KYMO_EHFRAME_H

#include <stdbool.h>
#include <stdint.h>

/* How to find the CFA, the first address above the frame: sp before the call. */
enum kymo_rule_kind {
    KYMO__RULE_NONE,     /* unknown */
    KYMO__RULE_SP,       /* sp + cfa */
    KYMO__RULE_FP,       /* fp + cfa */
    KYMO__RULE_SP_WORD,  /* the word at sp + cfa, + extra: assembly that aligned its stack */
    KYMO__RULE_FP_WORD,  /* the word at fp + cfa: compiled code that aligned its stack; fp is saved
                            at fp + fp */
    KYMO__RULE_REGISTER, /* register number `extra` + cfa; an odd fp means that fp is saved at
                            fp + (that - 1) */
    KYMO__RULE_SIGNAL,   /* a signal handler returns here: the context is at sp + cfa */
    KYMO__RULE_END,      /* it has no caller */
    KYMO__RULE_CHAIN,    /* no table describes it; fp may point to the saved fp of the caller */
};

/* On aarch64, `extra` of a rule of kind SP or FP: where the return address is. */
enum { KYMO__RA_IN_REGISTER, KYMO__RA_AFTER_FP, KYMO__RA_ALONE };

struct kymo_rule {
    int32_t cfa;
    int16_t fp; /* the caller's fp is saved at CFA + fp; 0: still in the register. With
                   KYMO__RA_ALONE: the return address is there, and fp in the register */
    uint8_t kind;
    int8_t extra; /* x86_64, kinds SP and FP: rbx is saved at CFA - 8 * extra; 0: not saved */
};

/* The rule for the instruction at PC. HDR is the .eh_frame_hdr of its module, and LOW to HIGH the
   readable bytes around it. */
struct kymo_rule kymo__ehframe_rule(const uint8_t *hdr, uint64_t low, uint64_t high, uint64_t pc);

#endif
