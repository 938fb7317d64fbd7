/* loader.c — see loader.h. */
#include "loader.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct kymo_loader kymo__loader;

/* glibc has declared this since 2.35; older headers lack it, and older libraries lack the
   function. */
struct found {
    unsigned long long flags;
    void *low, *high;
    struct link_map *map;
    void *eh_frame_hdr;
    unsigned long long reserved[7];
};
static int (*find_object)(void *pc, struct found *found);

static int adds_of(struct dl_phdr_info *info, size_t size, void *arg)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof(info->dlpi_adds))
        *(uint64_t *)arg = info->dlpi_adds;
    return 1;
}

uint64_t kymo__loader_ask(void)
{
    uint64_t adds = 0;
    dl_iterate_phdr(adds_of, &adds);
    return adds;
}

/* Search _rtld_global, an exported object of known size but private layout. */
static void search_counter(uint64_t adds)
{
    const uint64_t *all = dlsym(RTLD_DEFAULT, "_rtld_global");
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    if (!all || !dladdr1(all, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
        info.dli_saddr != all)
        return;
    uint32_t count = 0;
    for (size_t i = 0; i < symbol->st_size / sizeof(*all); i++) {
        if (kymo__load_relaxed(&all[i]) != adds)
            continue;
        if (count == KYMO__LOADER_WORDS)
            return; /* too many candidates: ask each time, until something was loaded */
        kymo__loader.words[count++] = &all[i];
    }
    kymo__store_release(&kymo__loader.count, count);
}

static void check_counter(uint64_t adds)
{
    const uint64_t *right[KYMO__LOADER_WORDS];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < kymo__loader.count; i++)
        if (kymo__load_relaxed(kymo__loader.words[i]) == adds)
            right[kept++] = kymo__loader.words[i];
    if (kymo__loader_ask() != adds)
        return; /* something was just loaded: do not compare now */
    for (uint32_t i = 0; i < kept; i++)
        kymo__store_relaxed(&kymo__loader.words[i], right[i]);
    kymo__store_release(&kymo__loader.count, kept);
}

void kymo__loader_learn(void)
{
    static uint32_t learning;
    static uint64_t last = UINT64_MAX;
    uint32_t nobody = 0;
    if (!kymo__swap_if(&learning, &nobody, 1u))
        return; /* another thread is doing this, perhaps waiting for a lock that we hold */
    if (last == UINT64_MAX) {
        void *function = dlsym(RTLD_DEFAULT, "_dl_find_object");
        memcpy(&find_object, &function, sizeof(function));
        kymo__store_release(&kymo__loader.finds, function != NULL);
    }
    uint64_t adds = kymo__loader_ask();
    if (kymo__loader.count == 0 && adds != last)
        search_counter(adds);
    last = adds;
    check_counter(adds);
    kymo__store_release(&learning, 0u);
}

bool kymo__loader_find(uint64_t pc, struct kymo_mapped *mapped)
{
    struct found found;
    if (find_object((void *)(uintptr_t)pc, &found) != 0)
        return false;
    *mapped = (struct kymo_mapped){
        .low = (uint64_t)(uintptr_t)found.low,
        .high = (uint64_t)(uintptr_t)found.high,
        .base = found.map ? found.map->l_addr : 0,
        .eh_frame_hdr = found.eh_frame_hdr,
    };
    return true;
}
