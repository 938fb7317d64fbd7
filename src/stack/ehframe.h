/* ehframe.h — how to get from one frame to its caller, for one address.

   Compilers tell it in .eh_frame as a small program for each function. Of what such a program
   can say, code that exists uses little: kymo_rule holds that in eight bytes, and everything
   else is KYMO__RULE_NONE. The bytes are not trusted: what points outside of the segment they
   lie in is not followed. */
#ifndef KYMO_EHFRAME_H
#define KYMO_EHFRAME_H

#include <stdbool.h>
#include <stdint.h>

/* Where the CFA is, the first address above the frame: what sp was before the call. */
enum kymo_rule_kind {
    KYMO__RULE_NONE,     /* not known */
    KYMO__RULE_SP,       /* sp + cfa */
    KYMO__RULE_FP,       /* fp + cfa */
    KYMO__RULE_SP_WORD,  /* the word at sp + cfa, + extra: assembly that aligned its stack */
    KYMO__RULE_FP_WORD,  /* the word at fp + cfa: compiled code that did; fp is saved at fp + fp */
    KYMO__RULE_REGISTER, /* register number `extra` + cfa; an odd fp means that fp is saved at
                            fp + (that - 1) */
    KYMO__RULE_SIGNAL,   /* a signal handler returns here: the context is at sp + cfa */
    KYMO__RULE_END,      /* nobody called this one */
    KYMO__RULE_CHAIN,    /* no table tells; fp may point to where the caller's is saved */
};

/* On aarch64, `extra` of a rule of kind SP or FP: where the return address is. */
enum { KYMO__RA_IN_REGISTER, KYMO__RA_AFTER_FP, KYMO__RA_ALONE };

struct kymo_rule {
    int32_t cfa;
    int16_t fp; /* the caller's fp is saved at CFA + fp; 0: it still is in the register. With
                   KYMO__RA_ALONE: the return address is there, and fp in the register */
    uint8_t kind;
    int8_t extra; /* x86_64, kinds SP and FP: rbx is saved at CFA - 8 * extra; 0: it is not */
};

/* The rule for the instruction at PC. HDR is the .eh_frame_hdr of its module, and LOW .. HIGH
   the readable bytes around that. */
struct kymo_rule kymo__ehframe_rule(const uint8_t *hdr, uint64_t low, uint64_t high, uint64_t pc);

#endif
