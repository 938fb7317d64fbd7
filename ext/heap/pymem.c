/* pymem.c — see pymem.h. The functions themselves are in pywrap.h. */
#include "pymem.h"

#include <dlfcn.h>
#include <kymo/memory.h>
#include <kymo/payload.h>
#include <string.h>

#include "births.h"
#include "pywrap.h"
#include "traced.h"

enum {
    DOMAINS = PYWRAP_DOMAINS,
    PYMALLOC_MOST = 512, /* pymalloc asks the domain raw for what is larger */
};

static bool placed[DOMAINS]; /* our functions are installed, perhaps below someone else's */
static bool below_tracemalloc[DOMAINS]; /* they were put there: see traced.h */

static const char *const names[DOMAINS][3] = {
    [PYMEM_DOMAIN_RAW] = {"PyMem_RawMalloc", "PyMem_RawCalloc", "PyMem_RawRealloc"},
    [PYMEM_DOMAIN_MEM] = {"PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc"},
    [PYMEM_DOMAIN_OBJ] = {"PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc"},
};

static bool is_same(const PyMemAllocatorEx *a, const PyMemAllocatorEx *b)
{
    return a->malloc == b->malloc && a->calloc == b->calloc && a->realloc == b->realloc &&
           a->free == b->free;
}

static bool is_ours(int number, const PyMemAllocatorEx *allocator)
{
    return is_same(allocator, &kymo__pywrap_reports[number]) ||
           is_same(allocator, &kymo__pywrap_samples[number]);
}

/* Are our functions the outermost of domain NUMBER? */
static bool is_outermost(int number)
{
    PyMemAllocatorEx now;
    PyMem_GetAllocator((PyMemAllocatorDomain)number, &now);
    return is_ours(number, &now);
}

int kymo__pymem_placed(void)
{
    int count = 0;
    for (int i = 0; i < DOMAINS; i++)
        count += is_outermost(i);
    return count;
}

/* Does Python still call our functions of domain NUMBER? Whoever wraps them may be gone, and may have
   put back what it found before us. */
static bool is_reached(int number)
{
    static void *(*const allocate[DOMAINS])(size_t) = {PyMem_RawMalloc, PyMem_Malloc,
                                                       PyObject_Malloc};
    static void (*const release[DOMAINS])(void *) = {PyMem_RawFree, PyMem_Free, PyObject_Free};
    kymo__pywrap[number].reached = false;
    __atomic_store_n(&kymo__pywrap_probing, 1u, __ATOMIC_SEQ_CST);
    release[number](allocate[number](1));
    __atomic_store_n(&kymo__pywrap_probing, 0u, __ATOMIC_SEQ_CST);
    return kymo__pywrap[number].reached;
}

/* Let the wrappers of the sampled mode call what they should. */
static void lead_onward(struct pywrap *d, const PyMemAllocatorEx *to)
{
    d->onward.ctx = d->below.ctx;
    kymo__allocator_store(&d->onward, to);
}

static void set_sampling(bool now)
{
    for (int i = 0; i < DOMAINS; i++)
        lead_onward(&kymo__pywrap[i], now ? &kymo__pywrap[i].below : &kymo__pywrap_reports[i]);
    __atomic_store_n(&kymo__pywrap_sampling, (uint32_t)now, __ATOMIC_RELEASE);
}

/* Set the allocator of domain NUMBER, or that at TRACED, if it is not NULL. */
static void set_allocator(int number, PyMemAllocatorEx *traced, const PyMemAllocatorEx *to)
{
    PyMemAllocatorEx copy = *to;
    if (traced)
        kymo__allocator_store(traced, to);
    else
        PyMem_SetAllocator((PyMemAllocatorDomain)number, &copy);
}

static void place_wrapper(int number, const PyMemAllocatorEx *wrappers)
{
    struct pywrap *d = &kymo__pywrap[number];
    PyMemAllocatorEx ours = wrappers[number], *traced = kymo__traced_allocator(number);
    if (traced)
        d->below = *traced;
    else
        PyMem_GetAllocator((PyMemAllocatorDomain)number, &d->below);
    lead_onward(d, &kymo__pywrap_reports[number]);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    ours.ctx = d->below.ctx;
    set_allocator(number, traced, &ours);
    placed[number] = true;
    below_tracemalloc[number] = traced != NULL;
}

/* The allocator that Python uses now, if nobody else has wrapped it: "pymalloc", "malloc_debug". "" if
   Python does not say. */
static const char *name_allocator(void)
{
    const char *(*name_it)(void) =
        (const char *(*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "_PyMem_GetCurrentAllocatorName");
    const char *name = name_it ? name_it() : NULL;
    return name ? name : "";
}

void kymo__pymem_install(bool sampled)
{
    enum { HEADER = 2 * sizeof(size_t) };
    const char *allocator = name_allocator();
    const bool pymalloc = strcmp(allocator, "pymalloc") == 0;
    if (*allocator)
        kymo__pywrap_offset = strstr(allocator, "debug") ? 2 * HEADER : 0;
    sampled = sampled && !kymo__births_on; /* which needs every block */
    if (sampled)
        kymo__pywrap_filter = kymo__memory_filter;
    for (int i = 0; i < DOMAINS; i++) {
        kymo__pywrap[i].malloc_key = kymo_name_key(names[i][0]);
        kymo__pywrap[i].calloc_key = kymo_name_key(names[i][1]);
        kymo__pywrap[i].realloc_key = kymo_name_key(names[i][2]);
    }
    for (int i = 0; i < DOMAINS; i++)
        if (!placed[i] || !is_reached(i)) {
            kymo__pywrap[i].alone = pymalloc && i != PYMEM_DOMAIN_RAW ? PYMALLOC_MOST : 0;
            place_wrapper(i, sampled ? kymo__pywrap_samples : kymo__pywrap_reports);
        }
    __atomic_store_n(&kymo__pywrap_reporting, 1u, __ATOMIC_RELEASE);
    set_sampling(sampled);
}

void kymo__pymem_silence(void)
{
    set_sampling(false);
    __atomic_store_n(&kymo__pywrap_reporting, 0u, __ATOMIC_RELEASE);
}

int kymo__pymem_remove(int *gone)
{
    int kept = 0;
    kymo__pymem_silence();
    for (int i = 0; i < DOMAINS; i++) {
        if (!placed[i])
            continue;
        PyMemAllocatorEx *traced = below_tracemalloc[i] ? kymo__traced_allocator(i) : NULL;
        bool removable = traced ? is_ours(i, traced) : is_outermost(i);
        bool reached = removable || is_reached(i);
        if (removable)
            set_allocator(i, traced, &kymo__pywrap[i].below);
        placed[i] = reached && !removable;
        kept += placed[i];
        *gone += !reached;
    }
    return kept;
}
