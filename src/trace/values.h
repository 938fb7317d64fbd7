/* values.h — payloads: the bytes of an event's fields, in chunks and in the column of values.

   A payload is its fields in order: unsigned numbers as varints, signed ones as zigzag varints,
   doubles as their 8 bytes, texts and bytes as a length and the bytes, a list as a count and its
   values. A schema has a number; its plan is the list of its field types.

   In a chunk a payload follows its event as records of kinds BYTES and MORE (format.h). In a
   block it is an entry of the third column, where a number that is an address or id is stored as
   the difference to the previous one of the same field. The first entry of a schema in a block
   includes its plan, so that a block can be decoded alone. Events of memory have columns of their
   own (notes.h). */
#ifndef KYMO_VALUES_H
#define KYMO_VALUES_H

#include <kymo/opquick.h>
#include <kymo/payload.h>

#include "buffer.h"
#include "format.h"
#include "notes.h"

/* The field types of a schema. */
struct kymo_plan {
    uint8_t count;
    uint8_t type[KYMO_FIELDS_MOST];
};

/* All plans of a session, by schema number. To add one, store it, then the count with release. */
struct kymo_plans {
    uint32_t count; /* numbers given, from 1 */
    struct kymo_plan plan[KYMO_SCHEMAS_MOST + 1];
};

/* Is TYPE a valid field type? */
bool kymo__field_valid(unsigned type);

/* Return the byte after a field of TYPE that starts at AT, or NULL if it does not end by END. */
const uint8_t *kymo__field_end(unsigned type, const uint8_t *at, const uint8_t *end);

/* Do the LEN bytes hold exactly the fields of PLAN? */
bool kymo__plan_fits(const struct kymo_plan *plan, const uint8_t *bytes, size_t len);

/* ---- the column of values ---- */

struct kymo_values; /* state of a block's encoder */
struct kymo_values *kymo__values_new(void);
void kymo__values_free(struct kymo_values *values);
void kymo__values_begin(struct kymo_values *values); /* a new block */

/* Write the entry of a payload of schema NUMBER at OUT and return the byte after it. It takes at
   most 2 * LEN + 8 bytes, but KYMO__VALUES_SLACK more may be touched. KYMO__VALUES_PADDING bytes
   after the LEN can be read. */
#define KYMO__VALUES_SLACK 1024u
#define KYMO__VALUES_PADDING 8u
uint8_t *kymo__values_put(struct kymo_values *values, const struct kymo_plans *plans,
                          unsigned number, const uint8_t *bytes, size_t len, uint8_t *out);

/* Where the fields of a payload are in it. */
struct kymo_places {
    const struct kymo_plan *plan; /* NULL: not known */
    uint16_t at[KYMO_FIELDS_MOST];
};
static_assert(KYMO_PAYLOAD_MOST <= UINT16_MAX, "a place has 16 bits");

/* Reads a column of values. All zero means not started. */
struct kymo_unvalues {
    const uint8_t *at, *end;
    struct kymo_unplan {
        uint32_t number;
        bool numbers;  /* every field is a number, and no list */
        uint8_t shape; /* one of those that values.c reads quickly, or 0 */
        struct kymo_plan plan;
        uint64_t last[KYMO_FIELDS_MOST];
    } * plans; /* the block's plans, in order of appearance */
    size_t count, capacity;
    uint8_t
        quick[32]; /* position in `plans`, plus 1, of schemas whose entries begin with one byte */
    struct kymo_unnotes notes; /* columns of notes, if there are any */
    uint8_t form;              /* of the event whose payload is next, if it is in those; else 0 */
    struct kymo_places places; /* of the payload that kymo__values_get read last */
};
void kymo__unvalues_begin(struct kymo_unvalues *values, const uint8_t *at, const uint8_t *end);
void kymo__unvalues_fini(struct kymo_unvalues *values);

/* Read the next entry into PAYLOAD, replacing its content, and the number of its schema, 0 if the
   entry has no payload. Returns 0, -ENOMEM or KYMO_EBLOCK. */
int kymo__values_get(struct kymo_unvalues *values, struct kymo_buffer *payload, unsigned *number);

/* A field, without assembling its payload. */
struct kymo_number {
    uint64_t value;       /* a number, the bits of a double, the length of a text, a list's count */
    const uint8_t *bytes; /* of a text or list; lent by the column or payload. NULL for others */
};

/* Read the next entry like kymo__values_get, but into NUMBERS, which has room for KYMO_FIELDS_MOST;
   *COUNT is how many fields it has. */
int kymo__values_numbers(struct kymo_unvalues *values, struct kymo_number *numbers,
                         unsigned *count);

/* The quick form, for most entries: if the next one has only numbers, none of them signed or in a
   list, read them into NUMBERS, which has room for KYMO_FIELDS_MOST, and return how many. Otherwise
   return 0; kymo__values_numbers then reads it. */
unsigned kymo__values_plain(struct kymo_unvalues *values, uint64_t *numbers);

/* Like kymo__values_numbers for the LEN bytes of a payload with fields as in PLAN. False if they do not fit. */
bool kymo__plan_numbers(const struct kymo_plan *plan, const uint8_t *bytes, size_t len,
                        struct kymo_number *numbers);

/* ---- payloads in chunks ---- */

enum { KYMO__CHAIN_FIRST = 13, KYMO__CHAIN_MORE = 15 }; /* bytes of a payload in a record */

static inline uint64_t kymo__chain_word(unsigned number, size_t used)
{
    return (uint64_t)KYMO__BYTES << 56 | (uint64_t)number << 44 | (uint64_t)used << 40;
}

/* Most payloads of a capture of memory or of operators are one record with the numbers as they are:
   making varints takes a program longer than all else that it does to record them. Such a record has a
   form in the two bits above the number of its schema:
   - ONE: `ticks` is a number;
   - FOUR: from the highest bit of `ticks` on numbers of 16 and 48 bits, from bit 39 of `word` on
     numbers of 24 and 16;
   - SEVEN: in the same way numbers of 36 and 28 bits, and of 4, 8, 8, 18 and 2; then as many empty
     lists as bits 40 to 43 of `word` say. If that is KYMO__CHAIN_VALUES, there are none, and the
     values of an operator follow: oprecords.h. kymo/opquick.h makes such records. */
#define KYMO__CHAIN_ONE (UINT64_C(1) << 54)
#define KYMO__CHAIN_FOUR (UINT64_C(2) << 54)
#define KYMO__CHAIN_SEVEN (UINT64_C(3) << 54)
#define KYMO__CHAIN_FORM (UINT64_C(3) << 54) /* all bits of it; 0: the bytes of varints */
static_assert(KYMO_SCHEMAS_MOST < 1 << 10, "the number of a schema has bits 44 to 53");

enum { KYMO__CHAIN_VALUES = 14 };

static inline bool kymo__chain_has_numbers(const struct kymo_record *record)
{
    return record->word & KYMO__CHAIN_FORM;
}

static inline bool kymo__chain_fits_four(const uint64_t numbers[4])
{
    return !(numbers[0] >> 16 | numbers[1] >> 48 | numbers[2] >> 24 | numbers[3] >> 16);
}

static inline void kymo__chain_store_one(struct kymo_record *at, unsigned schema, uint64_t number)
{
    kymo_lane_store(at, number, kymo__chain_word(schema, 0) | KYMO__CHAIN_ONE);
}

static inline void kymo__chain_store_four(struct kymo_record *at, unsigned schema,
                                          const uint64_t numbers[4])
{
    kymo_lane_store(at, numbers[0] << 48 | numbers[1],
                    kymo__chain_word(schema, 0) | KYMO__CHAIN_FOUR | numbers[2] << 16 | numbers[3]);
}

/* The numbers of a record with FOUR of them. */
static inline void kymo__chain_four(const struct kymo_record *record, uint64_t numbers[4])
{
    numbers[0] = record->ticks >> 48;
    numbers[1] = record->ticks & ((UINT64_C(1) << 48) - 1);
    numbers[2] = record->word >> 16 & 0xffffff;
    numbers[3] = record->word & 0xffff;
}

/* The word of a record with seven numbers, without them; LISTS empty lists follow, or
   KYMO__CHAIN_VALUES. */
static inline uint64_t kymo__chain_word_seven(unsigned schema, unsigned lists)
{
    return kymo__chain_word(schema, lists) | KYMO__CHAIN_SEVEN;
}

/* The numbers of a record with SEVEN of them, and how many empty lists follow. */
static inline unsigned kymo__chain_seven(const struct kymo_record *record, uint64_t numbers[7])
{
    numbers[0] = record->ticks >> 28;
    numbers[1] = record->ticks & 0xfffffff;
    numbers[2] = record->word >> 36 & 0xf;
    numbers[3] = record->word >> 28 & 0xff;
    numbers[4] = record->word >> 20 & 0xff;
    numbers[5] = record->word >> 2 & 0x3ffff;
    numbers[6] = record->word & 0x3;
    return (unsigned)(record->word >> 40) & 0xf;
}

/* How many records a payload of LEN bytes takes. */
static inline unsigned kymo__chain_records(size_t len)
{
    return len <= KYMO__CHAIN_FIRST
               ? 1
               : 1 + (unsigned)((len - KYMO__CHAIN_FIRST + KYMO__CHAIN_MORE - 1) /
                                KYMO__CHAIN_MORE);
}

/* Record INDEX of a payload of LEN bytes of schema NUMBER. */
struct kymo_record kymo__chain_record(unsigned number, const uint8_t *bytes, size_t len,
                                      unsigned index);

/* Store a payload of LEN bytes of schema NUMBER from AT on; returns the record after it. BYTES has
   room for 16 bytes more, which this changes. */
static inline struct kymo_record *kymo__chain_store(struct kymo_record *at, unsigned number,
                                                    uint8_t *bytes, size_t len)
{
    enum { PIECE = sizeof(struct kymo_record) };
    const uint64_t first = (UINT64_C(1) << 40) - 1, more = (UINT64_C(1) << 56) - 1;
    unsigned all = kymo__chain_records(len);
    size_t used = all == 1 ? len : len - KYMO__CHAIN_FIRST - (size_t)(all - 2) * KYMO__CHAIN_MORE;
    uint64_t ticks, word;
    memset(bytes + len, 0, PIECE);
    memcpy(&ticks, bytes, sizeof(ticks));
    memcpy(&word, bytes + sizeof(ticks), sizeof(word));
    kymo_lane_store(at++, ticks, (word & first) | kymo__chain_word(number, used));
    for (size_t from = KYMO__CHAIN_FIRST; from < len; from += KYMO__CHAIN_MORE) {
        memcpy(&ticks, bytes + from, sizeof(ticks));
        memcpy(&word, bytes + from + sizeof(ticks), sizeof(word));
        kymo_lane_store(at++, ticks, (word & more) | (uint64_t)KYMO__MORE << 56);
    }
    return at;
}

/* Append the bytes of RECORD, of kind BYTES or MORE, to PAYLOAD; BYTES starts a new one. Keep USED
   from record to record: after the last, kymo__chain_end cuts PAYLOAD to its length. */
int kymo__chain_add(struct kymo_buffer *payload, const struct kymo_record *record, unsigned *used);
void kymo__chain_end(struct kymo_buffer *payload, unsigned used);

/* The schema of the payload whose first record is RECORD. */
static inline unsigned kymo__chain_number(const struct kymo_record *record)
{
    return (unsigned)(record->word >> 44) & 0x3ff;
}

#endif
