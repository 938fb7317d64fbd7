/* opfields.h — recognises the payloads of operators among those of a capture.

   An operator is a call of class KYMO_CLASS_OPERATOR with up to four kinds of payload: "operator.in",
   "operator.out", "operator.attributes", and "operator.part" if it has very many values. Those about
   the memory of tensors are recognised so that exports do not show them. Schemas and fields are found by name, so
   that a recorder may add fields and reorder them. docs/internals/operators.md describes them. */
#ifndef KYMO_OPFIELDS_H
#define KYMO_OPFIELDS_H

#include "fields.h"
#include "varint.h"

enum kymo_op_note {
    KYMO__OP_NOTHING,
    KYMO__OP_IN,
    KYMO__OP_OUT,
    KYMO__OP_ATTRIBUTES,
    KYMO__OP_PART,
    KYMO__OP_MEMORY, /* this and what follows is for the memory timeline of the profiler */
    KYMO__OP_HOLDER,
    KYMO__OP_FREED,
    KYMO__OP_NOTES,
};

enum kymo_op_field {
    KYMO__OP_RF_ID,
    KYMO__OP_SEQ,
    KYMO__OP_SCOPE,
    KYMO__OP_THREAD,
    KYMO__OP_FW_THREAD,
    KYMO__OP_SCHEMA,
    KYMO__OP_FLAGS,
    KYMO__OP_FIRST,
    KYMO__OP_KINDS, /* this and what follows is in the order of opjoin.h */
    KYMO__OP_INTS,
    KYMO__OP_FLOATS,
    KYMO__OP_TEXTS,
    KYMO__OP_NAMES,
    KYMO__OP_TENSORS,
    KYMO__OP_STORAGES,
    KYMO__OP_OFFSETS,
    KYMO__OP_NUMELS,
    KYMO__OP_ITEMSIZES,
    KYMO__OP_DTYPES,
    KYMO__OP_DEVICES,
    KYMO__OP_MARKS,
    KYMO__OP_SHAPES,
    KYMO__OP_STRIDES,
    KYMO__OP_FIELDS,
};

/* Where the fields of a payload go. */
struct kymo_op_plan {
    struct kymo_plan types;
    uint8_t place[KYMO_FIELDS_MOST];  /* enum kymo_op_field; KYMO__OP_FIELDS: nobody wants it */
    uint8_t missing[KYMO__OP_FIELDS]; /* those that it lacks */
    uint8_t missing_count;
};

/* What the keys of a capture mean for operators. */
struct kymo_op_keys {
    struct kymo_op_plan *plans; /* of all payloads of operators */
    size_t plan_count, plan_capacity;
    uint32_t *plan; /* by key of a schema: position in `plans`, plus 1; 0: none */
    uint8_t *note;  /* by key of a schema: enum kymo_op_note */
    uint8_t *field; /* by key of a field's name: enum kymo_op_field, plus 1; 0: none */
    uint8_t *class; /* by key: enum kymo_class */
    size_t count;
    bool any; /* the capture has operators */
};

/* Returns 0 or -ENOMEM; call fini in either case. */
int kymo__op_keys_init(struct kymo_op_keys *keys, const struct kymo_reader *reader);
void kymo__op_keys_fini(struct kymo_op_keys *keys);

static inline enum kymo_op_note kymo__op_note_of(const struct kymo_op_keys *keys, uint64_t key)
{
    return key < keys->count ? (enum kymo_op_note)keys->note[key] : KYMO__OP_NOTHING;
}

static inline bool kymo__op_is(const struct kymo_op_keys *keys, uint64_t key)
{
    return key < keys->count && keys->class[key] == KYMO_CLASS_OPERATOR;
}

static inline bool kymo__op_is_span(const struct kymo_op_keys *keys, uint64_t key)
{
    return key < keys->count && keys->class[key] == KYMO_CLASS_NAME;
}

/* The fields of one payload. Those that it lacks are all zero, as are empty lists. */
struct kymo_op_fields {
    struct kymo_op_found {
        uint64_t number;            /* the number, or how many values the list has */
        const uint8_t *bytes, *end; /* of a list; one of numbers ends before `end` */
        bool there;
    } at[KYMO__OP_FIELDS + 1]; /* the last is for those that nobody wants */
};

/* Put ARG, a field of any payload of an operator, in its place. It is ignored if it has a type that
   does not fit. */
void kymo__op_field_put(struct kymo_op_fields *fields, const struct kymo_op_keys *keys,
                        const struct kymo_call_arg *arg);

/* Read all fields of EVENT, a payload of an operator. They are lent as long as EVENT is. If PLACES is
   not NULL, it tells where they are. */
void kymo__op_fields_read(struct kymo_op_fields *fields, const struct kymo_op_keys *keys,
                          const struct kymo_event *event, const struct kymo_places *places);

/* ---- lists ---- */

/* A list of a payload, read from its start. */
struct kymo_op_list {
    const uint8_t *at, *end;
    uint64_t left;
};

static inline struct kymo_op_list kymo__op_list(const struct kymo_op_fields *fields,
                                                enum kymo_op_field field)
{
    const struct kymo_op_found *list = &fields->at[field];
    return (struct kymo_op_list){list->bytes, list->end, list->number};
}

/* The next value of a list of numbers, names included; 0 after its end. */
uint64_t kymo__op_list_long(struct kymo_op_list *list); /* of more than a byte */

static inline uint64_t kymo__op_list_uint(struct kymo_op_list *list)
{
    if (!list->left)
        return 0;
    if (list->at >= list->end || *list->at >= 0x80)
        return kymo__op_list_long(list);
    list->left--;
    return *list->at++;
}

static inline int64_t kymo__op_list_int(struct kymo_op_list *list)
{
    return kymo__unzigzag(kymo__op_list_uint(list));
}

double kymo__op_list_float(struct kymo_op_list *list);

/* The next text, not terminated; empty after the end. */
const char *kymo__op_list_text(struct kymo_op_list *list, size_t *length);

/* The next inner list of numbers; empty after the end. */
struct kymo_op_list kymo__op_list_inner(struct kymo_op_list *lists);

#endif
