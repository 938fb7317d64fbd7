/* opfields.c — see opfields.h. */
#include "opfields.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "varint.h"

static const char *const notes[KYMO__OP_NOTES] = {
    [KYMO__OP_IN] = "operator.in",
    [KYMO__OP_OUT] = "operator.out",
    [KYMO__OP_ATTRIBUTES] = "operator.attributes",
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

int kymo__op_keys_init(struct kymo_op_keys *keys, const struct kymo_reader *r)
{
    *keys = (struct kymo_op_keys){.count = r->key_count};
    keys->note = kymo__alloc_zeroed(3 * keys->count + 1);
    if (!keys->note)
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
    return 0;
}

void kymo__op_keys_fini(struct kymo_op_keys *keys)
{
    kymo__free(keys->note);
    *keys = (struct kymo_op_keys){0};
}

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

void kymo__op_field_put(struct kymo_op_fields *fields, const struct kymo_op_keys *keys,
                        const struct kymo_call_arg *arg)
{
    unsigned field = arg->key < keys->count ? keys->field[arg->key] : 0;
    if (field && fits(arg->type, (enum kymo_op_field)(field - 1)))
        fields->at[field - 1] = *arg;
}

/* Step over empty lists, which most fields of most operators are. */
static void skip_empty(struct kymo_fields *f)
{
    const unsigned many = KYMO_FIELD_LIST | KYMO_FIELD_LISTS;
    while (f->schema && f->next < f->schema->plan.count && (f->schema->plan.type[f->next] & many) &&
           f->at < f->end && *f->at == 0) {
        f->at++;
        f->next++;
    }
}

void kymo__op_fields_read(struct kymo_op_fields *fields, const struct kymo_op_keys *keys,
                          const struct kymo_reader *reader, const struct kymo_event *event)
{
    struct kymo_fields all;
    struct kymo_call_arg arg;
    *fields = (struct kymo_op_fields){0};
    kymo__fields_begin(&all, reader, event);
    for (skip_empty(&all); kymo__fields_next(&all, &arg); skip_empty(&all))
        kymo__op_field_put(fields, keys, &arg);
}

/* ---- lists ---- */

uint64_t kymo__op_list_uint(struct kymo_op_list *list)
{
    uint64_t value = 0;
    if (!list->left)
        return 0;
    list->left--;
    list->at = kymo__varint_get_wide(list->at, list->end, &value);
    if (!list->at)
        *list = (struct kymo_op_list){0};
    return value;
}

int64_t kymo__op_list_int(struct kymo_op_list *list)
{
    return kymo__unzigzag(kymo__op_list_uint(list));
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
