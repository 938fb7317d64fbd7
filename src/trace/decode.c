/* decode.c — see decode.h. Does not trust its input: every read is bounds-checked, every key is 32
   bits, every detail 8. */
#include "decode.h"

#include <assert.h>
#include <string.h>

#include "atomic.h"
#include "varint.h"

void kymo__decode_begin(struct kymo_decoder *d, const uint8_t *encoded, size_t token_bytes,
                        size_t value_bytes, size_t encoded_bytes)
{
    if (value_bytes > encoded_bytes - token_bytes)
        value_bytes = encoded_bytes - token_bytes;
    const uint8_t *end = encoded + encoded_bytes;
    kymo__unvalues_begin(&d->values, end - value_bytes, end);
    d->payload_at = d->payload_records = 0;
    d->passed = 0;
    encoded_bytes -= value_bytes;
    d->tokens = encoded;
    d->tokens_end = d->times = encoded + token_bytes;
    d->times_end = encoded + encoded_bytes;
    d->last = 0;
    d->depth = 0;
    d->invalid = false;
}

void kymo__decode_block(struct kymo_decoder *d, const struct kymo_block_header *header,
                        const uint8_t *encoded, size_t len)
{
    kymo__decode_begin(d, encoded, header->token_bytes, kymo__value_bytes(header), len);
    if (header->type != KYMO__BLOCK_NOTES)
        return;
    const uint8_t *values = kymo__unnotes_begin(&d->values.notes, d->values.at, d->values.end);
    d->values.notes.there = true;
    d->invalid = !values;
    if (values)
        d->values.at = values;
    else
        d->tokens = d->tokens_end;
}

void kymo__decode_fini(struct kymo_decoder *d)
{
    kymo__unvalues_fini(&d->values);
    kymo__buffer_fini(&d->payload);
}

/* Read the entries of notes that were left out. */
static int take_passed(struct kymo_decoder *d)
{
    struct kymo_number numbers[KYMO_FIELDS_MOST];
    unsigned count;
    int rc = 0;
    for (; rc == 0 && d->passed; d->passed--)
        rc = kymo__values_numbers(&d->values, numbers, &count);
    return rc;
}

/* Read the payload of the record just decoded; it is handed out after the record. */
static int take_payload(struct kymo_decoder *d)
{
    int rc = d->passed ? take_passed(d) : 0;
    if (rc < 0)
        return rc;
    rc = kymo__values_get(&d->values, &d->payload, &d->payload_number);
    d->payload_at = 0;
    d->payload_records = rc == 0 && d->payload_number ? kymo__chain_records(d->payload.len) : 0;
    return rc;
}

/* Read a varint at *AT; false if it is incomplete. One and two bytes take the same branch-free
   path, as in the encoder. */
static inline bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *v)
{
    const uint8_t *p = *at;
    if (kymo__likely(end - p >= 2 && (p[0] & p[1] & 0x80) == 0)) {
        unsigned two = p[0] >> 7;
        *v = (p[0] & 0x7fu) | (p[1] & -two) << 7;
        *at = p + 1 + two;
        return true;
    }
    p = kymo__varint_get(p, end, v);
    if (!p)
        return false;
    *at = p;
    return true;
}

/* Read the value of TOKEN, continuing at *AT. */
static bool take_value(const uint8_t **at, const uint8_t *end, uint64_t token, uint64_t *bits)
{
    if ((token & 7) == KYMO__T_DOUBLE) {
        double number = (double)kymo__unzigzag(token >> 3);
        memcpy(bits, &number, sizeof(number));
        return true;
    }
    return token == KYMO__T_VALUE && take_varint(at, end, bits);
}

/* Return the word of TOKEN, which has a time and is not a plain enter or leave; 0 if it is
   invalid. */
static uint64_t take_rare(struct kymo_decoder *d, uint64_t token)
{
    uint64_t head = token >> 3, detail = 0, key;
    if (head > UINT32_MAX)
        return 0;
    switch (token & 7) {
    case KYMO__T_ENTER_DETAIL:
        if (!take_varint(&d->tokens, d->tokens_end, &detail) || detail > 0xff)
            return 0;
        /* fall through */
    case KYMO__T_ENTER:
        if (d->depth < KYMO__ENCODE_DEPTH)
            d->open[d->depth] = (uint32_t)head;
        d->depth++;
        return kymo_word(KYMO_ENTER, (unsigned)detail, (uint32_t)head);
    case KYMO__T_LEAVE:
        if (!d->depth || d->depth > KYMO__ENCODE_DEPTH || head > 0xff)
            return 0;
        return kymo_word(KYMO_LEAVE, (unsigned)head, d->open[--d->depth]);
    case KYMO__T_LEAVE_KEY:
        if (!take_varint(&d->tokens, d->tokens_end, &detail) || detail > 0xff)
            return 0;
        if (d->depth > KYMO__ENCODE_DEPTH)
            d->depth--;
        return kymo_word(KYMO_LEAVE, (unsigned)detail, (uint32_t)head);
    case KYMO__T_OTHER:
        if (!head || head > 0xff || kymo__kind_follows((unsigned)head) ||
            !take_varint(&d->tokens, d->tokens_end, &detail) || detail > 0xff ||
            !take_varint(&d->tokens, d->tokens_end, &key) || key > UINT32_MAX)
            return 0;
        return kymo_word((unsigned)head, (unsigned)detail, (uint32_t)key);
    }
    return 0;
}

/* Decode a note of FORM in the columns of notes, or the definition of FORM. Returns how many records
   that are, or KYMO_EBLOCK. */
static int take_note(struct kymo_decoder *d, uint64_t form, struct kymo_record *record)
{
    struct kymo_unnotes *notes = &d->values.notes;
    if (form > notes->past.forms)
        return kymo__unnotes_form(notes, form, &d->tokens, d->tokens_end) ? 0 : KYMO_EBLOCK;
    record->word = kymo_word(KYMO__NOTE, 0, notes->past.form[form].key);
    d->values.form = (uint8_t)form;
    return kymo__unnotes_ticks(notes, &record->ticks) ? 1 : KYMO_EBLOCK;
}

int kymo__decode(struct kymo_decoder *d, struct kymo_record *records, size_t most)
{
    size_t count = 0;
    /* Local copies that the compiler can keep in registers. */
    const uint8_t *tokens = d->tokens, *times = d->times;
    const uint8_t *const tokens_end = d->tokens_end, *const times_end = d->times_end;
    uint64_t last = d->last, recorded = last, depth = d->depth;
    for (;;) {
        while (kymo__unlikely(d->payload_at < d->payload_records) && count < most)
            records[count++] = kymo__chain_record(d->payload_number, d->payload.bytes,
                                                  d->payload.len, d->payload_at++);
        if (count >= most || tokens >= tokens_end)
            break;
        uint64_t token, delta, word;
        if (!take_varint(&tokens, tokens_end, &token))
            return KYMO_EBLOCK;
        unsigned code = token & 7;
        if (kymo__unlikely(code == KYMO__T_VALUE || code == KYMO__T_DOUBLE)) {
            if (!take_value(&tokens, tokens_end, token, &records[count].ticks))
                return KYMO_EBLOCK;
            records[count++].word = kymo_word(KYMO__VALUE, 0, 0);
            continue;
        }
        if (kymo__unlikely(code == KYMO__T_NOTE && token >> 3 && d->values.notes.there)) {
            d->tokens = tokens;
            int rc = take_note(d, token >> 3, &records[count]);
            if (rc < 0)
                return rc;
            tokens = d->tokens;
            if (rc == 0)
                continue;
            last = recorded = records[count++].ticks;
            if (d->apart)
                break;
            rc = d->bare ? 0 : take_payload(d);
            if (rc < 0)
                return rc;
            continue;
        }
        if (!take_varint(&times, times_end, &delta))
            return KYMO_EBLOCK;
        if (kymo__unlikely(code == KYMO__T_BACK)) {
            last -= delta;
            continue;
        }
        /* Plain enters and leaves without branches; see the encoder. */
        uint64_t leave = token == KYMO__T_LEAVE;
        uint64_t slot = depth - leave;
        if (kymo__likely(code == leave && token >> 3 <= UINT32_MAX && slot < KYMO__ENCODE_DEPTH)) {
            uint32_t key = d->open[slot];
            key = leave ? key : (uint32_t)(token >> 3);
            d->open[slot] = key;
            depth = slot + !leave;
            word = (KYMO_ENTER + leave) << 56 | key;
        } else {
            d->tokens = tokens;
            d->depth = depth;
            word = take_rare(d, token);
            tokens = d->tokens;
            depth = d->depth;
            /* A payload has the time of the event before it. */
            if (!word || (kymo__word_kind(word) == KYMO_PAYLOAD && last + delta != recorded))
                return KYMO_EBLOCK;
        }
        records[count].ticks = recorded = last += delta;
        records[count++].word = word;
        if (kymo__unlikely(kymo__kind_has_payload(kymo__word_kind(word)))) {
            d->values.form = 0;
            if (d->apart)
                break;
            bool pass = d->bare && kymo__word_kind(word) == KYMO__NOTE;
            int rc = pass ? 0 : take_payload(d);
            if (rc < 0)
                return rc;
            d->passed += pass;
        }
    }
    d->tokens = tokens;
    d->times = times;
    d->last = last;
    d->depth = depth;
    return count || !d->invalid ? (int)count : KYMO_EBLOCK;
}

/* Decode the next record if it is a note in the columns of notes, and its form is known. */
static inline bool decode_column_note(struct kymo_decoder *d, struct kymo_record *record)
{
    struct kymo_unnotes *notes = &d->values.notes;
    if (!notes->there || d->tokens == d->tokens_end || (*d->tokens & 0x87) != KYMO__T_NOTE)
        return false;
    const unsigned form = *d->tokens >> 3;
    if (!form || form > notes->past.forms || !kymo__unnotes_ticks(notes, &record->ticks))
        return false;
    d->tokens++;
    d->last = record->ticks;
    d->values.form = (uint8_t)form;
    record->word = kymo_word(KYMO__NOTE, 0, notes->past.form[form].key);
    return true;
}

/* Decode the next record if it is a NOTE in its usual form, which is most of a block of payloads. */
static inline bool decode_note(struct kymo_decoder *d, struct kymo_record *record)
{
    enum { TOKEN = KYMO__NOTE << 3 | KYMO__T_OTHER };
    static_assert(TOKEN >> 7 == 1, "the token takes two bytes");
    const uint8_t *tokens = d->tokens, *times = d->times;
    uint32_t head; /* both machines store the low byte first */
    if (d->tokens_end - tokens < 4)
        return false;
    memcpy(&head, tokens, sizeof(head));
    if ((head & 0xffffff) != (0x80 | (TOKEN & 0x7f) | 1 << 8)) /* the token, and detail 0 */
        return false;
    uint64_t key = head >> 24, delta;
    tokens += 4;
    if (key >= 0x80) {
        tokens--;
        if (!take_varint(&tokens, d->tokens_end, &key) || key > UINT32_MAX)
            return false;
    }
    if (!take_varint(&times, d->times_end, &delta))
        return false;
    d->tokens = tokens;
    d->times = times;
    record->ticks = d->last += delta;
    record->word = kymo_word(KYMO__NOTE, 0, (uint32_t)key);
    d->values.form = 0;
    return true;
}

int kymo__decode_apart(struct kymo_decoder *d, struct kymo_record *records, size_t most)
{
    if (kymo__likely(decode_column_note(d, records) || decode_note(d, records)))
        return 1;
    d->apart = true;
    int rc = kymo__decode(d, records, most);
    d->apart = false;
    return rc;
}

int kymo__decode_bare(struct kymo_decoder *d, struct kymo_record *records, size_t most)
{
    size_t count = 0;
    for (; count < most; count++) {
        if (decode_column_note(d, &records[count]))
            continue;
        if (!decode_note(d, &records[count]))
            break;
        d->passed++;
    }
    if (count)
        return (int)count;
    d->bare = true;
    int rc = kymo__decode(d, records, most);
    d->bare = false;
    return rc;
}
