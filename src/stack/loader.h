/* loader.h — what the dynamic loader can be asked without its lock. */
#ifndef KYMO_LOADER_H
#define KYMO_LOADER_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "atomic.h"

enum { KYMO__LOADER_WORDS = 4 };

/* The loader counts what it loads, in a word of its own memory that has no name. These are the
   words that have always been equal to it when we looked: one, after a while. */
struct kymo_loader {
    const uint64_t *words[KYMO__LOADER_WORDS];
    uint32_t count;
    uint32_t finds; /* it can be asked about an address without a lock (glibc 2.35) */
};
extern struct kymo_loader kymo__loader;

uint64_t kymo__loader_ask(void);

/* A number that changes when a file is loaded: what was remembered of addresses before may be
   wrong then. (An address cannot get another library without a load.) Costs one load of memory
   where the loader's counter was found, and a call that takes its lock where it was not. */
static inline uint64_t kymo__modules_version(void)
{
    uint32_t count = kymo__load_relaxed(&kymo__loader.count);
    if (kymo__unlikely(count == 0))
        return kymo__loader_ask();
    uint64_t sum = kymo__load_relaxed(kymo__load_relaxed(&kymo__loader.words[0]));
    for (uint32_t i = 1; kymo__unlikely(i < count); i++) /* one may go down as another goes up */
        sum = sum * 1000003 + kymo__load_relaxed(kymo__load_relaxed(&kymo__loader.words[i]));
    return sum;
}

/* Look for the counter, and once it was looked for see that what was found is right. Takes the
   loader's lock. */
void kymo__loader_learn(void);

static inline bool kymo__loader_finds(void)
{
    return kymo__load_acquire(&kymo__loader.finds);
}

struct kymo_mapped {
    uint64_t low, high; /* all that is mapped of the file */
    uint64_t base;
    const uint8_t *eh_frame_hdr;
};

/* What is loaded at PC. Only after kymo__loader_finds. Also in a signal handler. */
bool kymo__loader_find(uint64_t pc, struct kymo_mapped *mapped);

#endif
