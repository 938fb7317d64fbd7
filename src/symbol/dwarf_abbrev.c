/* dwarf_abbrev.c — abbreviations: a tag, and the names and forms of attributes, by code. Units
   often share a table, so some are cached. */
#include <errno.h>
#include <stdlib.h>

#include "alloc.h"
#include "dwarf.h"
#include "dwarf_codes.h"

static void clear_abbrevs(struct kymo_abbrevs *abbrevs)
{
    kymo__free(abbrevs->list);
    kymo__free(abbrevs->attrs);
    kymo__free(abbrevs->constants);
    *abbrevs = (struct kymo_abbrevs){.offset = KYMO__NOWHERE};
}

static bool add_attr(struct kymo_abbrevs *abbrevs, uint64_t name, uint64_t form, int64_t constant)
{
    struct kymo_attr attr = {
        .name = name > UINT16_MAX ? UINT16_MAX : (uint16_t)name,
        .form = form > UINT16_MAX ? UINT16_MAX : (uint16_t)form,
    };
    if (kymo__array_grow(&abbrevs->attrs, &abbrevs->attr_capacity, abbrevs->attr_count,
                         sizeof(*abbrevs->attrs)) < 0)
        return false;
    if (form == DW_FORM_implicit_const) {
        if (kymo__array_grow(&abbrevs->constants, &abbrevs->constant_capacity,
                             abbrevs->constant_count, sizeof(*abbrevs->constants)) < 0)
            return false;
        attr.constant = (uint32_t)abbrevs->constant_count;
        abbrevs->constants[abbrevs->constant_count++] = constant;
    }
    abbrevs->attrs[abbrevs->attr_count++] = attr;
    return true;
}

/* Sum up the sizes, as far as they are the same in every entry. */
static void measure_entries(const struct kymo_abbrevs *abbrevs, const struct kymo_unit *unit,
                            struct kymo_abbrev *abbrev)
{
    int total = 0;
    abbrev->sibling = -1;
    for (uint32_t i = 0; i < abbrev->count; i++) {
        const struct kymo_attr *attr = &abbrevs->attrs[abbrev->first + i];
        if (attr->name == DW_AT_sibling && total >= 0 && total < INT16_MAX) {
            abbrev->sibling = (int16_t)total;
            abbrev->sibling_form = attr->form;
        }
        int size = kymo__value_size(unit, attr->form);
        total = total < 0 || size < 0 || total > 1 << 24 ? -1 : total + size;
    }
    abbrev->fixed = total;
}

/* One abbreviation: 1; 0 at the end of the table; -ENOMEM. */
static int read_one(struct kymo_abbrevs *abbrevs, const struct kymo_unit *unit,
                    struct kymo_bytes *bytes)
{
    struct kymo_abbrev abbrev = {.code = kymo__bytes_uleb(bytes)};
    if (abbrev.code == 0 || bytes->bad)
        return 0;
    uint64_t tag = kymo__bytes_uleb(bytes);
    abbrev.tag = tag > UINT16_MAX ? UINT16_MAX : (uint16_t)tag;
    abbrev.children = kymo__bytes_u8(bytes) != 0;
    abbrev.first = (uint32_t)abbrevs->attr_count;
    for (;;) {
        uint64_t name = kymo__bytes_uleb(bytes), form = kymo__bytes_uleb(bytes);
        int64_t constant = form == DW_FORM_implicit_const ? kymo__bytes_sleb(bytes) : 0;
        if (bytes->bad || abbrevs->attr_count >= UINT32_MAX)
            return 0;
        if (name == 0 && form == 0)
            break;
        if (!add_attr(abbrevs, name, form, constant))
            return -ENOMEM;
    }
    abbrev.count = (uint32_t)abbrevs->attr_count - abbrev.first;
    measure_entries(abbrevs, unit, &abbrev);
    if (kymo__array_grow(&abbrevs->list, &abbrevs->capacity, abbrevs->count,
                         sizeof(*abbrevs->list)) < 0)
        return -ENOMEM;
    abbrevs->list[abbrevs->count++] = abbrev;
    return 1;
}

static int by_code(const void *a, const void *b)
{
    const struct kymo_abbrev *x = a, *y = b;
    return x->code < y->code ? -1 : x->code > y->code;
}

const struct kymo_abbrevs *kymo__abbrevs_get(struct kymo_dwarf *dwarf, const struct kymo_unit *unit)
{
    size_t place = (size_t)((unit->abbrevs * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
    struct kymo_abbrevs *abbrevs = &dwarf->abbrevs[place % KYMO__ABBREV_CACHE];
    if (abbrevs->offset == unit->abbrevs && abbrevs->address_size == unit->address_size &&
        abbrevs->offset_size == unit->offset_size && abbrevs->version == unit->version)
        return abbrevs;
    clear_abbrevs(abbrevs);
    struct kymo_bytes bytes = kymo__bytes(dwarf->sections[KYMO__ABBREV], unit->abbrevs);
    if (kymo__bytes_left(&bytes) > dwarf->abbrev_budget)
        bytes.end = bytes.at + dwarf->abbrev_budget;
    const uint8_t *start = bytes.at;
    int rc;
    while ((rc = read_one(abbrevs, unit, &bytes)) > 0)
        continue;
    dwarf->abbrev_budget -= (uint64_t)(bytes.at - start);
    /* Half a table is good enough now, because the batch fails, but it is not kept. */
    dwarf->no_memory = dwarf->no_memory || rc < 0;
    abbrevs->offset = rc < 0 ? KYMO__NOWHERE : unit->abbrevs;
    abbrevs->address_size = unit->address_size;
    abbrevs->offset_size = unit->offset_size;
    abbrevs->version = unit->version;
    abbrevs->dense = true;
    bool sorted = true;
    for (size_t i = 0; i < abbrevs->count; i++) {
        abbrevs->dense = abbrevs->dense && abbrevs->list[i].code == i + 1;
        sorted = sorted && (i == 0 || abbrevs->list[i - 1].code <= abbrevs->list[i].code);
    }
    if (!sorted)
        qsort(abbrevs->list, abbrevs->count, sizeof(*abbrevs->list), by_code);
    for (size_t i = 0; !sorted && i < abbrevs->count; i++)
        abbrevs->dense =
            i == 0 ? abbrevs->list[0].code == 1 : abbrevs->dense && abbrevs->list[i].code == i + 1;
    return abbrevs;
}

const struct kymo_abbrev *kymo__abbrevs_search(const struct kymo_abbrevs *abbrevs, uint64_t code)
{
    size_t low = 0, high = abbrevs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (abbrevs->list[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < abbrevs->count && abbrevs->list[low].code == code ? &abbrevs->list[low] : NULL;
}
