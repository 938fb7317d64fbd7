/* ehframe.c — see ehframe.h: find a function's FDE through .eh_frame_hdr, read its CIE, and run its
   program up to the address.

   The format is described in the "Exception Frames" chapter of the Linux Standard Base: DWARF's
   .debug_frame with different pointers. */
#include "ehframe.h"

#include "bytes.h"
#include "ehplace.h"
#include "ehrow.h"

enum { REMEMBERED = 16 };

struct function {
    uint64_t begin, size;
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra; /* its number for the return address */
    uint8_t pointers;
    bool signal;
    struct kymo_bytes first, then; /* the program: the CIE's part and its own */
};

/* Read a pointer in one of the encodings used in memory; "data" is relative to HDR. */
static uint64_t pointer(struct kymo_bytes *in, uint8_t encoding, const uint8_t *hdr)
{
    uint64_t from = (uint64_t)(uintptr_t)in->at, value;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = kymo__bytes_number(in, 8);
        break;
    case 0x01:
        value = kymo__bytes_uleb(in);
        break;
    case 0x02:
        value = kymo__bytes_number(in, 2);
        break;
    case 0x03:
        value = kymo__bytes_number(in, 4);
        break;
    case 0x09:
        value = (uint64_t)kymo__bytes_sleb(in);
        break;
    case 0x0a:
        value = (uint64_t)kymo__bytes_signed(in, 2);
        break;
    case 0x0b:
        value = (uint64_t)kymo__bytes_signed(in, 4);
        break;
    default:
        in->bad = true;
        return 0;
    }
    switch (encoding & 0xf0) {
    case 0x00:
        return value;
    case 0x10:
        return value + from;
    case 0x30:
        return value + (uint64_t)(uintptr_t)hdr;
    default: /* relative to unknown sections, or indirect */
        in->bad = true;
        return 0;
    }
}

/* The bytes at ADDRESS after their length field. */
static struct kymo_bytes entry(const uint8_t *low, const uint8_t *high, uint64_t address)
{
    struct kymo_bytes all = {low, high, true};
    if (address < (uint64_t)(uintptr_t)low || address >= (uint64_t)(uintptr_t)high)
        return all;
    all.at += address - (uint64_t)(uintptr_t)low;
    all.bad = false;
    uint64_t length = kymo__bytes_number(&all, 4);
    if (length == 0 || length == 0xffffffff) { /* the end; or longer than real code */
        all.bad = true;
        return all;
    }
    return kymo__bytes_take(&all, length);
}

static bool cie_read(struct function *f, struct kymo_bytes in)
{
    if (in.bad || kymo__bytes_number(&in, 4) != 0)
        return false;
    uint8_t version = kymo__bytes_u8(&in);
    if (version != 1 && version != 3 && version != 4)
        return false;
    const char *letters = (const char *)in.at;
    while (kymo__bytes_u8(&in))
        ;
    if (version == 4)
        kymo__bytes_number(&in, 2);
    f->code_align = kymo__bytes_uleb(&in);
    f->data_align = kymo__bytes_sleb(&in);
    f->ra = version == 1 ? kymo__bytes_u8(&in) : kymo__bytes_uleb(&in);
    if (in.bad || letters[0] != 'z')
        return false;
    uint64_t length = kymo__bytes_uleb(&in);
    struct kymo_bytes more = kymo__bytes_take(&in, length);
    for (letters++; *letters; letters++) {
        if (*letters == 'R')
            f->pointers = kymo__bytes_u8(&more);
        else if (*letters == 'L')
            kymo__bytes_u8(&more);
        else if (*letters == 'P')
            pointer(&more, kymo__bytes_u8(&more) & 0x0f, NULL); /* only to skip it */
        else if (*letters == 'S')
            f->signal = true;
        else if (*letters != 'B' && *letters != 'G') /* signed with key B; tagged memory */
            return false;
    }
    f->first = in;
    return !in.bad && !more.bad;
}

static bool fde_read(struct function *f, const uint8_t *hdr, const uint8_t *low,
                     const uint8_t *high, uint64_t address)
{
    struct kymo_bytes in = entry(low, high, address);
    uint64_t from = (uint64_t)(uintptr_t)in.at;
    uint64_t distance = kymo__bytes_number(&in, 4);
    if (in.bad || distance == 0 || !cie_read(f, entry(low, high, from - distance)))
        return false;
    f->begin = pointer(&in, f->pointers, hdr);
    f->size = pointer(&in, f->pointers & 0x0f, hdr);
    uint64_t length = kymo__bytes_uleb(&in); /* present, because the CIE's augmentation starts with
                                                'z' */
    kymo__bytes_take(&in, length);
    f->then = in;
    return !in.bad;
}

/* Find the FDE of the function around PC, or return 0. The table is sorted: take the last entry
   that does not start after PC. */
static uint64_t fde_find(const uint8_t *hdr, const uint8_t *high, uint64_t pc)
{
    struct kymo_bytes in = {hdr, high, false};
    uint64_t head = kymo__bytes_number(&in, 4);
    if ((head & 0xff) != 1 || head >> 24 != 0x3b) /* version 1; the table of pairs of 4 bytes */
        return 0;
    pointer(&in, head >> 8 & 0xff, hdr);
    uint64_t count = pointer(&in, head >> 16 & 0xff, hdr);
    if (in.bad || count == 0 || count > (uint64_t)(in.end - in.at) / 8)
        return 0;
    int64_t key = (int64_t)(pc - (uint64_t)(uintptr_t)hdr);
    uint64_t from = 0;
    int32_t pair[2];
    while (count > 1) {
        uint64_t half = count / 2;
        memcpy(pair, in.at + 8 * (from + half), 8);
        if (pair[0] <= key)
            from += half;
        count -= half;
    }
    memcpy(pair, in.at + 8 * from, 8);
    return pair[0] <= key ? (uint64_t)(uintptr_t)hdr + (uint64_t)(int64_t)pair[1] : 0;
}

static void save_register(struct kymo_row *row, const struct function *f, uint64_t reg,
                          struct kymo_saved saved)
{
    if (reg == f->ra)
        row->saved[KYMO__SAVED_RA] = saved;
    else if (reg == KYMO__FP)
        row->saved[KYMO__SAVED_FP] = saved;
    else if (reg == (uint64_t)KYMO__RBX)
        row->saved[KYMO__SAVED_RBX] = saved;
}

static void restore_register(struct kymo_row *row, const struct function *f, uint64_t reg,
                             const struct kymo_row *first)
{
    if (reg == f->ra)
        row->saved[KYMO__SAVED_RA] = first->saved[KYMO__SAVED_RA];
    else if (reg == KYMO__FP)
        row->saved[KYMO__SAVED_FP] = first->saved[KYMO__SAVED_FP];
    else if (reg == (uint64_t)KYMO__RBX)
        row->saved[KYMO__SAVED_RBX] = first->saved[KYMO__SAVED_RBX];
}

static struct kymo_saved at_cfa(const struct function *f, uint64_t factored)
{
    return (struct kymo_saved){
        .how = KYMO__AT_CFA,
        .place.offset = (int64_t)(factored * (uint64_t)f->data_align),
    };
}

static struct kymo_eh_place offset_place(uint64_t reg, uint64_t offset)
{
    if (reg > 31)
        return (struct kymo_eh_place){.kind = KYMO__PLACE_UNKNOWN};
    return (struct kymo_eh_place){
        .kind = KYMO__PLACE_REGISTER, .reg = (uint8_t)reg, .offset = (int64_t)offset};
}

/* Run an instruction that says where a register or the CFA is. False if unknown. */
static bool run_register_op(struct kymo_row *row, const struct function *f, uint8_t op,
                            struct kymo_bytes *in, uint64_t pc, const struct kymo_row *first)
{
    uint64_t reg = op < 0x0c || op > 0x13 ? kymo__bytes_uleb(in) : 0;
    switch (op) {
    case 0x05: /* offset_extended */
        save_register(row, f, reg, at_cfa(f, kymo__bytes_uleb(in)));
        return true;
    case 0x06: /* restore_extended */
        restore_register(row, f, reg, first);
        return true;
    case 0x07: /* undefined */
        save_register(row, f, reg, (struct kymo_saved){.how = KYMO__UNDEFINED});
        return true;
    case 0x08: /* same_value */
        save_register(row, f, reg, (struct kymo_saved){.how = KYMO__SAME});
        return true;
    case 0x09: /* register */
    case 0x14: /* val_offset */
    case 0x15: /* val_offset_sf */
        kymo__bytes_uleb(in);
        save_register(row, f, reg, (struct kymo_saved){.how = KYMO__ODD});
        return true;
    case 0x16: /* val_expression */
        kymo__bytes_take(in, kymo__bytes_uleb(in));
        save_register(row, f, reg, (struct kymo_saved){.how = KYMO__ODD});
        return true;
    case 0x2f: /* GNU_negative_offset_extended */
        save_register(row, f, reg, at_cfa(f, 0 - kymo__bytes_uleb(in)));
        return true;
    case 0x2e: /* GNU_args_size */
        return true;
    case 0x0c: /* def_cfa */
        reg = kymo__bytes_uleb(in);
        row->cfa = offset_place(reg, kymo__bytes_uleb(in));
        return true;
    case 0x12: /* def_cfa_sf */
        reg = kymo__bytes_uleb(in);
        row->cfa = offset_place(reg, (uint64_t)kymo__bytes_sleb(in) * (uint64_t)f->data_align);
        return true;
    case 0x0d: /* def_cfa_register */
        row->cfa = offset_place(kymo__bytes_uleb(in), (uint64_t)row->cfa.offset);
        return true;
    case 0x0e: /* def_cfa_offset */
        row->cfa.offset = (int64_t)kymo__bytes_uleb(in);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        row->cfa.offset = (int64_t)((uint64_t)kymo__bytes_sleb(in) * (uint64_t)f->data_align);
        return true;
    case 0x0f: /* def_cfa_expression */
        row->cfa = kymo__place_of(kymo__bytes_take(in, kymo__bytes_uleb(in)), pc);
        return true;
    case 0x10: { /* expression */
        reg = kymo__bytes_uleb(in);
        struct kymo_saved saved = {.how = KYMO__AT_PLACE};
        saved.place = kymo__place_of(kymo__bytes_take(in, kymo__bytes_uleb(in)), pc);
        save_register(row, f, reg, saved);
        return true;
    }
    case 0x11: /* offset_extended_sf */
        reg = kymo__bytes_uleb(in);
        save_register(row, f, reg, at_cfa(f, (uint64_t)kymo__bytes_sleb(in)));
        return true;
    default:
        return false;
    }
}

/* Run program IN up to PC. FIRST is the state after the CIE. False if it is invalid. */
static bool run_program(struct kymo_row *row, const struct function *f, struct kymo_bytes in,
                        uint64_t pc, const struct kymo_row *first)
{
    struct kymo_row remembered[REMEMBERED];
    unsigned depth = 0;
    uint64_t at = f->begin;
    while (in.at < in.end) {
        uint8_t op = kymo__bytes_u8(&in), low = op & 0x3f;
        if (op >> 6 == 1) { /* advance_loc */
            at += low * f->code_align;
        } else if (op >> 6 == 2) { /* offset */
            save_register(row, f, low, at_cfa(f, kymo__bytes_uleb(&in)));
        } else if (op >> 6 == 3) { /* restore */
            restore_register(row, f, low, first);
        } else if (op == 0x00 || op == 0x2d) { /* nop; the return address is signed, or no more */
        } else if (op == 0x01) {               /* set_loc */
            at = pointer(&in, f->pointers, NULL);
        } else if (op >= 0x02 && op <= 0x04) { /* advance_loc1, 2, 4 */
            at += kymo__bytes_number(&in, 1u << (op - 0x02)) * f->code_align;
        } else if (op == 0x0a) { /* remember_state */
            if (depth == REMEMBERED)
                return false;
            remembered[depth++] = *row;
        } else if (op == 0x0b) { /* restore_state */
            if (depth == 0)
                return false;
            *row = remembered[--depth];
        } else if (!run_register_op(row, f, op, &in, pc, first)) {
            return false;
        }
        if (in.bad)
            return false;
        if (at > pc)
            return true;
    }
    return true;
}

struct kymo_rule kymo__ehframe_rule(const uint8_t *hdr, uint64_t low, uint64_t high, uint64_t pc)
{
    const struct kymo_rule none = {.kind = KYMO__RULE_NONE};
    uint64_t at = (uint64_t)(uintptr_t)hdr;
    if (!hdr || at < low || at >= high)
        return none;
    const uint8_t *first = hdr - (at - low), *end = hdr + (high - at);
    struct function f = {0};
    uint64_t fde = fde_find(hdr, end, pc);
    if (!fde || !fde_read(&f, hdr, first, end, fde) || pc - f.begin >= f.size)
        return none;
    struct kymo_row start = {0}, row;
    if (!run_program(&start, &f, f.first, UINT64_MAX, &start))
        return none;
    row = start;
    if (!run_program(&row, &f, f.then, pc, &start))
        return none;
    return kymo__row_rule(&row, f.signal);
}
