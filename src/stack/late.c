/* late.c — see late.h. */
#include "late.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "atomic.h"

/* Like glibc's, which older headers do not have. */
struct object {
    unsigned long long flags;
    void *low, *high;
    struct link_map *map;
    void *eh_frame_hdr;
    unsigned long long reserved[7];
};

static int (*find_object)(void *pc, struct object *object);

void kymo__late_prepare(void)
{
    void *function = dlsym(RTLD_DEFAULT, "_dl_find_object");
    int (*found)(void *, struct object *);
    memcpy(&found, &function, sizeof(found));
    kymo__store_release(&find_object, found);
}

static void take_build_id(struct kymo_module *module, const uint8_t *at, size_t bytes)
{
    ElfW(Nhdr) note;
    while (bytes > sizeof(note)) {
        memcpy(&note, at, sizeof(note));
        size_t name = (note.n_namesz + 3u) & ~3u, size = (note.n_descsz + 3u) & ~3u;
        if (name > bytes || size > bytes || sizeof(note) + name + size > bytes)
            return;
        const uint8_t *text = at + sizeof(note);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(text, "GNU", 4) == 0) {
            module->build_id_bytes = note.n_descsz < 20 ? note.n_descsz : 20;
            memcpy(module->build_id, text + name, module->build_id_bytes);
            return;
        }
        at += sizeof(note) + name + size;
        bytes -= sizeof(note) + name + size;
    }
}

bool kymo__late_module(uint64_t pc, struct kymo_module *module)
{
    int (*find)(void *, struct object *) = kymo__load_acquire(&find_object);
    struct object object;
    if (!find || find((void *)(uintptr_t)pc, &object) != 0 || !object.map)
        return false;
    *module = (struct kymo_module){
        .size = sizeof(*module),
        .path = object.map->l_name ? object.map->l_name : "",
        .base = object.map->l_addr,
        .low = (uint64_t)(uintptr_t)object.low,
        .high = (uint64_t)(uintptr_t)object.high,
    };
    ElfW(Ehdr) elf;
    memcpy(&elf, object.low, sizeof(elf));
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phentsize != sizeof(ElfW(Phdr)) ||
        elf.e_phoff != sizeof(elf) || elf.e_phnum > 64)
        return true;
    const ElfW(Phdr) *header = (const void *)((const uint8_t *)object.low + elf.e_phoff);
    for (unsigned i = 0; i < elf.e_phnum && !module->build_id_bytes; i++)
        if (header[i].p_type == PT_NOTE)
            take_build_id(module, (const uint8_t *)(uintptr_t)(module->base + header[i].p_vaddr),
                          header[i].p_filesz);
    return true;
}
