/* symtab.c — see symtab.h. */
#include "symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "alloc.h"

struct entry {
    uint64_t begin, end;
    const char *name;
    uint32_t rank; /* lower is better */
};

struct entries {
    struct entry *list;
    size_t count, capacity;
};

/* Where code is, by section index. A symbol without a size ends there at the latest. */
struct section_end {
    uint64_t begin, end; /* both 0: no code */
};

struct table {
    struct kymo_view symbols, names;
    struct section_end *sections;
    uint32_t section_count;
};

/* Is NAME an ARM mapping symbol or an assembler label, not a function? */
static bool is_marker(const char *name)
{
    return (name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
            (name[2] == '\0' || name[2] == '.')) ||
           (name[0] == '.' && name[1] == 'L');
}

static bool rank_of(const Elf64_Sym *symbol, uint32_t *rank)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return false;
    *rank = bind == STB_LOCAL ? 1 : 0;
    if (symbol->st_size == 0)
        *rank += 4;
    if (type == STT_NOTYPE)
        *rank += 8;
    return true;
}

static int add_symbol(struct entries *entries, const struct table *table, const Elf64_Sym *symbol)
{
    uint32_t rank;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 || !rank_of(symbol, &rank))
        return 0;
    uint64_t begin = symbol->st_value, end = UINT64_MAX;
    if (symbol->st_shndx < table->section_count) {
        const struct section_end *section = &table->sections[symbol->st_shndx];
        if (begin < section->begin || begin >= section->end)
            return 0;
        end = section->end;
    } else if (rank >= 4) {
        return 0; /* absolute, or in an unknown section */
    }
    if (symbol->st_size && symbol->st_size < end - begin)
        end = begin + symbol->st_size;
    const char *name = kymo__view_text(table->names, symbol->st_name);
    if (!name || !*name || is_marker(name))
        return 0;
    int rc = kymo__array_grow(&entries->list, &entries->capacity, entries->count,
                              sizeof(*entries->list));
    if (rc < 0)
        return rc;
    entries->list[entries->count++] =
        (struct entry){.begin = begin, .end = end, .name = name, .rank = rank};
    return 0;
}

/* Order by address; at equal addresses, longer first and best last, because the last match is
   taken. Unsized symbols count as shortest. */
static int by_address(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    /* read is a better name than __read or __libc_read; the rest is for the same name to be taken
       whatever the order in the file. */
    size_t n = strspn(x->name, "_"), m = strspn(y->name, "_");
    if (n == m) {
        n = strlen(x->name);
        m = strlen(y->name);
    }
    return n != m ? (n > m ? -1 : 1) : strcmp(y->name, x->name);
}

/* A symbol without a size ends where the next one begins, and counts only where no other has the
   ground: it may be a mere label inside a function. The order stays as it is, for those that
   begin at one place and are not dropped all end at one place. */
static void end_unsized(struct entries *entries)
{
    uint64_t reached = 0; /* the end of all sized ones so far */
    for (size_t i = 0; i < entries->count;) {
        size_t after = i;
        for (; after < entries->count && entries->list[after].begin == entries->list[i].begin;
             after++)
            if (!(entries->list[after].rank & 4) && entries->list[after].end > reached)
                reached = entries->list[after].end;
        uint64_t next = after < entries->count ? entries->list[after].begin : UINT64_MAX;
        for (; i < after; i++) {
            struct entry *e = &entries->list[i];
            if (!(e->rank & 4))
                continue;
            if (reached > e->begin)
                e->end = e->begin;
            else if (e->end > next)
                e->end = next;
        }
    }
}

static void add_stretch(struct kymo_symtab *tab, uint64_t begin, uint64_t end, const char *name)
{
    if (begin < end)
        tab->stretches[tab->count++] =
            (struct kymo_stretch){.begin = begin, .end = end, .name = name};
}

/* Cut what overlaps into stretches that do not: the one that began last has the ground. OPEN is
   room for one index for each entry. */
static void flatten(struct kymo_symtab *tab, const struct entries *entries, size_t *open)
{
    size_t depth = 0;
    uint64_t at = 0;
    for (size_t i = 0; i <= entries->count; i++) {
        uint64_t next = i < entries->count ? entries->list[i].begin : UINT64_MAX;
        while (depth > 0) {
            const struct entry *top = &entries->list[open[depth - 1]];
            uint64_t end = top->end < next ? top->end : next;
            if (at < end) {
                add_stretch(tab, at, end, top->name);
                at = end;
            }
            if (top->end > next)
                break;
            depth--;
        }
        at = next;
        if (i < entries->count)
            open[depth++] = i;
    }
}

/* Of entries that are equal but for their names only the best stays, so that an inner function
   cannot be taken for an alias. */
static void drop_aliases(struct entries *entries)
{
    size_t kept = 0;
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *e = &entries->list[i];
        if (e->begin >= e->end)
            continue;
        if (kept && entries->list[kept - 1].begin == e->begin &&
            entries->list[kept - 1].end == e->end)
            kept--;
        entries->list[kept++] = *e;
    }
    entries->count = kept;
}

static int find_code(struct table *table, const struct kymo_elf *elf)
{
    table->section_count = kymo__elf_sections(elf);
    table->sections = kymo__alloc_zeroed((table->section_count + 1) * sizeof(*table->sections));
    if (!table->sections)
        return -ENOMEM;
    struct kymo_section section;
    for (uint32_t i = 0; kymo__elf_section(elf, i, &section); i++)
        if ((section.flags & SHF_EXECINSTR) && section.size <= UINT64_MAX - section.address)
            table->sections[i] =
                (struct section_end){section.address, section.address + section.size};
    return 0;
}

static int read_table(struct entries *entries, struct kymo_elf *elf, uint32_t index)
{
    struct kymo_section section;
    struct table table = {0};
    if (!kymo__elf_section(elf, index, &section))
        return 0;
    table.symbols = kymo__elf_content(elf, index);
    table.names = kymo__elf_content(elf, section.link);
    int rc = find_code(&table, elf);
    for (size_t at = 0; rc == 0 && table.symbols.len - at >= sizeof(Elf64_Sym);
         at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, table.symbols.at + at, sizeof(symbol));
        rc = add_symbol(entries, &table, &symbol);
    }
    kymo__free(table.sections);
    return rc;
}

static uint32_t table_of_type(const struct kymo_elf *elf, uint32_t type)
{
    struct kymo_section section;
    for (uint32_t i = 1; kymo__elf_section(elf, i, &section); i++)
        if (section.type == type)
            return i;
    return 0;
}

int kymo__symtab_init(struct kymo_symtab *tab, struct kymo_elf *elf, struct kymo_elf *more)
{
    struct entries entries = {0};
    size_t *open = NULL;
    int rc = 0;
    *tab = (struct kymo_symtab){0};
    if (more && table_of_type(more, SHT_SYMTAB))
        rc = read_table(&entries, more, table_of_type(more, SHT_SYMTAB));
    else if (table_of_type(elf, SHT_SYMTAB))
        rc = read_table(&entries, elf, table_of_type(elf, SHT_SYMTAB));
    if (rc == 0 && entries.count == 0)
        rc = read_table(&entries, elf, table_of_type(elf, SHT_DYNSYM));
    if (rc < 0 || entries.count == 0)
        goto end;
    qsort(entries.list, entries.count, sizeof(*entries.list), by_address);
    end_unsized(&entries);
    drop_aliases(&entries);
    rc = -ENOMEM;
    open = kymo__alloc((entries.count + 1) * sizeof(*open));
    tab->stretches = kymo__alloc((2 * entries.count + 1) * sizeof(*tab->stretches));
    if (!open || !tab->stretches)
        goto end;
    flatten(tab, &entries, open);
    rc = 0;
end:
    kymo__free(entries.list);
    kymo__free(open);
    if (rc < 0)
        kymo__symtab_fini(tab);
    return rc;
}

void kymo__symtab_fini(struct kymo_symtab *tab)
{
    kymo__free(tab->stretches);
    *tab = (struct kymo_symtab){0};
}

const struct kymo_stretch *kymo__symtab_find(const struct kymo_symtab *tab, uint64_t address)
{
    size_t low = 0, high = tab->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tab->stretches[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == tab->count || address < tab->stretches[low].begin)
        return NULL;
    return &tab->stretches[low];
}
