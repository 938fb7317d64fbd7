/* dwarf_values.c — values of attributes; see dwarf.h. */
#include "dwarf.h"
#include "dwarf_codes.h"

int kymo__value_size(const struct kymo_unit *unit, unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sup8:
    case DW_FORM_ref_sig8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return unit->address_size;
    case DW_FORM_ref_addr:
        return unit->version <= 2 ? unit->address_size : unit->offset_size;
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_line_strp:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return unit->offset_size;
    default:
        return -1;
    }
}

void kymo__value_skip(struct kymo_bytes *bytes, const struct kymo_unit *unit, unsigned form)
{
    if (form == DW_FORM_indirect) {
        form = (unsigned)kymo__bytes_uleb(bytes);
        /* Values that need more than the entry, or twice a detour, are not meant here. */
        if (form == DW_FORM_indirect || form == DW_FORM_implicit_const) {
            bytes->bad = true;
            return;
        }
    }
    int size = kymo__value_size(unit, form);
    if (size >= 0) {
        kymo__bytes_skip(bytes, (uint64_t)size);
        return;
    }
    switch (form) {
    case DW_FORM_string:
        kymo__bytes_text(bytes);
        break;
    case DW_FORM_block1:
        kymo__bytes_skip(bytes, kymo__bytes_u8(bytes));
        break;
    case DW_FORM_block2:
        kymo__bytes_skip(bytes, kymo__bytes_u16(bytes));
        break;
    case DW_FORM_block4:
        kymo__bytes_skip(bytes, kymo__bytes_u32(bytes));
        break;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        kymo__bytes_skip(bytes, kymo__bytes_uleb(bytes));
        break;
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        kymo__bytes_uleb(bytes);
        break;
    default: /* of unknown length, and with it all that follows */
        bytes->at = bytes->end;
        bytes->bad = true;
    }
}

void kymo__value_read(struct kymo_bytes *bytes, const struct kymo_unit *unit,
                      const struct kymo_abbrevs *abbrevs, const struct kymo_attr *attr,
                      struct kymo_dwarf_value *value)
{
    unsigned form = attr->form;
    struct kymo_bytes before = *bytes;
    *value = (struct kymo_dwarf_value){.form = (uint16_t)form};
    switch (form) {
    case DW_FORM_implicit_const:
        value->number = (uint64_t)abbrevs->constants[attr->constant];
        return;
    case DW_FORM_flag_present:
        value->number = 1;
        return;
    case DW_FORM_string:
        value->text = kymo__bytes_text(bytes);
        return;
    case DW_FORM_sdata:
        value->number = (uint64_t)kymo__bytes_sleb(bytes);
        return;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        value->number = kymo__bytes_uleb(bytes);
        return;
    case DW_FORM_indirect: {
        struct kymo_attr real = {.name = attr->name};
        uint64_t code = kymo__bytes_uleb(bytes);
        if (code == DW_FORM_indirect || code == DW_FORM_implicit_const || code > UINT16_MAX) {
            bytes->bad = true;
            return;
        }
        real.form = (uint16_t)code;
        kymo__value_read(bytes, unit, abbrevs, &real, value); /* once, as just made sure */
        return;
    }
    default:
        break;
    }
    int size = kymo__value_size(unit, form);
    kymo__value_skip(bytes, unit, form);
    if (size >= 0 && size <= 8 && !bytes->bad)
        value->number = kymo__bytes_number(&before, (unsigned)size);
}

const char *kymo__value_text(const struct kymo_dwarf *dwarf, const struct kymo_unit *unit,
                             const struct kymo_dwarf_value *value)
{
    switch (value->form) {
    case DW_FORM_string:
        return value->text;
    case DW_FORM_strp:
        return kymo__view_text(dwarf->sections[KYMO__STR], value->number);
    case DW_FORM_line_strp:
        return kymo__view_text(dwarf->sections[KYMO__LINE_STR], value->number);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        return dwarf->shared ? kymo__view_text(dwarf->shared->sections[KYMO__STR], value->number)
                             : NULL;
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4: {
        struct kymo_view table = dwarf->sections[KYMO__STR_OFFSETS];
        if (value->number > table.len || unit->str_offsets_base > table.len)
            return NULL;
        struct kymo_bytes at =
            kymo__bytes(table, unit->str_offsets_base + value->number * unit->offset_size);
        uint64_t offset = kymo__bytes_number(&at, unit->offset_size);
        return at.bad ? NULL : kymo__view_text(dwarf->sections[KYMO__STR], offset);
    }
    default:
        return NULL;
    }
}

bool kymo__value_address(const struct kymo_dwarf *dwarf, const struct kymo_unit *unit,
                         const struct kymo_dwarf_value *value, uint64_t *address)
{
    switch (value->form) {
    case DW_FORM_addr:
        *address = value->number;
        return true;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index: {
        struct kymo_view table = dwarf->sections[KYMO__ADDR];
        if (value->number > table.len || unit->addr_base > table.len)
            return false;
        struct kymo_bytes at =
            kymo__bytes(table, unit->addr_base + value->number * unit->address_size);
        uint64_t found = kymo__bytes_number(&at, unit->address_size);
        if (at.bad)
            return false;
        *address = found;
        return true;
    }
    default:
        return false;
    }
}

struct kymo_die kymo__value_reference(struct kymo_dwarf *dwarf, const struct kymo_unit *unit,
                                      const struct kymo_dwarf_value *value)
{
    const struct kymo_die none = {0};
    switch (value->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        if (value->number >= unit->end - unit->offset)
            return none;
        return (struct kymo_die){dwarf, unit->offset + value->number};
    case DW_FORM_ref_addr:
        return (struct kymo_die){dwarf, value->number};
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_GNU_ref_alt:
        return (struct kymo_die){dwarf->shared, value->number};
    default:
        return none;
    }
}
