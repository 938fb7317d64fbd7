/* dwarf_names.c — the name of a function's entry. The entry of a body often only refers to the
   entry it is an instance of, and that one to its declaration. */
#include "dwarf.h"
#include "dwarf_codes.h"

enum { HOPS_MOST = 16 };

static bool is_name(unsigned name)
{
    return name == DW_AT_name || name == DW_AT_linkage_name || name == DW_AT_MIPS_linkage_name;
}

const char *kymo__die_name(struct kymo_die die, bool *linkage)
{
    const char *plain = NULL;
    *linkage = false;
    for (int hop = 0; hop < HOPS_MOST && die.dwarf; hop++) {
        struct kymo_dwarf *dwarf = die.dwarf;
        const struct kymo_unit *unit = kymo__dwarf_unit_of(dwarf, die.offset);
        if (!unit || die.offset < unit->dies)
            return plain;
        const struct kymo_abbrevs *abbrevs = kymo__abbrevs_get(dwarf, unit);
        struct kymo_bytes bytes =
            kymo__bytes_part(dwarf->sections[KYMO__INFO], die.offset, unit->end);
        const struct kymo_abbrev *abbrev = kymo__abbrevs_find(abbrevs, kymo__bytes_uleb(&bytes));
        die = (struct kymo_die){0};
        for (uint32_t i = 0; abbrev && i < abbrev->count && !bytes.bad; i++) {
            const struct kymo_attr *attr = &abbrevs->attrs[abbrev->first + i];
            bool origin = attr->name == DW_AT_abstract_origin || attr->name == DW_AT_specification;
            struct kymo_dwarf_value value;
            if (!origin && !is_name(attr->name)) {
                kymo__value_skip(&bytes, unit, attr->form);
                continue;
            }
            kymo__value_read(&bytes, unit, abbrevs, attr, &value);
            if (bytes.bad)
                return plain;
            if (origin) {
                die = kymo__value_reference(dwarf, unit, &value);
                continue;
            }
            const char *text = kymo__value_text(dwarf, unit, &value);
            if (text && *text && attr->name != DW_AT_name) {
                *linkage = true;
                return text;
            }
            if (text && *text && !plain)
                plain = text;
        }
    }
    return plain;
}
