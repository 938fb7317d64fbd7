/* modules.c — see modules.h.

   There are two lists. Records are for good: each has a number, a path and a build id. The
   table has what is loaded now, sorted by address; a new one replaces it as a whole, and old
   ones are left alone, as somebody may be reading them and they are small. */
#include "modules.h"

#include <elf.h>
#include <errno.h>
#include <kymo/stack.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "atomic.h"
#include "loader.h"
#include "mapping.h"

enum {
    RECORDS = 256,
    CHUNKS = 1024,
    PATH = 4096,
    TEXT = 1 << 16,
    TEXTS = 4 << 20, /* of which little is touched */

    PATIENCE = 1 << 16
};

struct record {
    uint64_t low, high, base;
    const char *path;
    uint8_t build_id[20];
    uint32_t build_id_bytes;
};

struct table {
    uint64_t version;
    size_t count;
    struct kymo_loaded loaded[];
};

/* Everything up to `writing` is written by its holder, and read by anybody. */
static struct record *chunks[CHUNKS];
static uint32_t record_count;
static struct table *current;
static uint32_t writing;

/* Only for the holder of `writing`. */
static char *text_at, *text_end;

static struct record *record_at(uint32_t number)
{
    return &chunks[(number - 1) / RECORDS][(number - 1) % RECORDS];
}

/* A copy of PATH that stays. */
static const char *keep_path(const char *path)
{
    size_t size = strnlen(path, PATH - 1) + 1;
    if ((size_t)(text_end - text_at) < size) {
        char *more = kymo__pages_new(TEXT);
        if (!more)
            return NULL;
        text_at = more;
        text_end = more + TEXT;
    }
    char *kept = text_at;
    memcpy(kept, path, size - 1);
    text_at += size;
    return kept;
}

static bool same(const struct record *a, const struct record *b)
{
    return a->low == b->low && a->high == b->high && a->base == b->base &&
           a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0 &&
           strncmp(a->path, b->path, PATH - 1) == 0;
}

/* The number of the module that NEW describes, whose path is only lent; 0 without memory. */
static uint32_t number_of(const struct record *new)
{
    uint32_t count = record_count;
    for (uint32_t number = count; number > 0; number--)
        if (same(record_at(number), new))
            return number;
    if (count == RECORDS * CHUNKS)
        return 0;
    if (!chunks[count / RECORDS] &&
        !(chunks[count / RECORDS] = kymo__pages_new(RECORDS * sizeof(struct record))))
        return 0;
    struct record *record = record_at(count + 1);
    *record = *new;
    if (!(record->path = keep_path(new->path)))
        return 0;
    kymo__store_release(&record_count, count + 1);
    return count + 1;
}

/* The build id among the notes at AT .. END. */
static void find_build_id(struct record *record, const uint8_t *at, const uint8_t *end)
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
            record->build_id_bytes = note.n_descsz < 20 ? note.n_descsz : 20;
            memcpy(record->build_id, at + name, record->build_id_bytes);
            return;
        }
        at += name + size;
    }
}

/* The segment of those COUNT at PHDR that ADDRESS is in. */
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

/* What dl_iterate_phdr told, copied while its lock is held. */
struct gathering {
    uint64_t version; /* from before the loader was asked */
    size_t count, room;
    bool no_room;
    struct found {
        struct kymo_loaded loaded;
        struct record record;
    } * found;
    size_t text_used;
    char program[PATH];
    char text[TEXTS]; /* paths, as the loader's own may go when its lock is given back */
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
        } else if (phdr->p_type == PT_NOTE && !found.record.build_id_bytes) {
            const uint8_t *notes = (const uint8_t *)(uintptr_t)from;
            find_build_id(&found.record, notes, notes + phdr->p_filesz);
        }
    }
    if (loaded->low >= loaded->high)
        return 0;
    segment_around(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr,
                   (uint64_t)(uintptr_t)loaded->eh_frame_hdr, &loaded->readable_low,
                   &loaded->readable_high);
    found.record.low = loaded->low;
    found.record.high = loaded->high;
    found.record.base = loaded->base;
    found.record.path = copy_path(g, info->dlpi_name);
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

static void sort(struct table *table)
{
    for (size_t i = 1; i < table->count; i++) { /* the loader's order is nearly sorted */
        struct kymo_loaded moved = table->loaded[i];
        size_t at = i;
        for (; at > 0 && table->loaded[at - 1].low > moved.low; at--)
            table->loaded[at] = table->loaded[at - 1];
        table->loaded[at] = moved;
    }
}

/* Make what was gathered the table. Only for the holder of `writing`. */
static int publish(const struct gathering *g)
{
    struct table *table = kymo__pages_new(sizeof(*table) + g->count * sizeof(table->loaded[0]));
    if (!table)
        return -ENOMEM;
    for (size_t i = 0; i < g->count; i++) {
        table->loaded[i] = g->found[i].loaded;
        if (!(table->loaded[i].number = number_of(&g->found[i].record)))
            return -ENOMEM;
    }
    table->count = g->count;
    sort(table);
    table->version = g->version;
    kymo__store_release(&current, table);
    return 0;
}

/* Nobody waits here for the loader's lock, so the holder is never long; unless it was
   interrupted by the very handler that is waiting, and then this gives up. */
static bool hold(void)
{
    for (unsigned i = 0; i < PATIENCE; i++) {
        uint32_t nobody = 0;
        if (kymo__swap_if(&writing, &nobody, 1u))
            return true;
    }
    return false;
}

uint64_t kymo__modules_known(void)
{
    const struct table *table = kymo__load_acquire(&current);
    return table ? table->version : UINT64_MAX;
}

static bool current_is_right(void)
{
    return kymo__load_acquire(&current) && kymo__modules_known() == kymo__modules_version();
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
    if (!rc && hold()) {
        rc = publish(g);
        kymo__store_release(&writing, 0u);
    }
    kymo__pages_free(g->found, g->room * sizeof(*g->found));
    kymo__pages_free(g, sizeof(*g));
    return rc;
}

const struct kymo_loaded *kymo__module_at(uint64_t pc)
{
    const struct table *table = kymo__load_acquire(&current);
    size_t from = 0, count = table ? table->count : 0;
    if (!count)
        return NULL;
    while (count > 1) {
        size_t half = count / 2;
        if (table->loaded[from + half].low <= pc)
            from += half;
        count -= half;
    }
    const struct kymo_loaded *loaded = &table->loaded[from];
    return pc >= loaded->low && pc < loaded->high ? loaded : NULL;
}

bool kymo__module_tables(uint64_t pc, struct kymo_loaded *loaded)
{
    if (current_is_right()) {
        const struct kymo_loaded *known = kymo__module_at(pc);
        if (known)
            *loaded = *known;
        return known != NULL;
    }
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

int kymo_module_get(uint32_t number, struct kymo_module *module)
{
    if (number == 0 || number > kymo__load_acquire(&record_count))
        return -ENOENT;
    const struct record *record = record_at(number);
    struct kymo_module full = {
        .size = sizeof(full),
        .path = record->path,
        .base = record->base,
        .low = record->low,
        .high = record->high,
        .build_id_bytes = record->build_id_bytes,
    };
    memcpy(full.build_id, record->build_id, sizeof(full.build_id));
    size_t size = module->size < sizeof(full) ? module->size : sizeof(full);
    memcpy(module, &full, size);
    module->size = size;
    return 0;
}
