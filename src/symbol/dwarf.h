/* dwarf.h — DWARF debug information, versions 2 to 5, read only as far as needed.

   dwarf_units.c   the units and the addresses they cover: read once
   dwarf_abbrev.c  the abbreviations of a unit's entries
   dwarf_values.c  attribute values: texts, addresses, references
   dwarf_ranges.c  range lists
   dwarf_names.c   the name of an entry
   lines.c         the source line of an address
   inlines.c       the functions that contain an address

   Units are read again for every batch of addresses and not kept, so that memory does not grow with
   the file. The input is not trusted: every list, table and program read is charged to a budget
   proportional to the size of its section, so that many entries pointing to one long list cost no
   more than the file could hold. */
#ifndef KYMO_DWARF_H
#define KYMO_DWARF_H

#include "elffile.h"

enum kymo_dwarf_section {
    KYMO__INFO,
    KYMO__ABBREV,
    KYMO__LINE,
    KYMO__STR,
    KYMO__LINE_STR,
    KYMO__RANGES,
    KYMO__RNGLISTS,
    KYMO__ADDR,
    KYMO__STR_OFFSETS,
    KYMO__ARANGES,
    KYMO__DWARF_SECTIONS,
};

#define KYMO__NOWHERE UINT64_MAX /* no offset */
#define KYMO__NONE UINT32_MAX    /* no index */

struct kymo_unit {
    uint64_t offset, dies, end; /* in .debug_info: offset of its header, its first entry, its end */
    uint64_t abbrevs;           /* in .debug_abbrev */
    uint64_t lines;             /* in .debug_line, or KYMO__NOWHERE */
    uint64_t low;               /* base address of ranges */
    uint64_t addr_base, str_offsets_base, rnglists_base;
    const char *dir; /* compilation directory, or NULL */
    uint16_t version, language;
    uint8_t address_size, offset_size;
    bool listed; /* it lists its ranges */
};

struct kymo_unit_range {
    uint64_t begin, end, reach; /* reach: the greatest end of this and all before it */
    uint32_t unit;
};

struct kymo_abbrev {
    uint64_t code;
    uint32_t first, count; /* of its attributes */
    int32_t fixed;         /* bytes of their values; -1: they vary */
    int16_t sibling;       /* bytes before DW_AT_sibling; -1: there is none, or they vary */
    uint16_t sibling_form;
    uint16_t tag;
    bool children;
};

struct kymo_attr {
    uint16_t name, form;
    uint32_t constant; /* where the value is in the abbreviation itself: in constants */
};

struct kymo_abbrevs {
    uint64_t offset; /* KYMO__NOWHERE: this cache entry is empty */
    uint8_t address_size, offset_size;
    uint16_t version;
    bool dense; /* code N is entry N - 1 */
    struct kymo_abbrev *list;
    size_t count, capacity;
    struct kymo_attr *attrs;
    size_t attr_count, attr_capacity;
    int64_t *constants;
    size_t constant_count, constant_capacity;
};

enum { KYMO__ABBREV_CACHE = 256 };

struct kymo_dwarf {
    struct kymo_view sections[KYMO__DWARF_SECTIONS];
    struct kymo_unit *units; /* by offset */
    size_t unit_count, unit_capacity;
    struct kymo_unit_range *ranges; /* by begin */
    size_t range_count, range_capacity;
    struct kymo_abbrevs *abbrevs; /* KYMO__ABBREV_CACHE of them */
    struct kymo_dwarf *shared;    /* for references into a shared file, or NULL */
    uint64_t abbrev_budget;       /* bytes of .debug_abbrev that may still be read in this batch */
    uint64_t range_budget;        /* entries of lists of ranges, the same */
    uint64_t line_budget;         /* bytes of .debug_line, the same */
    bool no_memory;               /* allocating abbreviations failed in this batch */
};

/* Read the index of units. ELF, and SHARED unless it is NULL, must outlive DWARF. Returns 0 or
   -ENOMEM; a file without debug information is not an error. */
int kymo__dwarf_init(struct kymo_dwarf *dwarf, struct kymo_elf *elf, struct kymo_dwarf *shared);
void kymo__dwarf_fini(struct kymo_dwarf *dwarf);

/* Reset the budgets for a new batch. */
void kymo__dwarf_refill(struct kymo_dwarf *dwarf);

/* The index of the unit that covers ADDRESS, or KYMO__NONE. */
uint32_t kymo__dwarf_unit_at(const struct kymo_dwarf *dwarf, uint64_t address);

/* The unit that the entry at OFFSET of .debug_info belongs to, or NULL. */
const struct kymo_unit *kymo__dwarf_unit_of(const struct kymo_dwarf *dwarf, uint64_t offset);

/* ---- entries ---- */

/* The abbreviations of UNIT, or NULL; lent until the next call. */
const struct kymo_abbrevs *kymo__abbrevs_get(struct kymo_dwarf *dwarf,
                                             const struct kymo_unit *unit);
const struct kymo_abbrev *kymo__abbrevs_search(const struct kymo_abbrevs *abbrevs, uint64_t code);

static inline const struct kymo_abbrev *kymo__abbrevs_find(const struct kymo_abbrevs *abbrevs,
                                                           uint64_t code)
{
    if (abbrevs->dense)
        return code - 1 < abbrevs->count ? &abbrevs->list[code - 1] : NULL;
    return kymo__abbrevs_search(abbrevs, code);
}

struct kymo_dwarf_value {
    uint16_t form; /* 0: the attribute is absent */
    uint64_t number;
    const char *text; /* for a text stored in the entry itself */
};

/* An entry, of this file or of the shared one. */
struct kymo_die {
    struct kymo_dwarf *dwarf; /* NULL: none */
    uint64_t offset;
};

/* The size of a value of FORM, or -1 if it varies. */
int kymo__value_size(const struct kymo_unit *unit, unsigned form);
void kymo__value_skip(struct kymo_bytes *bytes, const struct kymo_unit *unit, unsigned form);
void kymo__value_read(struct kymo_bytes *bytes, const struct kymo_unit *unit,
                      const struct kymo_abbrevs *abbrevs, const struct kymo_attr *attr,
                      struct kymo_dwarf_value *value);
const char *kymo__value_text(const struct kymo_dwarf *dwarf, const struct kymo_unit *unit,
                             const struct kymo_dwarf_value *value);
bool kymo__value_address(const struct kymo_dwarf *dwarf, const struct kymo_unit *unit,
                         const struct kymo_dwarf_value *value, uint64_t *address);
struct kymo_die kymo__value_reference(struct kymo_dwarf *dwarf, const struct kymo_unit *unit,
                                      const struct kymo_dwarf_value *value);

/* The name of DIE: its linkage name, setting *LINKAGE, or its plain name, or NULL. Lent from the
   file. */
const char *kymo__die_name(struct kymo_die die, bool *linkage);

/* ---- ranges ---- */

/* The ranges of an entry, from its attributes low_pc, high_pc and ranges. */
struct kymo_ranges {
    struct kymo_dwarf *dwarf;
    const struct kymo_unit *unit;
    struct kymo_bytes bytes;
    uint64_t base;
    bool left_out;       /* the base belongs to code that the linker dropped */
    uint64_t begin, end; /* of the only one */
    enum { KYMO__NO_RANGE, KYMO__ONE_RANGE, KYMO__OLD_RANGES, KYMO__NEW_RANGES } kind;
};

void kymo__ranges_init(struct kymo_ranges *ranges, struct kymo_dwarf *dwarf,
                       const struct kymo_unit *unit, const struct kymo_dwarf_value *low,
                       const struct kymo_dwarf_value *high, const struct kymo_dwarf_value *list);

/* The next range that contains code; false at the end. */
bool kymo__ranges_next(struct kymo_ranges *ranges, uint64_t *begin, uint64_t *end);

#endif
