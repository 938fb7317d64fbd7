/* torchcall_aarch64.c — see torchcall.h. The result's place is in x8, which C cannot name: each start
   function keeps it on the stack around the call and then stores a null pointer there. */
#include "torchcall.h"

#define PAIR(scope)                                                                                \
    __asm__(".text\n"                                                                              \
            ".balign 16\n"                                                                         \
            ".local kymo__torch_start" #scope "\n"                                                 \
            ".type kymo__torch_start" #scope ", %function\n"                                       \
            "kymo__torch_start" #scope ":\n"                                                       \
            ".cfi_startproc\n"                                                                     \
            "hint #34\n" /* bti c: it is called through a pointer */                               \
            "stp x29, x30, [sp, #-32]!\n"                                                          \
            ".cfi_def_cfa_offset 32\n"                                                             \
            ".cfi_offset 29, -32\n"                                                                \
            ".cfi_offset 30, -24\n"                                                                \
            "mov x29, sp\n"                                                                        \
            "str x8, [sp, #16]\n"                                                                  \
            "mov w1, #" #scope "\n"                                                                \
            "bl kymo__torch_starts\n"                                                              \
            "ldr x8, [sp, #16]\n"                                                                  \
            "str xzr, [x8]\n"                                                                      \
            "ldp x29, x30, [sp], #32\n"                                                            \
            ".cfi_restore 29\n"                                                                    \
            ".cfi_restore 30\n"                                                                    \
            ".cfi_def_cfa_offset 0\n"                                                              \
            "ret\n"                                                                                \
            ".cfi_endproc\n"                                                                       \
            ".size kymo__torch_start" #scope ", .-kymo__torch_start" #scope "\n");                 \
    extern void kymo__torch_start##scope(void) __attribute__((visibility("hidden")));              \
    static void end##scope(const void *record, void *context)                                      \
    {                                                                                              \
        (void)context;                                                                             \
        kymo__torch_ends(record, scope);                                                           \
    }
PAIR(0)
PAIR(1)
PAIR(2)
PAIR(3)
PAIR(4)
PAIR(5)
PAIR(6)
PAIR(7)
PAIR(8)
PAIR(9)

void *kymo__torch_starter(unsigned scope)
{
    static void (*const starts[KYMO__TORCH_SCOPES])(void) = {
        kymo__torch_start0, kymo__torch_start1, kymo__torch_start2, kymo__torch_start3,
        kymo__torch_start4, kymo__torch_start5, kymo__torch_start6, kymo__torch_start7,
        kymo__torch_start8, kymo__torch_start9};
    return (void *)(uintptr_t)starts[scope];
}

void *kymo__torch_ender(unsigned scope)
{
    static void (*const ends[KYMO__TORCH_SCOPES])(const void *, void *) = {
        end0, end1, end2, end3, end4, end5, end6, end7, end8, end9};
    return (void *)(uintptr_t)ends[scope];
}
