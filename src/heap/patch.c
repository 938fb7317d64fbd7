/* patch.c — see patch.h. */
#include "patch.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc.h"
#include "atomic.h"

#if defined(__x86_64__)
enum { WORD = R_X86_64_64, GLOBAL = R_X86_64_GLOB_DAT, JUMP = R_X86_64_JUMP_SLOT };
#elif defined(__aarch64__)
enum { WORD = R_AARCH64_ABS64, GLOBAL = R_AARCH64_GLOB_DAT, JUMP = R_AARCH64_JUMP_SLOT };
#else
enum { WORD = -1, GLOBAL = -2, JUMP = -3 };
#endif

/* The parts of an object's dynamic section that matter here. */
struct dynamic {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations, *jumps;
    size_t relocation_count, jump_count;
};

bool kymo__object_has(const struct dl_phdr_info *info, const void *address)
{
    uintptr_t offset = (uintptr_t)address - info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            offset - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

/* The loader has relocated pointers in the dynamic section, though not those of every object. */
static const void *placed(const struct dl_phdr_info *info, ElfW(Addr) value)
{
    return (const void *)(uintptr_t)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static struct dynamic read_dynamic(const struct dl_phdr_info *info)
{
    struct dynamic d = {0};
    const ElfW(Dyn) *entry = NULL;
    bool with_addends = true;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            d.symbols = placed(info, entry->d_un.d_ptr);
            break;
        case DT_STRTAB:
            d.names = placed(info, entry->d_un.d_ptr);
            break;
        case DT_RELA:
            d.relocations = placed(info, entry->d_un.d_ptr);
            break;
        case DT_RELASZ:
            d.relocation_count = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_JMPREL:
            d.jumps = placed(info, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            d.jump_count = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_PLTREL:
            with_addends = entry->d_un.d_val == DT_RELA; /* the only kind on 64-bit systems */
            break;
        }
    }
    if (!d.symbols || !d.names)
        return (struct dynamic){0};
    if (!d.relocations)
        d.relocation_count = 0;
    if (!d.jumps || !with_addends)
        d.jump_count = 0;
    return d;
}

/* ---- finding ---- */

static int keep_slot(struct kymo_patched *object, const struct kymo_patched_slot *slot)
{
    int rc = kymo__array_grow(&object->slots, &object->capacity, object->count, sizeof(*slot));
    if (rc == 0)
        object->slots[object->count++] = *slot;
    return rc;
}

/* Add the slots among COUNT relocations AT to OBJECT. */
static int find_slots(const struct dl_phdr_info *info, const struct dynamic *d,
                      const ElfW(Rela) * at, size_t count, unsigned what,
                      struct kymo_patched *object)
{
    for (size_t i = 0; i < count; i++) {
        int type = (int)ELF64_R_TYPE(at[i].r_info);
        if ((type != JUMP && type != GLOBAL && type != WORD) || (type == WORD && at[i].r_addend))
            continue;
        const ElfW(Sym) *symbol = &d->symbols[ELF64_R_SYM(at[i].r_info)];
        int function = kymo__hooked_find(d->names + symbol->st_name);
        unsigned part = function < 0 ? 0 : kymo__hooked_what(function);
        void **place = (void **)(info->dlpi_addr + at[i].r_offset);
        if (function < 0 || (part && !(part & what)) || (uintptr_t)place % sizeof(*place))
            continue;
        void *now = kymo__load_relaxed(place);
        if (!now || kymo__hooked_is_hook(function, now))
            continue;
        int rc = keep_slot(object, &(struct kymo_patched_slot){place, now, function});
        if (rc < 0)
            return rc;
        /* Inside the object and not its own definition: the stub that binds it at the first call.
           Marked by a function below 0. */
        if (kymo__object_has(info, now) &&
            (symbol->st_shndx == SHN_UNDEF || info->dlpi_addr + symbol->st_value != (uintptr_t)now))
            object->slots[object->count - 1].function = ~function;
    }
    return 0;
}

/* ---- writing ---- */

/* The protection of the pages from BEGIN to END in MAPS, or -1 when they differ. */
static int protection_in(const char *maps, uintptr_t begin, uintptr_t end)
{
    for (const char *line = maps; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char *at;
        uintptr_t low = strtoul(line, &at, 16);
        uintptr_t high = *at == '-' ? strtoul(at + 1, &at, 16) : 0;
        if (*at != ' ' || begin < low || begin >= high)
            continue;
        if (end > high)
            return -1;
        return (at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) |
               (at[3] == 'x' ? PROT_EXEC : 0);
    }
    return -1;
}

/* The pages that the loader sealed, by the rule of the loader: whole pages only. */
static void find_sealed(const struct dl_phdr_info *info, const char *maps,
                        struct kymo_patched *object)
{
    uintptr_t mask = ~((uintptr_t)getpagesize() - 1);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_GNU_RELRO)
            continue;
        object->sealed = (info->dlpi_addr + header->p_vaddr) & mask;
        object->sealed_end = (info->dlpi_addr + header->p_vaddr + header->p_memsz) & mask;
    }
    /* Somebody else may have opened them for good. MAPS may be older than the object: pages that it
       does not have are taken for sealed. */
    bool opened =
        maps && object->sealed < object->sealed_end &&
        protection_in(maps, object->sealed, object->sealed_end) == (PROT_READ | PROT_WRITE);
    object->protection = opened ? PROT_READ | PROT_WRITE : PROT_READ;
}

static bool is_sealed(const struct kymo_patched *object, const struct kymo_patched_slot *slot)
{
    return (uintptr_t)slot->at - object->sealed < object->sealed_end - object->sealed;
}

/* Make the sealed pages writable if a slot is in them, or seal them again. */
static bool protect_sealed(const struct kymo_patched *object, int protection)
{
    bool needed = false;
    for (size_t i = 0; i < object->count; i++)
        needed = needed || is_sealed(object, &object->slots[i]);
    return !needed ||
           mprotect((void *)object->sealed, object->sealed_end - object->sealed, protection) == 0;
}

/* Does the object report memory to Python? */
static bool reports_memory(const struct kymo_patched *object)
{
    for (size_t i = 0; i < object->count; i++)
        if (object->slots[i].function == KYMO__TRACK || object->slots[i].function == ~KYMO__TRACK)
            return true;
    return false;
}

static enum kymo_hook_kind kind_of_hook(const struct kymo_patching *patching, const void *original,
                                        bool reports)
{
    if (!patching->sampled)
        return KYMO__HOOK_REPORTING;
    bool own = (uintptr_t)original - patching->library < patching->library_end - patching->library;
    return own && !reports ? KYMO__HOOK_PASSING : KYMO__HOOK_NESTING;
}

/* Write the hooks into OBJECT's slots. Slots that must stay as they are leave the list. */
static void write_hooks(struct kymo_patching *patching, struct kymo_patched *object)
{
    bool open = protect_sealed(object, PROT_READ | PROT_WRITE);
    bool reports = reports_memory(object);
    size_t kept = 0;
    for (size_t i = 0; i < object->count; i++) {
        struct kymo_patched_slot slot = object->slots[i];
        bool unbound = slot.function < 0;
        slot.function = unbound ? ~slot.function : slot.function;
        void *original = unbound ? patching->bound[slot.function] : slot.before;
        kymo_code *hook = NULL;
        if (original && (open || !is_sealed(object, &slot)))
            hook = kymo__hooked_hook(slot.function, kind_of_hook(patching, original, reports),
                                     original);
        if (!hook) {
            patching->missed++;
            continue;
        }
        kymo__store_release(slot.at, (void *)(uintptr_t)hook);
        object->slots[kept++] = slot;
    }
    object->count = kept;
    if (open)
        protect_sealed(object, object->protection);
}

int kymo__patch(const struct dl_phdr_info *info, struct kymo_patching *patching,
                struct kymo_patched *object)
{
    *object = (struct kymo_patched){.base = info->dlpi_addr, .phdr = info->dlpi_phdr};
    struct dynamic d = read_dynamic(info);
    int rc = find_slots(info, &d, d.relocations, d.relocation_count, patching->what, object);
    if (rc == 0)
        rc = find_slots(info, &d, d.jumps, d.jump_count, patching->what, object);
    if (rc < 0) {
        kymo__free(object->slots);
        return rc;
    }
    if (!object->count)
        return 0;
    find_sealed(info, patching->maps, object);
    write_hooks(patching, object);
    return (int)object->count;
}

int kymo__patch_table(struct kymo_preload_entry *table, struct kymo_patching *patching,
                      struct kymo_patched *object)
{
    *object = (struct kymo_patched){0};
    for (; table->symbol; table++) {
        int function = kymo__hooked_find(table->symbol);
        void *now = kymo__load_relaxed(&table->next);
        if (function < 0 || !(kymo__hooked_what(function) & patching->what) || !now ||
            kymo__hooked_is_hook(function, now))
            continue;
        int rc = keep_slot(object, &(struct kymo_patched_slot){&table->next, now, function});
        if (rc < 0) {
            kymo__free(object->slots);
            *object = (struct kymo_patched){0};
            return rc;
        }
    }
    write_hooks(patching, object);
    return (int)object->count;
}

size_t kymo__unpatch(const struct kymo_patched *object)
{
    size_t lost = 0;
    bool open = protect_sealed(object, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < object->count; i++) {
        const struct kymo_patched_slot *slot = &object->slots[i];
        if (kymo__hooked_is_hook(slot->function, kymo__load_relaxed(slot->at)) &&
            (open || !is_sealed(object, slot)))
            kymo__store_release(slot->at, slot->before);
        else
            lost++;
    }
    if (open)
        protect_sealed(object, object->protection);
    return lost;
}
