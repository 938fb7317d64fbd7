/* dwarf_units.c — the index of units; see dwarf.h. */
#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "dwarf.h"
#include "dwarf_codes.h"

static const char *const section_names[KYMO__DWARF_SECTIONS] = {
    [KYMO__INFO] = ".debug_info",
    [KYMO__ABBREV] = ".debug_abbrev",
    [KYMO__LINE] = ".debug_line",
    [KYMO__STR] = ".debug_str",
    [KYMO__LINE_STR] = ".debug_line_str",
    [KYMO__RANGES] = ".debug_ranges",
    [KYMO__RNGLISTS] = ".debug_rnglists",
    [KYMO__ADDR] = ".debug_addr",
    [KYMO__STR_OFFSETS] = ".debug_str_offsets",
    [KYMO__ARANGES] = ".debug_aranges",
};

void kymo__dwarf_refill(struct kymo_dwarf *dwarf)
{
    const struct kymo_view *s = dwarf->sections;
    dwarf->range_budget =
        4096 + 4 * (uint64_t)(s[KYMO__RANGES].len + s[KYMO__RNGLISTS].len) + s[KYMO__INFO].len;
    dwarf->line_budget = 4096 + 4 * (uint64_t)s[KYMO__LINE].len;
    /* Tables that are not cached are read again for names in other units. */
    dwarf->abbrev_budget = (1u << 20) + 64 * (uint64_t)s[KYMO__ABBREV].len;
    dwarf->no_memory = false;
}

/* ---- headers ---- */

/* Read the header at BYTES and skip the unit. False at the end of valid data; a unit that is merely
   not understood gets version 0. */
static bool read_header(const struct kymo_dwarf *dwarf, struct kymo_bytes *bytes,
                        struct kymo_unit *unit)
{
    const uint8_t *start = dwarf->sections[KYMO__INFO].at;
    *unit = (struct kymo_unit){.offset = (uint64_t)(bytes->at - start), .lines = KYMO__NOWHERE};
    uint64_t len = kymo__bytes_u32(bytes);
    unit->offset_size = 4;
    if (len == 0xffffffff) {
        len = kymo__bytes_u64(bytes);
        unit->offset_size = 8;
    }
    if (bytes->bad || len == 0 || len > kymo__bytes_left(bytes))
        return false;
    struct kymo_bytes head = {.at = bytes->at, .end = bytes->at + len};
    kymo__bytes_skip(bytes, len);
    unit->end = (uint64_t)(bytes->at - start);
    unit->version = kymo__bytes_u16(&head);
    if (unit->version >= 5) {
        unsigned type = kymo__bytes_u8(&head);
        unit->address_size = kymo__bytes_u8(&head);
        unit->abbrevs = kymo__bytes_number(&head, unit->offset_size);
        if (type == DW_UT_skeleton || type == DW_UT_split_compile)
            kymo__bytes_skip(&head, 8);
        else if (type == DW_UT_type || type == DW_UT_split_type)
            kymo__bytes_skip(&head, 8u + unit->offset_size);
    } else {
        unit->abbrevs = kymo__bytes_number(&head, unit->offset_size);
        unit->address_size = kymo__bytes_u8(&head);
    }
    unit->dies = (uint64_t)(head.at - start);
    if (head.bad || unit->version < 2 || unit->version > 5 ||
        (unit->address_size != 8 && unit->address_size != 4))
        unit->version = 0;
    /* If no attribute says where a table starts, it starts after its header. */
    unit->addr_base = unit->str_offsets_base = unit->offset_size == 8 ? 16 : 8;
    unit->rnglists_base = unit->offset_size == 8 ? 20 : 12;
    return true;
}

/* ---- first entries ---- */

struct root {
    struct kymo_dwarf_value low, high, ranges, dir;
};

static void read_root_value(struct kymo_unit *unit, struct root *root, unsigned name,
                            const struct kymo_dwarf_value *value)
{
    switch (name) {
    case DW_AT_low_pc:
        root->low = *value;
        break;
    case DW_AT_high_pc:
        root->high = *value;
        break;
    case DW_AT_ranges:
        root->ranges = *value;
        unit->listed = true;
        break;
    case DW_AT_comp_dir:
        root->dir = *value;
        break;
    case DW_AT_stmt_list:
        unit->lines = value->number;
        break;
    case DW_AT_language:
        unit->language = (uint16_t)value->number;
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        unit->addr_base = value->number;
        break;
    case DW_AT_str_offsets_base:
        unit->str_offsets_base = value->number;
        break;
    case DW_AT_rnglists_base:
        unit->rnglists_base = value->number;
        break;
    default:
        break;
    }
}

static bool read_root(struct kymo_dwarf *dwarf, struct kymo_unit *unit, struct root *root)
{
    *root = (struct root){0};
    const struct kymo_abbrevs *abbrevs = kymo__abbrevs_get(dwarf, unit);
    struct kymo_bytes bytes = kymo__bytes_part(dwarf->sections[KYMO__INFO], unit->dies, unit->end);
    const struct kymo_abbrev *abbrev = kymo__abbrevs_find(abbrevs, kymo__bytes_uleb(&bytes));
    if (!abbrev)
        return false;
    for (uint32_t i = 0; i < abbrev->count && !bytes.bad; i++) {
        const struct kymo_attr *attr = &abbrevs->attrs[abbrev->first + i];
        struct kymo_dwarf_value value;
        kymo__value_read(&bytes, unit, abbrevs, attr, &value);
        if (!bytes.bad)
            read_root_value(unit, root, attr->name, &value);
    }
    unit->dir = kymo__value_text(dwarf, unit, &root->dir);
    kymo__value_address(dwarf, unit, &root->low, &unit->low);
    return true;
}

static int add_range(struct kymo_dwarf *dwarf, uint64_t begin, uint64_t end, uint32_t unit)
{
    int rc = kymo__array_grow(&dwarf->ranges, &dwarf->range_capacity, dwarf->range_count,
                              sizeof(*dwarf->ranges));
    if (rc == 0)
        dwarf->ranges[dwarf->range_count++] =
            (struct kymo_unit_range){.begin = begin, .end = end, .unit = unit};
    return rc;
}

static int read_units(struct kymo_dwarf *dwarf)
{
    struct kymo_bytes bytes = kymo__bytes(dwarf->sections[KYMO__INFO], 0);
    struct kymo_unit unit;
    while (kymo__bytes_left(&bytes) > 0 && dwarf->unit_count < KYMO__NONE &&
           read_header(dwarf, &bytes, &unit)) {
        struct root root;
        if (unit.version == 0 || !read_root(dwarf, &unit, &root))
            continue;
        int rc = kymo__array_grow(&dwarf->units, &dwarf->unit_capacity, dwarf->unit_count,
                                  sizeof(*dwarf->units));
        if (rc < 0)
            return rc;
        dwarf->units[dwarf->unit_count++] = unit;
        struct kymo_ranges ranges;
        uint64_t begin, end;
        kymo__ranges_init(&ranges, dwarf, &unit, &root.low, &root.high, &root.ranges);
        while (kymo__ranges_next(&ranges, &begin, &end))
            if (add_range(dwarf, begin, end, (uint32_t)dwarf->unit_count - 1) < 0)
                return -ENOMEM;
    }
    return 0;
}

/* Read .debug_aranges, for units that do not list their ranges themselves: a unit with only a start
   and an end, in an early version, may have more. */
static int read_aranges(struct kymo_dwarf *dwarf)
{
    struct kymo_bytes bytes = kymo__bytes(dwarf->sections[KYMO__ARANGES], 0);
    while (kymo__bytes_left(&bytes) > 0) {
        const uint8_t *start = bytes.at;
        unsigned offset_size = 4;
        uint64_t len = kymo__bytes_u32(&bytes);
        if (len == 0xffffffff) {
            len = kymo__bytes_u64(&bytes);
            offset_size = 8;
        }
        if (bytes.bad || len > kymo__bytes_left(&bytes))
            return 0;
        struct kymo_bytes set = {.at = bytes.at, .end = bytes.at + len};
        kymo__bytes_skip(&bytes, len);
        unsigned version = kymo__bytes_u16(&set);
        uint64_t offset = kymo__bytes_number(&set, offset_size);
        unsigned size = kymo__bytes_u8(&set), segment = kymo__bytes_u8(&set);
        const struct kymo_unit *unit = kymo__dwarf_unit_of(dwarf, offset);
        if (set.bad || version != 2 || (size != 4 && size != 8) || segment != 0 || !unit ||
            unit->offset != offset || unit->listed)
            continue;
        /* The pairs are aligned to their size from the start of the set. */
        kymo__bytes_skip(&set, -(uint64_t)(set.at - start) & (2 * size - 1));
        while (kymo__bytes_left(&set) >= (size_t)2 * size) {
            uint64_t begin = kymo__bytes_number(&set, size);
            uint64_t length = kymo__bytes_number(&set, size);
            if (begin == 0 && length == 0)
                break;
            if (begin != 0 && length != 0 && length <= UINT64_MAX - begin &&
                add_range(dwarf, begin, begin + length, (uint32_t)(unit - dwarf->units)) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* ---- the whole ---- */

static int by_begin(const void *a, const void *b)
{
    const struct kymo_unit_range *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

static void sort_ranges(struct kymo_dwarf *dwarf)
{
    uint64_t reach = 0;
    if (dwarf->range_count)
        qsort(dwarf->ranges, dwarf->range_count, sizeof(*dwarf->ranges), by_begin);
    for (size_t i = 0; i < dwarf->range_count; i++) {
        if (dwarf->ranges[i].end > reach)
            reach = dwarf->ranges[i].end;
        dwarf->ranges[i].reach = reach;
    }
}

int kymo__dwarf_init(struct kymo_dwarf *dwarf, struct kymo_elf *elf, struct kymo_dwarf *shared)
{
    *dwarf = (struct kymo_dwarf){.shared = shared};
    for (int i = 0; i < KYMO__DWARF_SECTIONS; i++)
        dwarf->sections[i] = kymo__elf_content_named(elf, section_names[i]);
    if (dwarf->sections[KYMO__INFO].len == 0)
        return 0;
    dwarf->abbrevs = kymo__alloc_zeroed(KYMO__ABBREV_CACHE * sizeof(*dwarf->abbrevs));
    if (!dwarf->abbrevs)
        return -ENOMEM;
    for (int i = 0; i < KYMO__ABBREV_CACHE; i++)
        dwarf->abbrevs[i].offset = KYMO__NOWHERE;
    kymo__dwarf_refill(dwarf);
    int rc = read_units(dwarf);
    if (rc == 0)
        rc = read_aranges(dwarf);
    if (rc == 0 && dwarf->no_memory)
        rc = -ENOMEM;
    sort_ranges(dwarf);
    if (rc < 0)
        kymo__dwarf_fini(dwarf);
    return rc;
}

void kymo__dwarf_fini(struct kymo_dwarf *dwarf)
{
    for (int i = 0; dwarf->abbrevs && i < KYMO__ABBREV_CACHE; i++) {
        kymo__free(dwarf->abbrevs[i].list);
        kymo__free(dwarf->abbrevs[i].attrs);
        kymo__free(dwarf->abbrevs[i].constants);
    }
    kymo__free(dwarf->abbrevs);
    kymo__free(dwarf->units);
    kymo__free(dwarf->ranges);
    *dwarf = (struct kymo_dwarf){0};
}

uint32_t kymo__dwarf_unit_at(const struct kymo_dwarf *dwarf, uint64_t address)
{
    size_t low = 0, high = dwarf->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dwarf->ranges[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    /* Take the smallest of several: the others may be imprecise. The search is limited. */
    const struct kymo_unit_range *best = NULL;
    for (size_t i = low, looked_at = 0; i-- > 0 && looked_at < 256; looked_at++) {
        const struct kymo_unit_range *range = &dwarf->ranges[i];
        if (range->reach <= address)
            break;
        if (range->end > address && (!best || range->end - range->begin < best->end - best->begin))
            best = range;
    }
    return best ? best->unit : KYMO__NONE;
}

const struct kymo_unit *kymo__dwarf_unit_of(const struct kymo_dwarf *dwarf, uint64_t offset)
{
    size_t low = 0, high = dwarf->unit_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dwarf->units[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < dwarf->unit_count && dwarf->units[low].offset <= offset ? &dwarf->units[low]
                                                                         : NULL;
}
