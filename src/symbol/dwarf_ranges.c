/* dwarf_ranges.c — lists of ranges; see dwarf.h. */
#include "dwarf.h"
#include "dwarf_codes.h"

static bool list_offset(const struct kymo_ranges *ranges, const struct kymo_dwarf_value *list,
                        uint64_t *offset)
{
    *offset = list->number;
    if (list->form != DW_FORM_rnglistx)
        return true;
    struct kymo_view table = ranges->dwarf->sections[KYMO__RNGLISTS];
    uint64_t base = ranges->unit->rnglists_base;
    if (base > table.len || list->number > table.len)
        return false;
    struct kymo_bytes at = kymo__bytes(table, base + list->number * ranges->unit->offset_size);
    uint64_t relative = kymo__bytes_number(&at, ranges->unit->offset_size);
    if (at.bad || relative > table.len)
        return false;
    *offset = base + relative;
    return true;
}

void kymo__ranges_init(struct kymo_ranges *ranges, struct kymo_dwarf *dwarf,
                       const struct kymo_unit *unit, const struct kymo_dwarf_value *low,
                       const struct kymo_dwarf_value *high, const struct kymo_dwarf_value *list)
{
    *ranges = (struct kymo_ranges){.dwarf = dwarf, .unit = unit, .base = unit->low};
    uint64_t offset;
    if (list->form && list_offset(ranges, list, &offset)) {
        bool new = unit->version >= 5;
        ranges->kind = new ? KYMO__NEW_RANGES : KYMO__OLD_RANGES;
        ranges->bytes = kymo__bytes(dwarf->sections[new ? KYMO__RNGLISTS : KYMO__RANGES], offset);
        return;
    }
    if (!kymo__value_address(dwarf, unit, low, &ranges->begin) || !high->form)
        return;
    /* The end is an address, or the length. */
    if (!kymo__value_address(dwarf, unit, high, &ranges->end))
        ranges->end = ranges->begin + high->number;
    ranges->kind = KYMO__ONE_RANGE;
}

/* Linkers give dropped functions the address 0, or one near the end. */
static bool has_code(uint64_t begin, uint64_t end)
{
    return begin != 0 && begin < end;
}

static bool old_next(struct kymo_ranges *ranges, uint64_t *begin, uint64_t *end)
{
    unsigned size = ranges->unit->address_size;
    uint64_t top = size == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;
    while (ranges->dwarf->range_budget > 0) {
        ranges->dwarf->range_budget--;
        uint64_t a = kymo__bytes_number(&ranges->bytes, size);
        uint64_t b = kymo__bytes_number(&ranges->bytes, size);
        if (ranges->bytes.bad || (a == 0 && b == 0))
            break;
        if (a == top) {
            ranges->base = b;
        } else if (a != b && has_code(ranges->base + a, ranges->base + b)) {
            *begin = ranges->base + a;
            *end = ranges->base + b;
            return true;
        }
    }
    return false;
}

static uint64_t indexed(struct kymo_ranges *ranges)
{
    struct kymo_dwarf_value value = {.form = DW_FORM_addrx,
                                     .number = kymo__bytes_uleb(&ranges->bytes)};
    uint64_t address = 0;
    kymo__value_address(ranges->dwarf, ranges->unit, &value, &address);
    return address;
}

static bool new_next(struct kymo_ranges *ranges, uint64_t *begin, uint64_t *end)
{
    struct kymo_bytes *bytes = &ranges->bytes;
    unsigned size = ranges->unit->address_size;
    while (ranges->dwarf->range_budget > 0) {
        uint64_t a = 0, b = 0;
        ranges->dwarf->range_budget--;
        switch (kymo__bytes_u8(bytes)) {
        case DW_RLE_base_addressx:
            ranges->base = indexed(ranges);
            ranges->left_out = ranges->base == 0;
            break;
        case DW_RLE_startx_endx:
            a = indexed(ranges);
            b = indexed(ranges);
            break;
        case DW_RLE_startx_length:
            a = indexed(ranges);
            b = a + kymo__bytes_uleb(bytes);
            break;
        case DW_RLE_offset_pair:
            a = kymo__bytes_uleb(bytes);
            b = kymo__bytes_uleb(bytes);
            /* Relative to a dropped base: none of it exists. */
            a = ranges->left_out ? 0 : a + ranges->base;
            b += ranges->base;
            break;
        case DW_RLE_base_address:
            ranges->base = kymo__bytes_number(bytes, size);
            ranges->left_out = ranges->base == 0;
            break;
        case DW_RLE_start_end:
            a = kymo__bytes_number(bytes, size);
            b = kymo__bytes_number(bytes, size);
            break;
        case DW_RLE_start_length:
            a = kymo__bytes_number(bytes, size);
            b = a + kymo__bytes_uleb(bytes);
            break;
        default: /* the end, or nothing we know */
            return false;
        }
        if (bytes->bad)
            return false;
        if (has_code(a, b)) {
            *begin = a;
            *end = b;
            return true;
        }
    }
    return false;
}

bool kymo__ranges_next(struct kymo_ranges *ranges, uint64_t *begin, uint64_t *end)
{
    switch (ranges->kind) {
    case KYMO__OLD_RANGES:
        return old_next(ranges, begin, end);
    case KYMO__NEW_RANGES:
        return new_next(ranges, begin, end);
    case KYMO__ONE_RANGE:
        ranges->kind = KYMO__NO_RANGE;
        *begin = ranges->begin;
        *end = ranges->end;
        return has_code(*begin, *end);
    default:
        return false;
    }
}
