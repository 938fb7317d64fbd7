/* torchslots.c — see torchslots.h. */
#include "torchslots.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { GLOBAL = R_X86_64_GLOB_DAT, JUMP = R_X86_64_JUMP_SLOT };
#elif defined(__aarch64__)
enum { GLOBAL = R_AARCH64_GLOB_DAT, JUMP = R_AARCH64_JUMP_SLOT };
#else
enum { GLOBAL = -1, JUMP = -2 };
#endif

enum { SLOTS_MOST = 256 };

struct slot {
    void **at;
    void *before;
    uintptr_t sealed, sealed_end; /* pages of its library that are read-only after loading */
    size_t hook;
};

static struct slot slots[SLOTS_MOST];
static size_t slot_count;

struct search {
    struct kymo__torch_hook *hooks;
    size_t count;
};

/* ---- libraries ---- */

static bool is_torchs(const struct dl_phdr_info *info)
{
    const char *file = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    return file && (strncmp(file, "/libc10", 7) == 0 || strncmp(file, "/libtorch", 9) == 0);
}

static bool has_address(const struct dl_phdr_info *info, const void *address)
{
    uintptr_t offset = (uintptr_t)address - info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            offset - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

enum { LIBRARIES_MOST = 32 };

struct libraries {
    const char *names[LIBRARIES_MOST];
    size_t count;
};

static int see_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct libraries *l = arg;
    (void)size;
    if (is_torchs(info) && l->count < LIBRARIES_MOST)
        l->names[l->count++] = info->dlpi_name;
    return 0;
}

/* The functions are in one of the libraries. They are opened after the loader's list was read: it is
   locked while that is done. */
static void find_functions(struct kymo__torch_hook *hooks, size_t count)
{
    struct libraries l = {.count = 0};
    dl_iterate_phdr(see_library, &l);
    for (size_t i = 0; i < l.count; i++) {
        void *handle = dlopen(l.names[i], RTLD_NOW | RTLD_NOLOAD);
        for (size_t hook = 0; handle && hook < count; hook++)
            if (!hooks[hook].original)
                hooks[hook].original = dlsym(handle, hooks[hook].symbol);
        if (handle)
            dlclose(handle);
    }
}

/* ---- slots ---- */

struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * of[2];
    size_t count[2];
};

/* The loader has relocated pointers in the dynamic section, though not those of every object. */
static const void *placed(const struct dl_phdr_info *info, ElfW(Addr) value)
{
    return (const void *)(uintptr_t)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static struct tables tables_of(const struct dl_phdr_info *info)
{
    struct tables t = {0};
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            t.symbols = placed(info, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_STRTAB)
            t.names = placed(info, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_RELA)
            t.of[0] = placed(info, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_RELASZ)
            t.count[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
        else if (entry->d_tag == DT_JMPREL)
            t.of[1] = placed(info, entry->d_un.d_ptr);
        else if (entry->d_tag == DT_PLTRELSZ)
            t.count[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
    }
    for (int i = 0; i < 2; i++)
        if (!t.symbols || !t.names || !t.of[i])
            t.count[i] = 0;
    return t;
}

static void add_slot(const struct dl_phdr_info *info, struct search *s, size_t hook, void **at)
{
    void *now = __atomic_load_n(at, __ATOMIC_RELAXED);
    struct kymo__torch_hook *h = &s->hooks[hook];
    bool ours = h->abroad && has_address(info, h->original);
    /* A slot that is not bound yet leads into its own library. Anything else is another's hook. */
    if (now == h->ours) /* set before a fork */
        now = h->original;
    if (ours || (now != h->original && !has_address(info, now)) || slot_count == SLOTS_MOST)
        return;
    struct slot *slot = &slots[slot_count++];
    *slot = (struct slot){.at = at, .before = now, .hook = hook};
    h->slots++;
    uintptr_t mask = ~((uintptr_t)getpagesize() - 1);
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            slot->sealed = begin & mask;
            slot->sealed_end = (begin + info->dlpi_phdr[i].p_memsz) & mask;
        }
}

static int see_slots(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    (void)size;
    if (!is_torchs(info))
        return 0;
    struct tables t = tables_of(info);
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < t.count[part]; i++) {
            const ElfW(Rela) *r = &t.of[part][i];
            int type = (int)ELF64_R_TYPE(r->r_info);
            if (type != JUMP && type != GLOBAL)
                continue;
            const char *name = t.names + t.symbols[ELF64_R_SYM(r->r_info)].st_name;
            for (size_t hook = 0; hook < s->count; hook++)
                if (s->hooks[hook].original && strcmp(name, s->hooks[hook].symbol) == 0)
                    add_slot(info, s, hook, (void **)(info->dlpi_addr + r->r_offset));
        }
    return 0;
}

static int see_adds(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(uint64_t *)arg = info->dlpi_adds;
    return 1;
}

size_t kymo__torch_slots_find(struct kymo__torch_hook *hooks, size_t count)
{
    static uint64_t known; /* objects loaded when the slots were found */
    struct search s = {hooks, count};
    uint64_t adds = 0;
    dl_iterate_phdr(see_adds, &adds);
    if (slot_count && adds == known)
        return slot_count;
    known = adds;
    slot_count = 0;
    for (size_t i = 0; i < count; i++)
        hooks[i].slots = 0;
    find_functions(hooks, count);
    dl_iterate_phdr(see_slots, &s);
    return slot_count;
}

size_t kymo__torch_slots_set(const struct kymo__torch_hook *hooks, bool ours)
{
    size_t failed = 0;
    for (size_t i = 0; i < slot_count; i++) {
        struct slot *slot = &slots[i];
        void *hook = hooks[slot->hook].ours;
        void *now = __atomic_load_n(slot->at, __ATOMIC_RELAXED);
        size_t length = slot->sealed_end - slot->sealed;
        bool sealed = (uintptr_t)slot->at - slot->sealed < length;
        /* The loader may have bound it since it was found. */
        bool free = now == slot->before || now == hooks[slot->hook].original;
        bool expected = now == hook || (ours && free);
        if (!expected ||
            (sealed && mprotect((void *)slot->sealed, length, PROT_READ | PROT_WRITE) != 0)) {
            failed++;
            continue;
        }
        if (ours && free)
            slot->before = now;
        __atomic_store_n(slot->at, ours ? hook : slot->before, __ATOMIC_RELEASE);
        if (sealed)
            mprotect((void *)slot->sealed, length, PROT_READ);
    }
    return failed;
}
