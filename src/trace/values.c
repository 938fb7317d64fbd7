/* values.c — see values.h. */
#include "values.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "atomic.h"
#include "entries.h"
#include "oprecords.h"
#include "varint.h"

bool kymo__field_valid(unsigned type)
{
    unsigned base = type & KYMO__FIELD_BASE, list = type & ~(unsigned)KYMO__FIELD_BASE;
    return base >= KYMO_FIELD_UINT && base <= KYMO_FIELD_NAME &&
           (list == 0 || list == KYMO_FIELD_LIST || list == KYMO_FIELD_LISTS);
}

static const uint8_t *value_end(unsigned base, const uint8_t *at, const uint8_t *end)
{
    uint64_t v;
    if (base == KYMO_FIELD_FLOAT)
        return end - at >= 8 ? at + 8 : NULL;
    at = kymo__varint_get(at, end, &v);
    if (at && (base == KYMO_FIELD_TEXT || base == KYMO_FIELD_BYTES))
        return v <= (size_t)(end - at) ? at + v : NULL;
    return at;
}

/* Read the count of a list, each of whose values has at least one byte. */
static inline const uint8_t *count_get(const uint8_t *at, const uint8_t *end, uint64_t *count)
{
    if (at < end && *at < 0x80)
        *count = *at++;
    else
        at = kymo__varint_get(at, end, count);
    return at && *count <= (size_t)(end - at) ? at : NULL;
}

static const uint8_t *list_end(unsigned base, const uint8_t *at, const uint8_t *end)
{
    uint64_t count = 0;
    at = count_get(at, end, &count);
    if (!at || !count)
        return at;
    if (base == KYMO_FIELD_FLOAT)
        return count <= (size_t)(end - at) / 8 ? at + 8 * count : NULL;
    if (base == KYMO_FIELD_TEXT || base == KYMO_FIELD_BYTES) {
        while (at && count--)
            at = value_end(base, at, end);
        return at;
    }
    return kymo__varints_skip(at, end, count);
}

const uint8_t *kymo__field_end(unsigned type, const uint8_t *at, const uint8_t *end)
{
    uint64_t count = 0;
    if (!(type & ~(unsigned)KYMO__FIELD_BASE))
        return value_end(type, at, end);
    if (!(type & KYMO_FIELD_LISTS))
        return list_end(type & KYMO__FIELD_BASE, at, end);
    at = count_get(at, end, &count);
    while (at && count--)
        at = list_end(type & KYMO__FIELD_BASE, at, end);
    return at;
}

bool kymo__plan_fits(const struct kymo_plan *plan, const uint8_t *bytes, size_t len)
{
    const uint8_t *at = bytes, *end = bytes + len;
    for (unsigned i = 0; at && i < plan->count; i++)
        at = kymo__field_end_soon(plan->type[i], at, end);
    return at == end;
}

/* ---- the column of values ---- */

void kymo__unvalues_begin(struct kymo_unvalues *values, const uint8_t *at, const uint8_t *end)
{
    values->at = at;
    values->end = end;
    values->count = 0;
    values->form = 0;
    values->notes.there = false;
    memset(values->quick, 0, sizeof(values->quick));
}

void kymo__unvalues_fini(struct kymo_unvalues *values)
{
    kymo__free(values->plans);
    *values = (struct kymo_unvalues){0};
}

static struct kymo_unplan *find_plan(struct kymo_unvalues *values, uint64_t number)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->plans[i].number == number)
            return &values->plans[i];
    return NULL;
}

/* Read the plan of schema NUMBER from the column. */
static int take_plan(struct kymo_unvalues *values, uint64_t number)
{
    if (!number || number > KYMO_SCHEMAS_MOST || find_plan(values, number) ||
        values->at >= values->end)
        return KYMO_EBLOCK;
    int rc =
        kymo__array_grow(&values->plans, &values->capacity, values->count, sizeof(*values->plans));
    if (rc < 0)
        return rc;
    struct kymo_unplan *plan = &values->plans[values->count];
    *plan = (struct kymo_unplan){
        .number = (uint32_t)number, .numbers = true, .plan.count = *values->at++};
    if (plan->plan.count > KYMO_FIELDS_MOST || values->end - values->at < plan->plan.count)
        return KYMO_EBLOCK;
    for (unsigned i = 0; i < plan->plan.count; i++) {
        plan->plan.type[i] = *values->at++;
        if (!kymo__field_valid(plan->plan.type[i]))
            return KYMO_EBLOCK;
        plan->numbers &=
            kymo__field_number(plan->plan.type[i]) && plan->plan.type[i] != KYMO_FIELD_INT;
    }
    plan->shape = kymo__plan_shape(&plan->plan);
    values->count++;
    if (number < sizeof(values->quick) && values->count <= UINT8_MAX)
        values->quick[number] = (uint8_t)values->count;
    return 0;
}

/* Append the LEN bytes at FROM to PAYLOAD. */
static int add_bytes(struct kymo_buffer *payload, const uint8_t *from, size_t len)
{
    if (payload->len + len > KYMO_PAYLOAD_MOST)
        return KYMO_EBLOCK;
    return len ? kymo__buffer_add(payload, from, len) : 0;
}

/* Read field I of an entry, which is stored as a difference, into PAYLOAD. */
static int take_near(struct kymo_unvalues *values, struct kymo_unplan *plan, unsigned i, bool raw,
                     struct kymo_buffer *payload)
{
    uint64_t v = 0;
    const uint8_t *from = values->at, *next = kymo__varint_get_wide(from, values->end, &v);
    if (!next || payload->len + (size_t)(next - from) > KYMO_PAYLOAD_MOST)
        return KYMO_EBLOCK;
    values->at = next;
    plan->last[i] = raw ? v : plan->last[i] + kymo__value_unfold(plan->plan.type[i], v);
    return kymo__buffer_add_varint(payload, plan->last[i]);
}

/* Find the plan of the next entry and store its flags in *HEAD. Returns 1, 0 if the entry has no
   payload, or a negative code. */
static inline int next_entry(struct kymo_unvalues *values, struct kymo_unplan **plan,
                             uint64_t *head)
{
    if (values->at == values->end)
        return 0; /* written without payloads */
    const uint8_t *at = kymo__varint_get_wide(values->at, values->end, head);
    if (!at)
        return KYMO_EBLOCK;
    values->at = at;
    if (!*head)
        return 0;
    if (*head & KYMO__ENTRY_PLAN) {
        int rc = take_plan(values, *head >> 2);
        if (rc < 0)
            return rc;
    }
    *plan = find_plan(values, *head >> 2);
    return *plan ? 1 : KYMO_EBLOCK;
}

/* kymo__values_get for an event in the columns of notes. */
static int get_note(struct kymo_unvalues *values, struct kymo_buffer *payload, unsigned *number)
{
    uint64_t numbers[KYMO__NOTE_FIELDS];
    unsigned count = kymo__unnotes_numbers(&values->notes, values->form, numbers);
    int rc = count ? 0 : KYMO_EBLOCK;
    for (unsigned i = 0; rc == 0 && i < count; i++)
        rc = kymo__buffer_add_varint(payload, numbers[i]);
    if (rc == 0)
        *number = values->notes.past.form[values->form].number;
    return rc;
}

int kymo__values_get(struct kymo_unvalues *values, struct kymo_buffer *payload, unsigned *number)
{
    struct kymo_unplan *plan;
    uint64_t head;
    payload->len = 0;
    *number = 0;
    values->places.plan = NULL;
    if (values->form)
        return get_note(values, payload, number);
    int there = next_entry(values, &plan, &head);
    if (there <= 0)
        return there;
    const uint8_t *from = values->at; /* what was read and is not in the payload yet */
    int rc = 0;
    values->places.plan = &plan->plan;
    for (unsigned i = 0; rc == 0 && i < plan->plan.count; i++) {
        values->places.at[i] = (uint16_t)(payload->len + (size_t)(values->at - from));
        if (!kymo__field_near(plan->plan.type[i])) {
            const uint8_t *next = kymo__field_end_soon(plan->plan.type[i], values->at, values->end);
            if (!next)
                return KYMO_EBLOCK;
            values->at = next;
            continue;
        }
        rc = add_bytes(payload, from, (size_t)(values->at - from));
        if (rc == 0)
            rc = take_near(values, plan, i, head & KYMO__ENTRY_RAW, payload);
        from = values->at;
    }
    if (rc == 0)
        rc = add_bytes(payload, from, (size_t)(values->at - from));
    if (rc < 0)
        return rc;
    *number = plan->number;
    return 0;
}

/* Read a field of TYPE at AT. Returns the byte after it, or NULL. */
static inline const uint8_t *number_at(unsigned type, const uint8_t *at, const uint8_t *end,
                                       struct kymo_number *n)
{
    if (kymo__likely(type == KYMO_FIELD_UINT ||
                     (type >= KYMO_FIELD_ADDRESS && type <= KYMO__FIELD_BASE))) {
        n->bytes = NULL;
        return kymo__varint_get_wide(at, end, &n->value);
    }
    const uint8_t *next = kymo__field_end(type, at, end);
    if (!next)
        return NULL;
    if (type == KYMO_FIELD_FLOAT) {
        n->bytes = NULL;
        memcpy(&n->value, at, sizeof(n->value));
        return next;
    }
    n->bytes = kymo__varint_get(at, end, &n->value);
    if (type == KYMO_FIELD_INT) {
        n->value = (uint64_t)kymo__unzigzag(n->value);
        n->bytes = NULL;
    }
    return next;
}

/* Read the fields of an entry that has only numbers. Returns the byte after it, or NULL. */
static inline const uint8_t *take_numbers(struct kymo_unplan *plan, const uint8_t *at,
                                          const uint8_t *end, struct kymo_number *numbers)
{
    for (unsigned i = 0; at && i < plan->plan.count; i++) {
        unsigned type = plan->plan.type[i];
        uint64_t v = 0;
        at = kymo__varint_get_wide(at, end, &v);
        if (kymo__field_near(type))
            v = plan->last[i] += kymo__value_unfold(type, v);
        numbers[i].value = v;
        numbers[i].bytes = NULL;
    }
    return at;
}

/* kymo__values_numbers for an event in the columns of notes. */
static int note_numbers(struct kymo_unvalues *values, struct kymo_number *numbers, unsigned *count)
{
    uint64_t plain[KYMO__NOTE_FIELDS];
    *count = kymo__unnotes_numbers(&values->notes, values->form, plain);
    for (unsigned i = 0; i < *count; i++)
        numbers[i] = (struct kymo_number){.value = plain[i]};
    return *count ? 0 : KYMO_EBLOCK;
}

int kymo__values_numbers(struct kymo_unvalues *values, struct kymo_number *numbers, unsigned *count)
{
    struct kymo_unplan *plan;
    uint64_t head;
    *count = 0;
    if (values->form)
        return note_numbers(values, numbers, count);
    int there = next_entry(values, &plan, &head);
    if (there <= 0)
        return there;
    const uint8_t *at = values->at;
    *count = plan->plan.count;
    if (kymo__likely(plan->numbers && !(head & KYMO__ENTRY_RAW))) {
        at = take_numbers(plan, at, values->end, numbers);
        values->at = at ? at : values->at;
        return at ? 0 : KYMO_EBLOCK;
    }
    for (unsigned i = 0; i < plan->plan.count; i++) {
        unsigned type = plan->plan.type[i];
        at = number_at(type, at, values->end, &numbers[i]);
        if (!at)
            return KYMO_EBLOCK;
        if (kymo__field_near(type)) {
            if (head & KYMO__ENTRY_RAW)
                plan->last[i] = numbers[i].value;
            else
                numbers[i].value = plan->last[i] += kymo__value_unfold(type, numbers[i].value);
        }
    }
    values->at = at;
    return 0;
}

/* Like kymo__varint_get_wide, where AT is not the end, or is NULL. */
static inline const uint8_t *plain_at(const uint8_t *at, const uint8_t *end, uint64_t *v)
{
    if (kymo__unlikely(!at))
        return NULL;
    *v = *at;
    return *v < 0x80 ? at + 1 : kymo__varint_get_wide(at, end, v);
}

static inline const uint8_t *take_plain(struct kymo_unplan *plan, const uint8_t *at,
                                        const uint8_t *end, uint64_t *numbers)
{
    uint64_t v[4] = {0}, *last = plan->last;
    switch (plan->shape) {
    case KYMO__SHAPE_FREE:
        at = plain_at(at, end, &v[0]);
        numbers[0] = last[0] += kymo__value_unfold(KYMO_FIELD_ADDRESS, v[0]);
        return at;
    case KYMO__SHAPE_ALLOC:
        at = plain_at(at, end, &v[0]);
        at = plain_at(at, end, &v[1]);
        at = plain_at(at, end, &v[2]);
        at = plain_at(at, end, &v[3]);
        numbers[0] = v[0];
        numbers[1] = last[1] += kymo__value_unfold(KYMO_FIELD_ADDRESS, v[1]);
        numbers[2] = last[2] += kymo__value_unfold(KYMO_FIELD_STACK, v[2]);
        numbers[3] = v[3];
        return at;
    }
    for (unsigned i = 0; at && i < plan->plan.count; i++) {
        unsigned type = plan->plan.type[i];
        at = plain_at(at, end, &numbers[i]);
        if (kymo__field_near(type))
            numbers[i] = last[i] += kymo__value_unfold(type, numbers[i]);
    }
    return at;
}

unsigned kymo__values_plain(struct kymo_unvalues *values, uint64_t *numbers)
{
    const uint8_t *at = values->at, *const end = values->end;
    if (values->form)
        return kymo__unnotes_numbers(&values->notes, values->form, numbers);
    if (at == end || *at >= 0x80 || *at & (KYMO__ENTRY_RAW | KYMO__ENTRY_PLAN) ||
        !values->quick[*at >> 2])
        return 0;
    struct kymo_unplan *plan = &values->plans[values->quick[*at++ >> 2] - 1];
    unsigned count = plan->plan.count;
    /* With that many bytes left, no number can reach the end. A count of 0 would mean that nothing was
       read. */
    if (!plan->numbers || !count || (size_t)(end - at) < (size_t)count * KYMO__VARINT_MAX)
        return 0;
    const uint8_t *after = take_plain(plan, at, end, numbers);
    if (kymo__unlikely(!after))
        return 0; /* kymo__values_numbers will find the same */
    values->at = after;
    return count;
}

bool kymo__plan_numbers(const struct kymo_plan *plan, const uint8_t *bytes, size_t len,
                        struct kymo_number *numbers)
{
    const uint8_t *at = bytes, *end = bytes + len;
    for (unsigned i = 0; at && i < plan->count; i++)
        at = number_at(plan->type[i], at, end, &numbers[i]);
    return at == end;
}

/* ---- payloads in chunks ---- */

struct kymo_record kymo__chain_record(unsigned number, const uint8_t *bytes, size_t len,
                                      unsigned index)
{
    unsigned all = kymo__chain_records(len);
    size_t from = index ? KYMO__CHAIN_FIRST + (size_t)(index - 1) * KYMO__CHAIN_MORE : 0;
    size_t room = index ? KYMO__CHAIN_MORE : KYMO__CHAIN_FIRST;
    size_t here = len - from < room ? len - from : room;
    uint8_t data[16] = {0};
    memcpy(data, bytes + from, here);
    struct kymo_record record;
    memcpy(&record, data, sizeof(record));
    if (index) {
        record.word |= (uint64_t)KYMO__MORE << 56;
        return record;
    }
    size_t used = all == 1 ? len : len - KYMO__CHAIN_FIRST - (size_t)(all - 2) * KYMO__CHAIN_MORE;
    record.word |= kymo__chain_word(number, used);
    return record;
}

/* How USED of a payload with values of an operator tells where they begin: from this bit on. */
enum { VALUES_SHIFT = 4 };

/* The numbers of RECORD, and how many empty lists follow. Returns how many there are. */
static unsigned record_numbers(const struct kymo_record *record, uint64_t numbers[7],
                               unsigned *lists)
{
    *lists = 0;
    switch (record->word & KYMO__CHAIN_FORM) {
    case KYMO__CHAIN_SEVEN:
        *lists = kymo__chain_seven(record, numbers);
        return 7;
    case KYMO__CHAIN_FOUR:
        kymo__chain_four(record, numbers);
        return 4;
    default:
        numbers[0] = record->ticks;
        return 1;
    }
}

/* Let PAYLOAD be the numbers of RECORD as varints. *USED is for kymo__chain_end. */
static int add_numbers(struct kymo_buffer *payload, const struct kymo_record *record,
                       unsigned *used)
{
    enum { MOST = 7, LISTS = 15 };
    uint64_t numbers[MOST];
    unsigned lists, count = record_numbers(record, numbers, &lists);
    bool values = lists == KYMO__CHAIN_VALUES;
    lists = values ? 0 : lists;
    int rc = kymo__buffer_reserve(payload, MOST * KYMO__VARINT_MAX + LISTS);
    if (rc < 0)
        return rc;
    uint8_t *end = payload->bytes;
    for (unsigned i = 0; i < count; i++)
        end = kymo__varint_put(end, numbers[i]);
    memset(end, 0, lists);
    payload->len = (size_t)(end - payload->bytes) + lists;
    *used = values ? (unsigned)payload->len << VALUES_SHIFT
                   : KYMO__CHAIN_MORE; /* kymo__chain_end cuts nothing off */
    return 0;
}

int kymo__chain_add(struct kymo_buffer *payload, const struct kymo_record *record, unsigned *used)
{
    bool first = kymo__word_kind(record->word) == KYMO__BYTES;
    if (first) {
        payload->len = 0;
        *used = (unsigned)(record->word >> 40) & 0xf;
        if (kymo__chain_has_numbers(record))
            return add_numbers(payload, record, used);
    }
    int rc = kymo__buffer_reserve(payload, sizeof(*record));
    if (rc < 0)
        return rc;
    memcpy(payload->bytes + payload->len, record, sizeof(*record)); /* more than counts */
    payload->len += first ? KYMO__CHAIN_FIRST : KYMO__CHAIN_MORE;
    return 0;
}

void kymo__chain_end(struct kymo_buffer *payload, unsigned used)
{
    if (used >> VALUES_SHIFT) {
        kymo__oprecords_unpack(payload, used >> VALUES_SHIFT);
        return;
    }
    size_t room = payload->len > KYMO__CHAIN_FIRST ? KYMO__CHAIN_MORE : KYMO__CHAIN_FIRST;
    if (used < room)
        payload->len -= room - used;
}
