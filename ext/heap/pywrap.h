/* pywrap.h — the functions that are put around Python's allocators. A free is reported before it
   happens, an allocation afterwards.

   There are two sets of wrappers. All work in every mode, since those of an earlier session may still
   be below someone else's; but in the sampled mode the second set costs least. */
#ifndef KYMO_EXT_PYWRAP_H
#define KYMO_EXT_PYWRAP_H

#include "compat.h"

#include <stdbool.h>
#include <stdint.h>

enum { PYWRAP_DOMAINS = 3 }; /* PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ */

struct pywrap {
    PyMemAllocatorEx below; /* what is wrapped; valid for ever once set, see pymem.h */
    /* What the wrappers of the sampled mode call: the same while it is on, otherwise the reporting
       wrappers. */
    PyMemAllocatorEx onward;
    /* Blocks up to this size come from pymalloc itself: no further allocator is called for them that is
       recorded, unless memory runs out. */
    size_t alone;
    bool reached;                                 /* one of them was called while `probing` */
    uint32_t malloc_key, calloc_key, realloc_key; /* names, in the running session */
};
extern struct pywrap kymo__pywrap[PYWRAP_DOMAINS];

extern uint32_t kymo__pywrap_reporting;
extern uint32_t kymo__pywrap_probing; /* only while not reporting */

/* How far before a block the allocators below may begin: Python's debug hooks put a header there, one
   in each of two domains. */
extern uint32_t kymo__pywrap_offset;

/* Report and free a block for which kymo_memory_is_apart is true. */
void kymo__pywrap_free_apart(const PyMemAllocatorEx *below, void *at);

/* kymo__memory_filter of the last session in which the second set was used, and whether it is in use
   now. */
extern const uint16_t *kymo__pywrap_filter;
extern uint32_t kymo__pywrap_sampling;

/* pywrap.c and pywrap_sampled.c: the functions for each domain. Their context is not used: see
   pymem.h. */
extern const PyMemAllocatorEx kymo__pywrap_reports[PYWRAP_DOMAINS];
extern const PyMemAllocatorEx kymo__pywrap_samples[PYWRAP_DOMAINS];

#define PYWRAP_INLINE static inline __attribute__((always_inline))

/* Define the four functions of domain NUMBER, from those of all domains. */
#define PYWRAP_FUNCTIONS(name, number)                                                             \
    static void *name##_malloc(void *Py_UNUSED(ctx), size_t size)                                  \
    {                                                                                              \
        return domain_malloc(&kymo__pywrap[number], size);                                         \
    }                                                                                              \
    static void *name##_calloc(void *Py_UNUSED(ctx), size_t count, size_t size)                    \
    {                                                                                              \
        return domain_calloc(&kymo__pywrap[number], count, size);                                  \
    }                                                                                              \
    static void *name##_realloc(void *Py_UNUSED(ctx), void *from, size_t size)                     \
    {                                                                                              \
        return domain_realloc(&kymo__pywrap[number], from, size);                                  \
    }                                                                                              \
    static void name##_free(void *Py_UNUSED(ctx), void *at)                                        \
    {                                                                                              \
        domain_free(&kymo__pywrap[number], at);                                                    \
    }

/* And the table of them all, called TABLE. */
#define PYWRAP_TABLE(table)                                                                        \
    PYWRAP_FUNCTIONS(raw, PYMEM_DOMAIN_RAW)                                                        \
    PYWRAP_FUNCTIONS(mem, PYMEM_DOMAIN_MEM)                                                        \
    PYWRAP_FUNCTIONS(obj, PYMEM_DOMAIN_OBJ)                                                        \
    const PyMemAllocatorEx table[PYWRAP_DOMAINS] = {                                               \
        [PYMEM_DOMAIN_RAW] = {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free},                \
        [PYMEM_DOMAIN_MEM] = {NULL, mem_malloc, mem_calloc, mem_realloc, mem_free},                \
        [PYMEM_DOMAIN_OBJ] = {NULL, obj_malloc, obj_calloc, obj_realloc, obj_free},                \
    }

#endif
