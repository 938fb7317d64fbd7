/* What a walk of the native stack costs, at three depths: all of it, what has changed since the
   last time, and others' ways for comparison. Targets are nanoseconds on an idle machine. */
#include <dlfcn.h>
#include <execinfo.h>

#include "alternate.h"
#include "unwind_chain.h"
#include "walk.h"
#include "walker.h"

enum { ROUNDS = 12, FRAMES = 256, LEVELS = 5 };

static int (*unw_backtrace)(void **, int);
static void *addresses[FRAMES];
static uint64_t sum;

static void walk_fresh(long count)
{
    struct kymo_walk walk = {0};
    for (long i = 0; i < count; i++) {
        kymo__walker->usable = 0; /* forget the last one */
        kymo__walk(&walk, 0);
        sum += walk.hash;
    }
}

static void walk_again(long count)
{
    struct kymo_walk walk = {0};
    for (long i = 0; i < count; i++) {
        kymo__walk(&walk, 0);
        sum += walk.hash;
    }
}

/* The least that can be done: follow frame pointers, look at nothing. */
static void follow_pointers(long count)
{
    for (long i = 0; i < count; i++) {
        const uintptr_t *at = __builtin_frame_address(0);
        uintptr_t high = kymo__walker->stack.high;
        int n = 0;
        while (n < FRAMES) {
            addresses[n++] = (void *)at[1];
            const uintptr_t *next = (const uintptr_t *)at[0];
            if (next <= at || (uintptr_t)next >= high - 8 || (uintptr_t)next % 8)
                break;
            at = next;
        }
        sum += (uint64_t)n;
        __asm__ volatile("" ::: "memory");
    }
}

static void glibc(long count)
{
    for (long i = 0; i < count; i++)
        sum += (uint64_t)backtrace(addresses, FRAMES);
}

static void libunwind(long count)
{
    for (long i = 0; i < count; i++)
        sum += (uint64_t)unw_backtrace(addresses, FRAMES);
}

static struct contestant all[] = {
    {.name = "all of it", .run = walk_fresh},
    {.name = "what has changed", .run = walk_again},
    {.name = "frame pointers alone", .run = follow_pointers},
    {.name = "libunwind's unw_backtrace", .run = libunwind},
    {.name = "glibc's backtrace", .run = glibc},
};
enum { ALL = sizeof(all) / sizeof(all[0]) };

static const double *targets;

static int measure(void)
{
    struct kymo_walk walk = {0};
    kymo__walk(&walk, 0);
    int n = unw_backtrace ? ALL : ALL - 2; /* without the one, the other alone says little */
    for (int i = 0; i < n; i++)
        all[i].count = 0;
    bench_alternate(all, n, ROUNDS, NULL);
    printf("  %zu frames\n", walk.count);
    bench_table(all, n, ROUNDS);
    for (int i = 0; i < 2; i++) {
        double least = bench_quantile(all[i].ns, ROUNDS, 0);
        printf("  %-34s %9.2f of %.0f wanted: %.2fx\n", all[i].name, least, targets[i],
               least / targets[i]);
    }
    return 0;
}

static const double wanted[][2] = {{60, 30}, {140, 45}, {400, 90}};
static const int depths[] = {10, 30, 100};

static int capture(void)
{
    struct kymo_walk walk = {0};
    kymo__walk(&walk, 0);
    sum += walk.hash;
    return 1;
}

static int nothing(void)
{
    __asm__ volatile("" ::: "memory");
    return 1;
}

static int tree_depth;
static chain_leaf *tree_leaf;

static void tree(long count)
{
    for (long i = 0; i < count; i += 243)
        sum += (uint64_t)chain_tree_nofp(tree_depth, LEVELS, tree_leaf);
}

static void tree_walked(long count)
{
    tree_leaf = capture;
    tree(count);
}

static void tree_alone(long count)
{
    tree_leaf = nothing;
    tree(count);
}

int main(void)
{
    /* Linked, it would take the place of glibc's backtrace. */
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "unw_backtrace") : NULL;
    memcpy(&unw_backtrace, &symbol, sizeof(symbol));
    if (!symbol)
        printf("no libunwind here to compare with\n");

    for (int fp = 0; fp < 2; fp++)
        for (int i = 0; i < 3; i++) {
            printf("\n%s frame pointers, depth %d\n", fp ? "With" : "Without", depths[i]);
            targets = wanted[i];
            (fp ? chain_fp : chain_nofp)(depths[i], measure);
        }
    for (int i = 0; i < 3; i++) {
        struct contestant both[] = {
            {.name = "the calls alone", .run = tree_alone},
            {.name = "with a walk at each end", .run = tree_walked},
        };
        tree_depth = depths[i];
        bench_alternate(both, 2, ROUNDS, NULL);
        printf("\nDepth %d, %d levels of which come and go\n", depths[i], LEVELS);
        bench_table(both, 2, ROUNDS);
    }
    return sum == 1;
}
