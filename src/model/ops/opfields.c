/* opfields.c — see opfields.h. */
#include "opfields.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"

static const char *const notes[KYMO__OP_NOTES] = {
    [KYMO__OP_IN] = "operator.in",
    [KYMO__OP_OUT] = "operator.out",
    [KYMO__OP_ATTRIBUTES] = "operator.attributes",
    [KYMO__OP_PART] = "operator.part",
    [KYMO__OP_MEMORY] = "operator.memory",
    [KYMO__OP_HOLDER] = "operator.holder",
    [KYMO__OP_FREED] = "operator.freed",
};

/* How the values of a field are encoded. */
enum encoding { UINT, INT, FLOAT, TEXT };
enum { ONE = 0, LIST = KYMO_FIELD_LIST, LISTS = KYMO_FIELD_LISTS };

static const struct {
    const char *name;
    enum encoding encoding;
    int many;
} known[KYMO__OP_FIELDS] = {
    [KYMO__OP_RF_ID] = {"rf_id", UINT, ONE},
    [KYMO__OP_SEQ] = {"seq", INT, ONE},
    [KYMO__OP_SCOPE] = {"scope", UINT, ONE},
    [KYMO__OP_THREAD] = {"thread", UINT, ONE},
    [KYMO__OP_FW_THREAD] = {"fw_thread", UINT, ONE},
    [KYMO__OP_SCHEMA] = {"schema", UINT, ONE},
    [KYMO__OP_FLAGS] = {"flags", UINT, ONE},
    [KYMO__OP_FIRST] = {"first", UINT, ONE},
    [KYMO__OP_KINDS] = {"kinds", UINT, LIST},
    [KYMO__OP_INTS] = {"ints", INT, LIST},
    [KYMO__OP_FLOATS] = {"floats", FLOAT, LIST},
    [KYMO__OP_TEXTS] = {"texts", TEXT, LIST},
    [KYMO__OP_NAMES] = {"names", UINT, LIST},
    [KYMO__OP_TENSORS] = {"tensors", UINT, LIST},
    [KYMO__OP_STORAGES] = {"storages", UINT, LIST},
    [KYMO__OP_OFFSETS] = {"offsets", INT, LIST},
    [KYMO__OP_NUMELS] = {"numels", UINT, LIST},
    [KYMO__OP_ITEMSIZES] = {"itemsizes", UINT, LIST},
    [KYMO__OP_DTYPES] = {"dtypes", UINT, LIST},
    [KYMO__OP_DEVICES] = {"devices", UINT, LIST},
    [KYMO__OP_MARKS] = {"marks", UINT, LIST},
    [KYMO__OP_SHAPES] = {"shapes", INT, LISTS},
    [KYMO__OP_STRIDES] = {"strides", INT, LISTS},
};

static bool fits(unsigned type, enum kymo_op_field field)
{
    const unsigned many = KYMO_FIELD_LIST | KYMO_FIELD_LISTS;
    if ((type & many) != (unsigned)known[field].many)
        return false;
    switch (type & ~many) {
    case KYMO_FIELD_INT:
        return known[field].encoding == INT;
    case KYMO_FIELD_FLOAT:
        return known[field].encoding == FLOAT;
    case KYMO_FIELD_TEXT:
        return known[field].encoding == TEXT;
    case KYMO_FIELD_BYTES:
        return false;
    default:
        return known[field].encoding == UINT;
    }
}

/* Where a field called KEY, of TYPE, goes. */
static unsigned place_of(const struct kymo_op_keys *keys, uint64_t key, unsigned type)
{
    unsigned field = key < keys->count ? keys->field[key] : 0;
    return field && fits(type, (enum kymo_op_field)(field - 1)) ? field - 1 : KYMO__OP_FIELDS;
}

static int add_plan(struct kymo_op_keys *keys, const struct kymo_reader *r, uint32_t key)
{
    const struct kymo_reader_schema *schema = &r->schemas[r->keys[key].schema - 1];
    bool has[KYMO__OP_FIELDS + 1] = {false};
    int rc = kymo__array_grow(&keys->plans, &keys->plan_capacity, keys->plan_count,
                              sizeof(*keys->plans));
    if (rc < 0)
        return rc;
    struct kymo_op_plan *plan = &keys->plans[keys->plan_count++];
    *plan = (struct kymo_op_plan){.types = schema->plan};
    keys->plan[key] = (uint32_t)keys->plan_count;
    for (unsigned i = 0; i < schema->plan.count; i++) {
        unsigned place = place_of(keys, schema->field[i], schema->plan.type[i]);
        plan->place[i] = (uint8_t)place;
        has[place] = true;
    }
    for (unsigned i = 0; i < KYMO__OP_FIELDS; i++)
        if (!has[i])
            plan->missing[plan->missing_count++] = (uint8_t)i;
    return 0;
}

int kymo__op_keys_init(struct kymo_op_keys *keys, const struct kymo_reader *r)
{
    int rc = 0;
    *keys = (struct kymo_op_keys){.count = r->key_count};
    keys->note = kymo__alloc_zeroed(3 * keys->count + 1);
    keys->plan = kymo__alloc_zeroed((keys->count + 1) * sizeof(*keys->plan));
    if (!keys->note || !keys->plan)
        return -ENOMEM;
    keys->field = keys->note + keys->count;
    keys->class = keys->field + keys->count;
    for (uint32_t key = 1; key < keys->count; key++) {
        uint32_t class = r->keys[key].class;
        const char *name = kymo__key_name(r, key);
        keys->class[key] = class < UINT8_MAX ? (uint8_t) class : UINT8_MAX;
        keys->any |= class == KYMO_CLASS_OPERATOR;
        for (unsigned i = 1; r->keys[key].schema && i < KYMO__OP_NOTES; i++)
            if (strcmp(name, notes[i]) == 0)
                keys->note[key] = (uint8_t)i;
        for (unsigned i = 0; i < KYMO__OP_FIELDS; i++)
            if (strcmp(name, known[i].name) == 0)
                keys->field[key] = (uint8_t)(i + 1);
    }
    for (uint32_t key = 1; rc == 0 && key < keys->count; key++)
        rc = keys->note[key] ? add_plan(keys, r, key) : 0;
    return rc;
}

void kymo__op_keys_fini(struct kymo_op_keys *keys)
{
    kymo__free(keys->note);
    kymo__free(keys->plan);
    kymo__free(keys->plans);
    *keys = (struct kymo_op_keys){0};
}

void kymo__op_field_put(struct kymo_op_fields *fields, const struct kymo_op_keys *keys,
                        const struct kymo_call_arg *arg)
{
    unsigned place = place_of(keys, arg->key, arg->type);
    if (place != KYMO__OP_FIELDS)
        fields->at[place] = (struct kymo_op_found){
            .number = arg->bytes ? arg->count : arg->value,
            .bytes = arg->bytes,
            .end = arg->bytes ? arg->bytes + arg->length : NULL,
            .there = true,
        };
}

static const struct kymo_op_plan *find_plan(const struct kymo_op_keys *keys, uint32_t key)
{
    uint32_t at = key < keys->count ? keys->plan[key] : 0;
    return at ? &keys->plans[at - 1] : NULL;
}

static inline bool is_list(unsigned type)
{
    return type & (KYMO_FIELD_LIST | KYMO_FIELD_LISTS);
}

/* Is it a list of numbers, and not of lists? */
static inline bool is_flat(unsigned type)
{
    unsigned base = type & ~(unsigned)KYMO_FIELD_LIST;
    return type & KYMO_FIELD_LIST && base != KYMO_FIELD_FLOAT && base != KYMO_FIELD_TEXT &&
           base != KYMO_FIELD_BYTES;
}

/* Read a field of TYPE from AT to NEXT in a payload up to END: one that somebody wants, so that it is
   a number or a list. */
static inline void take_field(unsigned type, const uint8_t *at, const uint8_t *next,
                              const uint8_t *end, struct kymo_op_found *value)
{
    *value = (struct kymo_op_found){.there = true};
    if (is_list(type) && !*at) /* as most lists of most operators */
        return;
    const uint8_t *behind = kymo__varint_get_wide(at, end, &value->number);
    if (is_list(type)) {
        value->bytes = behind;
        /* What follows a list of numbers may be read with the last of them, eight bytes at a time. */
        value->end = is_flat(type) ? end : next;
    } else if (type == KYMO_FIELD_INT) {
        value->number = (uint64_t)kymo__unzigzag(value->number);
    }
}

/* Find out where the fields of the payload from AT to END are. False if it does not match PLAN. */
static bool find_places(const struct kymo_plan *plan, const uint8_t *at, const uint8_t *end,
                        struct kymo_places *places)
{
    const uint8_t *bytes = at;
    places->plan = plan;
    for (unsigned i = 0; at && i < plan->count; i++) {
        places->at[i] = (uint16_t)(at - bytes);
        at = kymo__field_end(plan->type[i], at, end);
    }
    return at == end;
}

static bool is_same_plan(const struct kymo_plan *a, const struct kymo_plan *b)
{
    return a->count == b->count && memcmp(a->type, b->type, a->count) == 0;
}

void kymo__op_fields_read(struct kymo_op_fields *fields, const struct kymo_op_keys *keys,
                          const struct kymo_event *event, const struct kymo_places *places)
{
    const struct kymo_op_plan *plan = find_plan(keys, event->key);
    const uint8_t *bytes = event->payload, *end = bytes + event->payload_bytes;
    struct kymo_places found;
    bool given = places && places->plan && plan && is_same_plan(places->plan, &plan->types);
    /* A payload that does not match its schema is damaged: show none of it. */
    if (!plan || !bytes || (!given && !find_places(&plan->types, bytes, end, &found))) {
        *fields = (struct kymo_op_fields){0};
        return;
    }
    const uint16_t *at = given ? places->at : found.at;
    for (unsigned i = 0, count = plan->types.count; i < count; i++)
        if (plan->place[i] != KYMO__OP_FIELDS)
            take_field(plan->types.type[i], bytes + at[i], i + 1 < count ? bytes + at[i + 1] : end,
                       end, &fields->at[plan->place[i]]);
    for (unsigned i = 0; i < plan->missing_count; i++)
        fields->at[plan->missing[i]] = (struct kymo_op_found){0};
}

/* ---- lists ---- */

uint64_t kymo__op_list_long(struct kymo_op_list *list)
{
    uint64_t value = 0;
    list->left--;
    list->at = kymo__varint_get_wide(list->at, list->end, &value);
    if (!list->at)
        *list = (struct kymo_op_list){0};
    return value;
}

double kymo__op_list_float(struct kymo_op_list *list)
{
    double value = 0;
    if (!list->left || (size_t)(list->end - list->at) < sizeof(value))
        return 0;
    list->left--;
    memcpy(&value, list->at, sizeof(value));
    list->at += sizeof(value);
    return value;
}

const char *kymo__op_list_text(struct kymo_op_list *list, size_t *length)
{
    uint64_t len = kymo__op_list_uint(list);
    *length = 0;
    if (!list->at || len > (uint64_t)(list->end - list->at))
        return "";
    const char *text = (const char *)list->at;
    list->at += len;
    *length = (size_t)len;
    return text;
}

struct kymo_op_list kymo__op_list_inner(struct kymo_op_list *lists)
{
    struct kymo_op_list inner = {.left = kymo__op_list_uint(lists)};
    if (!lists->at)
        return (struct kymo_op_list){0};
    inner.at = lists->at;
    inner.end = lists->end;
    const uint8_t *next = kymo__varints_skip(inner.at, inner.end, inner.left);
    if (!next) /* it does not fit its field */
        return (struct kymo_op_list){0};
    inner.end = lists->at = next;
    return inner;
}
