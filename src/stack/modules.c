/* modules.c — see modules.h. Asks the loader what is loaded. What each module is called is kept in
   modulebook.c, and the table by address in moduletable.c. */
#include "modules.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "atomic.h"
#include "loader.h"
#include "mapped.h"
#include "mapping.h"
#include "modulebook.h"
#include "moduletable.h"

enum {
    PATH = KYMO__MODULE_PATH,
    TEXTS = 4 << 20, /* most of it is never touched */
    PATIENCE = 1 << 16
};

static uint32_t writing; /* 1: a thread is publishing a table */

/* Find the build id among the notes from AT to END. */
static void find_build_id(struct kymo_module *module, const uint8_t *at, const uint8_t *end)
{
    while ((size_t)(end - at) > sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof(note));
        at += sizeof(note);
        uint64_t name = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
        uint64_t size = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
        if (name + size > (uint64_t)(end - at))
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(at, "GNU", 4)) {
            module->build_id_bytes = note.n_descsz < 20 ? note.n_descsz : 20;
            memcpy(module->build_id, at + name, module->build_id_bytes);
            return;
        }
        at += name + size;
    }
}

/* Find which of the COUNT segments at PHDR contains ADDRESS. */
static void segment_around(const ElfW(Phdr) * phdr, size_t count, uint64_t base, uint64_t address,
                           uint64_t *low, uint64_t *high)
{
    *low = *high = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t from = base + phdr[i].p_vaddr;
        if (phdr[i].p_type == PT_LOAD && phdr[i].p_flags & PF_R && address >= from &&
            address - from < phdr[i].p_filesz) {
            *low = from;
            *high = from + phdr[i].p_filesz;
        }
    }
}

/* What dl_iterate_phdr reported, copied while its lock is held. */
struct gathering {
    uint64_t version; /* from before the loader was asked */
    size_t count, room;
    bool no_room;
    struct found {
        struct kymo_loaded loaded;
        struct kymo_module module;
    } * found;
    size_t text_used;
    char program[PATH];
    char text[TEXTS]; /* paths; the loader's own may be freed when its lock is released */
};

/* The sanitizer does not know that the loader's lock is held. */
__attribute__((no_sanitize("thread"))) static const char *copy_path(struct gathering *g,
                                                                    const char *path)
{
    if (!path || !*path)
        return g->program;
    char *copy = g->text + g->text_used;
    size_t room = TEXTS - g->text_used, size = 0;
    while (size < PATH - 1 && size + 1 < room && path[size]) {
        copy[size] = path[size];
        size++;
    }
    g->text_used += size + 1;
    return copy;
}

static int gather(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct gathering *g = arg;
    struct found found = {.loaded.base = info->dlpi_addr};
    struct kymo_loaded *loaded = &found.loaded;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
        uint64_t from = info->dlpi_addr + phdr->p_vaddr, to = from + phdr->p_memsz;
        if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X) {
            loaded->low = loaded->high && loaded->low < from ? loaded->low : from;
            loaded->high = loaded->high > to ? loaded->high : to;
        } else if (phdr->p_type == PT_GNU_EH_FRAME) {
            loaded->eh_frame_hdr = (const uint8_t *)(uintptr_t)from;
        } else if (phdr->p_type == PT_NOTE && !found.module.build_id_bytes) {
            const uint8_t *notes = (const uint8_t *)(uintptr_t)from;
            find_build_id(&found.module, notes, notes + phdr->p_filesz);
        }
    }
    if (loaded->low >= loaded->high)
        return 0;
    segment_around(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr,
                   (uint64_t)(uintptr_t)loaded->eh_frame_hdr, &loaded->readable_low,
                   &loaded->readable_high);
    found.module.low = loaded->low;
    found.module.high = loaded->high;
    found.module.base = loaded->base;
    found.module.path = copy_path(g, info->dlpi_name);
    if (g->count == g->room) {
        struct found *more = kymo__pages_new(2 * g->room * sizeof(*more));
        if (!more) {
            g->no_room = true;
            return 1;
        }
        memcpy(more, g->found, g->count * sizeof(*more));
        kymo__pages_free(g->found, g->room * sizeof(*more));
        g->found = more;
        g->room *= 2;
    }
    g->found[g->count++] = found;
    return 0;
}

/* Publish what was gathered as the table. Only for the holder of `writing`. */
static int publish_table(const struct gathering *g)
{
    size_t size = (g->count + 1) * sizeof(struct kymo_loaded);
    struct kymo_loaded *sorted = kymo__pages_new(size);
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < g->count; i++) { /* the loader's order is nearly sorted */
        struct kymo_loaded added = g->found[i].loaded;
        added.number = kymo__module_number(&g->found[i].module);
        size_t at = i;
        for (; at > 0 && sorted[at - 1].low > added.low; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = added;
    }
    int rc = kymo__moduletable_publish(sorted, g->count, g->version);
    kymo__pages_free(sorted, size);
    return rc;
}

/* Nobody waits for the loader's lock here, so the holder is quick, unless it was interrupted by the
   very handler that is waiting; then this gives up. */
static bool hold_writing(void)
{
    for (unsigned i = 0; i < PATIENCE; i++) {
        uint32_t nobody = 0;
        if (kymo__swap_if(&writing, &nobody, 1u))
            return true;
    }
    return false;
}

static bool current_is_right(void)
{
    return kymo__modules_known() == kymo__modules_version();
}

int kymo__modules_refresh(void)
{
    if (current_is_right())
        return 0;
    struct gathering *g = kymo__pages_new(sizeof(*g));
    if (!g)
        return -ENOMEM;
    g->room = 64;
    g->found = kymo__pages_new(g->room * sizeof(*g->found));
    ssize_t length = readlink("/proc/self/exe", g->program, PATH - 1);
    g->program[length > 0 ? length : 0] = '\0';
    int rc = -ENOMEM;
    if (g->found) {
        kymo__loader_learn();
        g->version = kymo__modules_version();
        dl_iterate_phdr(gather, g);
        rc = g->no_room ? -ENOMEM : 0;
    }
    if (!rc && hold_writing()) {
        rc = publish_table(g);
        kymo__store_release(&writing, 0u);
    }
    kymo__pages_free(g->found, g->room * sizeof(*g->found));
    kymo__pages_free(g, sizeof(*g));
    return rc;
}

bool kymo__module_tables(uint64_t pc, struct kymo_loaded *loaded)
{
    if (current_is_right())
        return kymo__module_at(pc, loaded);
    struct kymo_mapped mapped;
    if (!kymo__loader_finds() || !kymo__loader_find(pc, &mapped))
        return false;
    ElfW(Ehdr) elf;
    memcpy(&elf, (const void *)(uintptr_t)mapped.low, sizeof(elf));
    *loaded = (struct kymo_loaded){.low = mapped.low,
                                   .high = mapped.high,
                                   .base = mapped.base,
                                   .eh_frame_hdr = mapped.eh_frame_hdr};
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 && elf.e_phentsize == sizeof(ElfW(Phdr)) &&
        elf.e_phoff == sizeof(elf) && elf.e_phnum < 64)
        segment_around((const ElfW(Phdr) *)(uintptr_t)(mapped.low + elf.e_phoff), elf.e_phnum,
                       mapped.base, (uint64_t)(uintptr_t)mapped.eh_frame_hdr, &loaded->readable_low,
                       &loaded->readable_high);
    return true;
}
