/* noteput.c — writes the columns of notes; see notes.h. */
#include <string.h>

#include "atomic.h"
#include "entries.h"
#include "notes.h"

enum {
    AHEAD = 64,     /* records that are fetched ahead: a kilobyte */
    TIME_BITS = 48, /* of the time between two notes, at most */
    FOUR = (int)(KYMO__CHAIN_FOUR >> KYMO__NOTE_FIXED),
};

void kymo__notes_init(struct kymo_notes *notes, uint8_t *room)
{
    /* The most bytes that a number of each column takes. */
    static const uint8_t most[KYMO__NOTE_COLUMNS] = {
        [KYMO__NOTE_TIMES] = 7, [KYMO__NOTE_SIZES] = 3, [KYMO__NOTE_ADDRESSES] = 8,
        [KYMO__NOTE_SITES] = 7, [KYMO__NOTE_FREED] = 8,
    };
    for (int i = 0; i < KYMO__NOTE_COLUMNS; i++) {
        notes->from[i] = room;
        room += (size_t)KYMO__BLOCK_RECORDS_MAX / 2 * most[i] + 8;
    }
}

void kymo__notes_begin(struct kymo_notes *notes)
{
    memcpy(notes->end, notes->from, sizeof(notes->end));
    memset(notes->marks, 0, sizeof(notes->marks));
    memset(&notes->past, 0, sizeof(notes->past));
}

/* How many low bits of the ticks of RECORDS are always 0. The first ones tell: what records notes keeps
   the same bits of all times. */
static uint8_t find_shift(const struct kymo_record *records, size_t count)
{
    enum { ENOUGH = 128 };
    uint64_t bits = UINT64_C(1) << (KYMO__NOTE_SHIFTS - 1);
    for (size_t i = 0; i < count && i < ENOUGH; i++)
        bits |= kymo__word_kind(records[i].word) == KYMO__NOTE ? records[i].ticks : 0;
    return (uint8_t)__builtin_ctzll(bits);
}

/* Give the note at RECORDS, which has none, a form, defined at OUT. Returns the byte after the
   definition, or NULL if it cannot have one. */
static uint8_t *add_form(struct kymo_notes *notes, const struct kymo_plans *plans,
                         const struct kymo_record *records, uint8_t *out)
{
    struct kymo_note_past *past = &notes->past;
    const unsigned number = kymo__chain_number(&records[1]);
    const uint64_t payload = records[1].word >> KYMO__NOTE_FIXED;
    if (records[0].word >> 48 != KYMO__NOTE << 8 || !number || number >= KYMO__NOTE_SCHEMAS ||
        !plans || number > kymo__load_acquire(&plans->count) || notes->marks[number].token ||
        past->forms == KYMO__NOTE_FORMS)
        return NULL;
    const uint8_t layout = kymo__plan_shape(&plans->plan[number]);
    const uint64_t form = layout == KYMO__SHAPE_FREE ? KYMO__CHAIN_ONE : KYMO__CHAIN_FOUR;
    if (layout == KYMO__SHAPE_OTHER ||
        payload != (kymo__chain_word(number, 0) | form) >> KYMO__NOTE_FIXED)
        return NULL;
    const uint8_t token = (uint8_t)(++past->forms << 3 | KYMO__T_NOTE);
    notes->marks[number] = (struct kymo_note_mark){records[0].word, payload, token};
    *out++ = token;
    out = kymo__varint_put(out, kymo__word_key(records[0].word));
    out = kymo__varint_put(out, number);
    return kymo__varint_put(out, layout);
}

/* The first note of a block is about to be written: the first of the COUNT records at RECORDS. */
static void begin_times(struct kymo_notes *notes, const struct kymo_record *records, size_t count)
{
    notes->past.shift = find_shift(records, count);
    notes->past.ticks = notes->first_ticks = records[0].ticks;
}

/* Is a difference so small that it, folded, has at most 56 bits? */
static inline bool is_small(uint64_t difference)
{
    return difference + (UINT64_C(1) << 53) < UINT64_C(1) << 54;
}

static inline uint8_t *put_small(uint8_t *out, uint64_t v)
{
    unsigned bytes;
    uint64_t word = kymo__likely(v < 1u << 28) ? kymo__varint_spread_half(v, &bytes)
                                               : kymo__varint_spread(v, &bytes);
    memcpy(out, &word, sizeof(word));
    return out + bytes;
}

static inline uint64_t turned(uint64_t v, unsigned bits)
{
    return v >> bits | v << (-bits & 63);
}

/* Where the columns end, and what was last: copies, which stay in registers. */
struct pen {
    uint8_t *end[KYMO__NOTE_COLUMNS];
    uint64_t ticks, address, stack;
};

static inline void pen_take(struct pen *pen, const struct kymo_notes *notes)
{
    memcpy(pen->end, notes->end, sizeof(pen->end));
    pen->ticks = notes->past.ticks;
    pen->address = notes->past.address;
    pen->stack = notes->past.stack;
}

static inline void pen_give(const struct pen *pen, struct kymo_notes *notes)
{
    memcpy(notes->end, pen->end, sizeof(pen->end));
    notes->past.ticks = pen->ticks;
    notes->past.address = pen->address;
    notes->past.stack = pen->stack;
}

/* Nearly all take one byte. */
static inline void put_time(struct pen *pen, uint64_t passed)
{
    uint8_t **end = &pen->end[KYMO__NOTE_TIMES];
    if (kymo__likely(passed < 0x80))
        *(*end)++ = (uint8_t)passed;
    else
        *end = kymo__varint_put_short(*end, passed);
}

/* Most take one byte each. */
static inline void put_site(struct pen *pen, uint64_t stack, uint64_t name)
{
    uint8_t **end = &pen->end[KYMO__NOTE_SITES];
    if (kymo__likely((stack | name) < 0x80)) {
        const uint16_t both = (uint16_t)(stack | name << 8);
        memcpy(*end, &both, sizeof(both));
        *end += sizeof(both);
    } else {
        *end = kymo__varint_put_short(kymo__varint_put_short(*end, stack), name);
    }
}

/* An address. False, with nothing written, if it is too far away. */
static inline bool put_free(struct pen *pen, uint64_t address)
{
    const uint64_t moved = address - pen->address;
    if (kymo__unlikely(!is_small(moved)))
        return false;
    pen->end[KYMO__NOTE_FREED] =
        put_small(pen->end[KYMO__NOTE_FREED], kymo__value_fold(KYMO_FIELD_ADDRESS, moved));
    pen->address = address;
    return true;
}

/* The same for a size, an address, a stack and a name. */
static inline bool put_alloc(struct pen *pen, uint64_t *of_class, const struct kymo_record *record)
{
    uint64_t numbers[4];
    kymo__chain_four(record, numbers);
    uint64_t *last = &of_class[kymo__note_class(numbers[0])];
    const uint64_t moved = numbers[1] - kymo__note_near(*last, pen->address);
    if (kymo__unlikely(!is_small(moved)))
        return false;
    uint8_t **end = pen->end;
    end[KYMO__NOTE_SIZES] = kymo__varint_put_short(end[KYMO__NOTE_SIZES], numbers[0]);
    end[KYMO__NOTE_ADDRESSES] =
        put_small(end[KYMO__NOTE_ADDRESSES], kymo__value_fold(KYMO_FIELD_ADDRESS, moved));
    put_site(pen, kymo__zigzag((int64_t)(numbers[2] - pen->stack)), numbers[3]);
    *last = pen->address = numbers[1];
    pen->stack = numbers[2];
    return true;
}

size_t kymo__notes_put(struct kymo_notes *notes, const struct kymo_plans *plans,
                       const struct kymo_record *records, size_t count, uint8_t **tokens)
{
    uint8_t *out = *tokens;
    if (count < 2)
        return 0;
    if (!notes->past.forms) {
        out = add_form(notes, plans, records, out);
        if (!out)
            return 0;
        begin_times(notes, records, count);
    }
    const struct kymo_record *at = records, *const last = records + count - 1;
    const unsigned shift = notes->past.shift;
    struct pen pen;
    pen_take(&pen, notes);
    for (; at < last; at += 2) {
        const uint64_t payload = at[1].word >> KYMO__NOTE_FIXED;
        const struct kymo_note_mark *mark = &notes->marks[payload % KYMO__NOTE_SCHEMAS];
        __builtin_prefetch(at + AHEAD); /* another processor wrote it */
        if (kymo__unlikely(mark->note != at->word || mark->payload != payload)) {
            uint8_t *after = add_form(notes, plans, at, out);
            if (!after)
                break;
            out = after;
        }
        /* Low bits that are not 0 become high bits, and so do those of an earlier time. */
        const uint64_t passed = turned(at->ticks - pen.ticks, shift);
        if (kymo__unlikely(passed >> TIME_BITS))
            break;
        if (kymo__unlikely(!(payload & FOUR ? put_alloc(&pen, notes->past.of_class, &at[1])
                                            : put_free(&pen, at[1].ticks))))
            break;
        *out++ = mark->token;
        put_time(&pen, passed);
        pen.ticks = at->ticks;
    }
    pen_give(&pen, notes);
    *tokens = out;
    return (size_t)(at - records);
}

uint8_t *kymo__notes_end(const struct kymo_notes *notes, uint8_t *out)
{
    *out++ = notes->past.shift;
    out = kymo__varint_put(out, notes->first_ticks);
    for (int i = 0; i < KYMO__NOTE_COLUMNS; i++)
        out = kymo__varint_put(out, (uint64_t)(notes->end[i] - notes->from[i]));
    for (int i = 0; i < KYMO__NOTE_COLUMNS; i++) {
        size_t len = (size_t)(notes->end[i] - notes->from[i]);
        memcpy(out, notes->from[i], len);
        out += len;
    }
    return out;
}
