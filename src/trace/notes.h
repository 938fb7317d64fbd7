/* notes.h — the notes that most of a capture of memory consists of, with a column for each field.

   In a block of type NOTES, a note whose fields are an address (layout FREE), or a size, an address,
   a stack and a name (layout ALLOC), can be a token of one byte: KYMO__T_NOTE with the number of a
   form, from 1. The first token with that number is no note but defines the form: its key, the number
   of its schema and its layout follow, each a varint. The time and the fields are varints in columns
   of their own, which are at the beginning of the third column of the block:

       shift         of the times, below 16
       first tick    that of the first such note
       five lengths  of the columns, in bytes
       TIMES         ticks since the previous such note, without the low SHIFT bits, which are 0
       SIZES         the size
       ADDRESSES     of ALLOC: difference to the last one with a size of the same class; if there is
                     none, to the last address of either layout
       SITES         of ALLOC: difference of the stack to the last one; then the name
       FREED         of FREE: difference to the last address of either layout

   The entries of values.h, for all other payloads, follow them. Differences are written as there.
   What is last is 0 at first. An allocator serves sizes of a class from the same place, and soon hands
   out again what was freed last. */
#ifndef KYMO_NOTES_H
#define KYMO_NOTES_H

#include <stdbool.h>

#include "format.h"
#include "varint.h"

enum kymo_note_column {
    KYMO__NOTE_TIMES,
    KYMO__NOTE_SIZES,
    KYMO__NOTE_ADDRESSES,
    KYMO__NOTE_SITES,
    KYMO__NOTE_FREED,
    KYMO__NOTE_COLUMNS
};

enum {
    KYMO__NOTE_FORMS = 15,    /* that many fit into a token of one byte */
    KYMO__NOTE_SHIFTS = 16,   /* a shift is smaller */
    KYMO__NOTE_CLASSES = 256, /* of sizes */
    KYMO__NOTE_SCHEMAS = 32,  /* only schemas with a smaller number get a form */
    KYMO__NOTE_FIELDS = 4,    /* at most */
    KYMO__NOTE_FIXED = 44, /* above these bits, the words of all payloads of a form are the same */
};

struct kymo_note_form {
    uint32_t key;
    uint16_t number; /* of the schema */
    uint8_t layout;  /* KYMO__SHAPE_FREE or KYMO__SHAPE_ALLOC */
};

/* What both sides remember of the notes before in the block. */
struct kymo_note_past {
    uint64_t ticks, address, stack;
    uint64_t of_class[KYMO__NOTE_CLASSES]; /* the last address; 0 for none */
    struct kymo_note_form form[KYMO__NOTE_FORMS + 1];
    uint8_t forms; /* from 1 */
    uint8_t shift;
};

static inline unsigned kymo__note_class(uint64_t size)
{
    return (unsigned)((size + 15) >> 4) % KYMO__NOTE_CLASSES;
}

/* What the address of an ALLOC is compared with: the last one of its class, or the last one. */
static inline uint64_t kymo__note_near(uint64_t of_class, uint64_t last)
{
    return of_class ? of_class : last;
}

/* ---- writing ---- */

struct kymo_plans;

struct kymo_notes {
    uint8_t *from[KYMO__NOTE_COLUMNS], *end[KYMO__NOTE_COLUMNS];
    struct kymo_note_past past;
    uint64_t first_ticks;
    struct kymo_note_mark {
        uint64_t note, payload; /* the two words that notes of its form have, of the second the bits
                                   from KYMO__NOTE_FIXED on */
        uint8_t token;          /* 0: it has no form */
    } marks[KYMO__NOTE_SCHEMAS];
};

/* Use ROOM, of KYMO__NOTES_BYTES, for the columns. A note is two records and takes at most 33 bytes;
   writing a number may touch eight bytes at the end of its column. */
#define KYMO__NOTES_BYTES ((size_t)KYMO__BLOCK_RECORDS_MAX / 2 * 33 + KYMO__NOTE_COLUMNS * 8)
void kymo__notes_init(struct kymo_notes *notes, uint8_t *room);
void kymo__notes_begin(struct kymo_notes *notes); /* a new block */

/* Write the notes among the COUNT records at RECORDS, up to the first that has neither layout or
   does not fit: their tokens at *TOKENS, which is set to the byte after them. Returns how many records
   they are; notes->past.ticks is the tick of the last. */
size_t kymo__notes_put(struct kymo_notes *notes, const struct kymo_plans *plans,
                       const struct kymo_record *records, size_t count, uint8_t **tokens);

/* Copy the columns, and what is before them, to OUT, and return the byte after them. */
uint8_t *kymo__notes_end(const struct kymo_notes *notes, uint8_t *out);

/* ---- reading ---- */

struct kymo_unnotes {
    bool there; /* the block has such columns */
    const uint8_t *at[KYMO__NOTE_COLUMNS], *end[KYMO__NOTE_COLUMNS];
    struct kymo_note_past past;
};

/* Find the columns of a block between AT and END. Returns the byte after them, or NULL if they are
   invalid. */
const uint8_t *kymo__unnotes_begin(struct kymo_unnotes *notes, const uint8_t *at,
                                   const uint8_t *end);

/* Read the definition of a form that follows its token, at *AT. False if it is invalid. */
bool kymo__unnotes_form(struct kymo_unnotes *notes, uint64_t form, const uint8_t **at,
                        const uint8_t *end);

/* Read the tick of the next note. False if there is none. */
static inline bool kymo__unnotes_ticks(struct kymo_unnotes *notes, uint64_t *ticks)
{
    const uint8_t **at = &notes->at[KYMO__NOTE_TIMES], *next;
    uint64_t passed = 0;
    next = kymo__varint_get_wide(*at, notes->end[KYMO__NOTE_TIMES], &passed);
    if (!next)
        return false;
    *at = next;
    *ticks = notes->past.ticks += passed << notes->past.shift;
    return true;
}

/* Read the fields of the next note, which has FORM, into NUMBERS, which has room for
   KYMO__NOTE_FIELDS. Returns how many, or 0 if they are incomplete. */
unsigned kymo__unnotes_numbers(struct kymo_unnotes *notes, unsigned form, uint64_t *numbers);

#endif
