/* loader.h — what can be asked of the dynamic loader without its lock. */
#ifndef KYMO_LOADER_H
#define KYMO_LOADER_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "atomic.h"

enum { KYMO__LOADER_WORDS = 4 };

/* The loader counts loads in an unnamed word of its memory. These are the words that have always
   matched that count; after a while only one is left. */
struct kymo_loader {
    const uint64_t *words[KYMO__LOADER_WORDS];
    uint32_t count;
    uint32_t finds; /* it can look up an address without a lock (glibc 2.35) */
};
extern struct kymo_loader kymo__loader;

uint64_t kymo__loader_ask(void);

/* A number that changes when a file is loaded, which may invalidate what was remembered about
   addresses. (An address cannot get another library without a load.) Costs one memory load if the
   loader's counter was found, otherwise a call that takes its lock. */
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

/* Search for the counter; once found, check that it is right. Takes the loader's lock. */
void kymo__loader_learn(void);

static inline bool kymo__loader_finds(void)
{
    return kymo__load_acquire(&kymo__loader.finds);
}

struct kymo_mapped {
    uint64_t low, high; /* the file's whole mapping */
    uint64_t base;
    const uint8_t *eh_frame_hdr;
};

/* What is loaded at PC. Only after kymo__loader_finds. Signal-safe. */
bool kymo__loader_find(uint64_t pc, struct kymo_mapped *mapped);

#endif
