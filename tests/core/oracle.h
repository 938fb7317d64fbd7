/* oracle.h — another unwinder's opinion, to compare a walk with frame by frame.

   libunwind, where it was there when the tests were built. It is slow and careful: every step
   reads the tables anew. */
#ifndef KYMO_ORACLE_H
#define KYMO_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>

enum { ORACLE = 1 };

/* Whether a signal handler returns to PC: what is there is the system call. (unw_is_signal_frame
   means this frame or the next one, depending on the version.) */
static inline bool oracle_trampoline(uint64_t pc)
{
#if defined(__x86_64__)
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#else
    static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif
    return memcmp((const void *)(uintptr_t)pc, code, sizeof(code)) == 0;
}

/* The return addresses from CURSOR on; as walk.h has them: where a signal came, the address + 1. */
static inline size_t oracle_steps(unw_cursor_t *cursor, uint64_t *pcs, size_t count, bool exact)
{
    size_t n = 0;
    do {
        unw_word_t pc = 0;
        unw_get_reg(cursor, UNW_REG_IP, &pc);
        if (!pc || n == count)
            break;
        pcs[n++] = pc + exact;
        exact = !exact && oracle_trampoline(pc);
    } while (unw_step(cursor) > 0);
    return n;
}

/* Those of the caller's caller and further out. */
__attribute__((noinline)) static size_t oracle_here(uint64_t *pcs, size_t count)
{
    unw_context_t context;
    unw_cursor_t cursor;
    if (unw_getcontext(&context) || unw_init_local(&cursor, &context) ||
        unw_step(&cursor) <= 0 || unw_step(&cursor) <= 0)
        return 0;
    return oracle_steps(&cursor, pcs, count, false);
}

static inline size_t oracle_context(void *context, uint64_t *pcs, size_t count)
{
    unw_cursor_t cursor;
    if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME))
        return 0;
    return oracle_steps(&cursor, pcs, count, true);
}
#else
enum { ORACLE = 0 };
static inline size_t oracle_here(uint64_t *pcs, size_t count)
{
    (void)pcs, (void)count;
    return 0;
}
static inline size_t oracle_context(void *context, uint64_t *pcs, size_t count)
{
    (void)context, (void)pcs, (void)count;
    return 0;
}
#endif

#endif
