/* unwind_chain.c — see unwind_chain.h. */
#include "unwind_chain.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

typedef int link(int depth, int levels, chain_leaf *leaf);
static link *const links[128];

/* Number 8 * A + B; one in sixteen has a frame whose size is not known before. */
#define LINK(a, b)                                                                                 \
    __attribute__((noinline)) static int link_##a##_##b(int depth, int levels, chain_leaf *leaf)   \
    {                                                                                              \
        enum { NUMBER = 8 * a + b, SIZE = 16 + NUMBER * 37 % 11 * 24 };                            \
        volatile char frame[SIZE];                                                                 \
        volatile char *more = NUMBER % 16 ? frame : __builtin_alloca((unsigned)(depth & 63) + 16); \
        frame[0] = more[1] = (char)depth;                                                          \
        if (depth == 0)                                                                            \
            return leaf() + frame[0];                                                              \
        link *next = links[(NUMBER + 1) % 128];                                                    \
        int sum = next(depth - 1, levels, leaf) + frame[0];                                        \
        for (int i = depth <= levels ? 2 : 0; i; i--)                                              \
            sum += next(depth - 1, levels, leaf);                                                  \
        return sum + more[1];                                                                      \
    }
/* clang-format off */
#define LINKS(a)                                                                                   \
    LINK(a, 0) LINK(a, 1) LINK(a, 2) LINK(a, 3) LINK(a, 4) LINK(a, 5) LINK(a, 6) LINK(a, 7)
LINKS(0) LINKS(1) LINKS(2) LINKS(3) LINKS(4) LINKS(5) LINKS(6) LINKS(7)
LINKS(8) LINKS(9) LINKS(10) LINKS(11) LINKS(12) LINKS(13) LINKS(14) LINKS(15)
/* clang-format on */

#define NAMES(a)                                                                                   \
    link_##a##_0, link_##a##_1, link_##a##_2, link_##a##_3, link_##a##_4, link_##a##_5,            \
        link_##a##_6, link_##a##_7
        static link *const links[128] = {
            NAMES(0), NAMES(1), NAMES(2),  NAMES(3),  NAMES(4),  NAMES(5),  NAMES(6),  NAMES(7),
            NAMES(8), NAMES(9), NAMES(10), NAMES(11), NAMES(12), NAMES(13), NAMES(14), NAMES(15),
};

int JOIN(chain_, CHAIN)(int depth, chain_leaf *leaf)
{
    return links[0](depth, 0, leaf);
}

int JOIN(chain_tree_, CHAIN)(int depth, int levels, chain_leaf *leaf)
{
    return links[0](depth, levels, leaf);
}
