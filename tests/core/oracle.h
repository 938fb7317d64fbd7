/* oracle.h — another unwinder's opinion, to compare a walk with frame by frame.

   libunwind, where it was there when the tests were built, else the one of the compiler's own
   library. Both are slow and careful: every step reads the tables anew. */
#ifndef KYMO_ORACLE_H
#define KYMO_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "walk.h"

enum { ORACLE_FRAMES = 20000 };

/* Whether a signal handler returns to PC: what is there is the system call. */
static inline bool oracle_trampoline(uint64_t pc)
{
#if defined(__x86_64__)
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#else
    static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif
    return memcmp((const void *)(uintptr_t)pc, code, sizeof(code)) == 0;
}

#ifdef HAVE_LIBUNWIND
enum { ORACLE_KNOWS_JIT = 1 }; /* it tries frame pointers where there are no tables */

#define UNW_LOCAL_ONLY
#include <libunwind.h>

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
__attribute__((noinline, unused)) static size_t oracle_here(uint64_t *pcs, size_t count)
{
    unw_context_t context;
    unw_cursor_t cursor;
    if (unw_getcontext(&context) || unw_init_local(&cursor, &context) || unw_step(&cursor) <= 0 ||
        unw_step(&cursor) <= 0)
        return 0;
    return oracle_steps(&cursor, pcs, count, false);
}

/* From the signal on whose CONTEXT a handler got. */
__attribute__((unused)) static size_t oracle_context(void *context, uint64_t *pcs, size_t count)
{
    unw_cursor_t cursor;
    if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME))
        return 0;
    return oracle_steps(&cursor, pcs, count, true);
}

#else
#include <unwind.h>

enum { ORACLE_KNOWS_JIT = 0 };

struct oracle_list {
    uint64_t *pcs;
    size_t skip, count, room;
    bool wait; /* for a signal's frame to pass */
};

static _Unwind_Reason_Code oracle_frame(struct _Unwind_Context *frame, void *arg)
{
    struct oracle_list *list = arg;
    int exact = 0;
    uint64_t pc = _Unwind_GetIPInfo(frame, &exact);
    bool trampoline = list->wait && oracle_trampoline(pc);
    if (trampoline)
        list->wait = false;
    else if (list->skip)
        list->skip--;
    else if (pc && !list->wait && list->count < list->room)
        /* It counts the signal's own frame as exact too. */
        list->pcs[list->count++] = pc + (exact && !oracle_trampoline(pc));
    return _URC_NO_REASON;
}

__attribute__((noinline, unused)) static size_t oracle_here(uint64_t *pcs, size_t count)
{
    struct oracle_list list = {.pcs = pcs, .room = count, .skip = 2};
    _Unwind_Backtrace(oracle_frame, &list);
    return list.count;
}

__attribute__((unused)) static size_t oracle_context(void *context, uint64_t *pcs, size_t count)
{
    (void)context;
    struct oracle_list list = {.pcs = pcs, .room = count, .wait = true};
    _Unwind_Backtrace(oracle_frame, &list);
    return list.count;
}
#endif

/* Whether WALK is the COUNT addresses at PCS, innermost first there; shown if not. */
__attribute__((unused)) static bool oracle_agrees(const struct kymo_walk *walk, const uint64_t *pcs,
                                                  size_t count)
{
    bool same = walk->count == count;
    for (size_t i = 0; same && i < count; i++)
        same = walk->frames[count - 1 - i].pc == pcs[i];
    if (same)
        return true;
    dprintf(1, "# %zu frames, where the oracle has %zu\n", walk->count, count);
    for (size_t i = 0; (i < count || i < walk->count) && i < 100; i++)
        dprintf(1, "#   %16llx  %16llx\n",
                (unsigned long long)(i < walk->count ? walk->frames[walk->count - 1 - i].pc : 0),
                (unsigned long long)(i < count ? pcs[i] : 0));
    return false;
}

/* The same for the caller, and everything further out, as the next line of it has them. */
#define ORACLE_AGREES(pcs)                                                                         \
    ({                                                                                             \
        struct kymo_walk oracle_walk = {0};                                                        \
        bool oracle_walked = kymo__walk(&oracle_walk, 1);                                          \
        size_t oracle_count = oracle_here(pcs, ORACLE_FRAMES);                                     \
        oracle_walked &&oracle_agrees(&oracle_walk, pcs, oracle_count);                            \
    })

#endif
