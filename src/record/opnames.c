/* opnames.c — see opnames.h. */
#include "opnames.h"

#include <string.h>

#include "alloc.h"
#include "hash.h"
#include "names.h"
#include "schemas.h"

/* Open addressing, never more than half full. */
struct kymo_optable {
    struct kymo_optable *older; /* the smaller table it replaced, kept for readers */
    unsigned shift;             /* 64 - log2 of the number of slots */
    size_t count;
    struct opslot {
        const char *text; /* stored last, with release; NULL: free */
        uint64_t hash;
        uint32_t key;
    } slots[];
};

/* The values of an operator's arguments; see <kymo/op.h>. */
#define VALUE_FIELDS                                                                               \
    {"kinds", KYMO_FIELD_UINT | KYMO_FIELD_LIST}, {"ints", KYMO_FIELD_INT | KYMO_FIELD_LIST},      \
        {"floats", KYMO_FIELD_FLOAT | KYMO_FIELD_LIST},                                            \
        {"texts", KYMO_FIELD_TEXT | KYMO_FIELD_LIST},                                              \
        {"names", KYMO_FIELD_NAME | KYMO_FIELD_LIST},                                              \
        {"tensors", KYMO_FIELD_ADDRESS | KYMO_FIELD_LIST},                                         \
        {"storages", KYMO_FIELD_ADDRESS | KYMO_FIELD_LIST},                                        \
        {"offsets", KYMO_FIELD_INT | KYMO_FIELD_LIST},                                             \
        {"numels", KYMO_FIELD_UINT | KYMO_FIELD_LIST},                                             \
        {"itemsizes", KYMO_FIELD_UINT | KYMO_FIELD_LIST},                                          \
        {"dtypes", KYMO_FIELD_NAME | KYMO_FIELD_LIST},                                             \
        {"devices", KYMO_FIELD_NAME | KYMO_FIELD_LIST},                                            \
        {"marks", KYMO_FIELD_UINT | KYMO_FIELD_LIST},                                              \
        {"shapes", KYMO_FIELD_INT | KYMO_FIELD_LISTS},                                             \
    {                                                                                              \
        "strides", KYMO_FIELD_INT | KYMO_FIELD_LISTS                                               \
    }

static const struct kymo_field in_fields[] = {
    {"rf_id", KYMO_FIELD_ID},       {"seq", KYMO_FIELD_INT},
    {"scope", KYMO_FIELD_UINT},     {"thread", KYMO_FIELD_UINT},
    {"fw_thread", KYMO_FIELD_UINT}, {"schema", KYMO_FIELD_NAME},
    {"flags", KYMO_FIELD_UINT},     VALUE_FIELDS,
};

static const struct kymo_field out_fields[] = {
    {"rf_id", KYMO_FIELD_ID},
    {"flags", KYMO_FIELD_UINT},
    VALUE_FIELDS,
};

static const struct kymo_field part_fields[] = {
    {"first", KYMO_FIELD_UINT}, /* values in the parts before it */
    VALUE_FIELDS,
};

static const struct kymo_field attribute_fields[] = {
    {"rf_id", KYMO_FIELD_ID},
    {"names", KYMO_FIELD_NAME | KYMO_FIELD_LIST},
    {"texts", KYMO_FIELD_TEXT | KYMO_FIELD_LIST},
    {"kinds", KYMO_FIELD_UINT | KYMO_FIELD_LIST},
};

void kymo__opnames_init(struct kymo_opnames *ops)
{
    pthread_mutex_init(&ops->lock, NULL);
}

void kymo__opnames_fini(struct kymo_opnames *ops)
{
    for (struct kymo_optable *table = ops->table; table;) {
        struct kymo_optable *older = table->older;
        kymo__free(table);
        table = older;
    }
    pthread_mutex_destroy(&ops->lock);
}

static bool define_one(struct kymo_schema *schema, struct kymo_names *names,
                       struct kymo_schemas *schemas, uint32_t session, const char *name,
                       const struct kymo_field *fields, size_t count)
{
    uint32_t key;
    int number = kymo__schemas_define(schemas, names, name, fields, count, &key);
    if (number > 0)
        *schema = (struct kymo_schema){.key = key, .number = (uint32_t)number, .session = session};
    return number > 0;
}

#define DEFINE(schema, name, fields)                                                               \
    define_one(schema, names, schemas, session, name, fields, sizeof(fields) / sizeof((fields)[0]))

bool kymo__opnames_prepare(struct kymo_opnames *ops, struct kymo_names *names,
                           struct kymo_schemas *schemas, uint32_t session)
{
    if (kymo__likely(kymo__load_acquire(&ops->ready)))
        return true;
    if (kymo__inside)
        return false;
    int cancel = kymo__cancel_off();
    kymo__lock(&ops->lock);
    if (!ops->ready && DEFINE(&ops->in, "operator.in", in_fields) &&
        DEFINE(&ops->out, "operator.out", out_fields) &&
        DEFINE(&ops->part, "operator.part", part_fields) &&
        DEFINE(&ops->attributes, "operator.attributes", attribute_fields))
        kymo__store_release(&ops->ready, 1u);
    bool ready = ops->ready;
    kymo__unlock(&ops->lock);
    kymo__cancel_restore(cancel);
    return ready;
}

/* ---- keys ---- */

static const struct kymo_opname none;

static struct kymo_opname find_name(const struct kymo_optable *table, uint64_t hash,
                                    const char *name)
{
    if (!table)
        return none;
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    for (size_t i = (size_t)(hash >> table->shift);; i++) {
        const struct opslot *slot = &table->slots[i & mask];
        const char *text = kymo__load_acquire(&slot->text);
        if (!text)
            return none;
        if (slot->hash == hash && strcmp(text, name) == 0)
            return (struct kymo_opname){text, slot->key};
    }
}

static void place_slot(struct kymo_optable *table, const struct opslot *slot)
{
    size_t mask = ((size_t)1 << (64 - table->shift)) - 1;
    size_t i = (size_t)(slot->hash >> table->shift);
    while (kymo__load_relaxed(&table->slots[i & mask].text))
        i++;
    table->slots[i & mask].hash = slot->hash;
    table->slots[i & mask].key = slot->key;
    kymo__store_release(&table->slots[i & mask].text, slot->text);
    table->count++;
}

/* The table with room for one more, or NULL. */
static struct kymo_optable *table_with_room(struct kymo_opnames *ops)
{
    enum { FIRST_BITS = 9 };
    struct kymo_optable *table = ops->table;
    if (table && (table->count + 1) * 2 <= (size_t)1 << (64 - table->shift))
        return table;
    unsigned bits = table ? 64 - table->shift + 1 : FIRST_BITS;
    struct kymo_optable *wider =
        kymo__alloc_zeroed(sizeof(*wider) + ((size_t)1 << bits) * sizeof(wider->slots[0]));
    if (!wider)
        return NULL;
    wider->shift = 64 - bits;
    for (size_t i = 0; table && i < (size_t)1 << (bits - 1); i++)
        if (table->slots[i].text)
            place_slot(wider, &table->slots[i]);
    wider->older = table; /* another thread may be reading it */
    kymo__store_release(&ops->table, wider);
    return wider;
}

static struct kymo_opname add_name(struct kymo_opnames *ops, struct kymo_names *names,
                                   uint64_t hash, const char *name)
{
    struct kymo_opname found = find_name(ops->table, hash, name);
    if (found.key)
        return found; /* another thread was first */
    struct kymo_optable *table = table_with_room(ops);
    struct opslot slot = {.hash = hash};
    if (!table || !kymo__names_string(names, name, &slot.text))
        return none;
    slot.key =
        kymo__names_function(names, &(struct kymo_function){.size = sizeof(struct kymo_function),
                                                            .name = name,
                                                            .kind = KYMO_CLASS_OPERATOR});
    if (slot.key)
        place_slot(table, &slot);
    return (struct kymo_opname){slot.text, slot.key};
}

struct kymo_opname kymo__opnames_find(struct kymo_opnames *ops, struct kymo_names *names,
                                      const char *name)
{
    uint64_t hash = kymo__hash_bytes(name, strlen(name));
    struct kymo_opname found = find_name(kymo__load_acquire(&ops->table), hash, name);
    if (kymo__likely(found.key) || kymo__inside)
        return found;
    int cancel = kymo__cancel_off();
    kymo__lock(&ops->lock);
    found = add_name(ops, names, hash, name);
    kymo__unlock(&ops->lock);
    kymo__cancel_restore(cancel);
    return found;
}
