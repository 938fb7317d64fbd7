/* notes.c — reads the columns of notes; see notes.h. Trusts none of its input. */
#include "notes.h"

#include <string.h>

#include "entries.h"

const uint8_t *kymo__unnotes_begin(struct kymo_unnotes *notes, const uint8_t *at,
                                   const uint8_t *end)
{
    uint64_t shift, first, length[KYMO__NOTE_COLUMNS];
    memset(&notes->past, 0, sizeof(notes->past));
    at = kymo__varint_get(at, end, &shift);
    at = at ? kymo__varint_get(at, end, &first) : NULL;
    for (int i = 0; at && i < KYMO__NOTE_COLUMNS; i++)
        at = kymo__varint_get(at, end, &length[i]);
    if (!at || shift >= KYMO__NOTE_SHIFTS)
        return NULL;
    for (int i = 0; i < KYMO__NOTE_COLUMNS; i++) {
        if (length[i] > (size_t)(end - at))
            return NULL;
        notes->at[i] = at;
        notes->end[i] = at += length[i];
    }
    notes->past.shift = (uint8_t)shift;
    notes->past.ticks = first;
    return at;
}

bool kymo__unnotes_form(struct kymo_unnotes *notes, uint64_t form, const uint8_t **at,
                        const uint8_t *end)
{
    struct kymo_note_past *past = &notes->past;
    uint64_t key, number = 0, layout = 0;
    if (form != past->forms + 1u || form > KYMO__NOTE_FORMS)
        return false;
    const uint8_t *next = kymo__varint_get(*at, end, &key);
    next = next ? kymo__varint_get(next, end, &number) : NULL;
    next = next ? kymo__varint_get(next, end, &layout) : NULL;
    if (!next || key > UINT32_MAX || !number || number > KYMO_SCHEMAS_MOST ||
        (layout != KYMO__SHAPE_FREE && layout != KYMO__SHAPE_ALLOC))
        return false;
    past->form[++past->forms] = (struct kymo_note_form){
        .key = (uint32_t)key, .number = (uint16_t)number, .layout = (uint8_t)layout};
    *at = next;
    return true;
}

/* Read the next number of COLUMN; false if there is none. */
static inline bool take_number(struct kymo_unnotes *notes, enum kymo_note_column column,
                               uint64_t *v)
{
    const uint8_t *next = kymo__varint_get_wide(notes->at[column], notes->end[column], v);
    if (!next)
        return false;
    notes->at[column] = next;
    return true;
}

unsigned kymo__unnotes_numbers(struct kymo_unnotes *notes, unsigned form, uint64_t *numbers)
{
    struct kymo_note_past *past = &notes->past;
    uint64_t moved, other;
    if (past->form[form].layout == KYMO__SHAPE_FREE) {
        if (!take_number(notes, KYMO__NOTE_FREED, &moved))
            return 0;
        numbers[0] = past->address += kymo__value_unfold(KYMO_FIELD_ADDRESS, moved);
        return 1;
    }
    if (!take_number(notes, KYMO__NOTE_SIZES, &numbers[0]) ||
        !take_number(notes, KYMO__NOTE_ADDRESSES, &moved) ||
        !take_number(notes, KYMO__NOTE_SITES, &other) ||
        !take_number(notes, KYMO__NOTE_SITES, &numbers[3]))
        return 0;
    uint64_t *last = &past->of_class[kymo__note_class(numbers[0])];
    *last = past->address =
        kymo__note_near(*last, past->address) + kymo__value_unfold(KYMO_FIELD_ADDRESS, moved);
    past->stack += kymo__value_unfold(KYMO_FIELD_STACK, other);
    numbers[1] = past->address;
    numbers[2] = past->stack;
    return 4;
}
