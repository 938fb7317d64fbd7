/* opmade.h — captures with operators made by hand: what a recorder would write, with addresses and
   times that the test chooses.

   Uses only the public API. The session's clock is CLOCK_MONOTONIC, so times are nanoseconds after
   the start. docs/internals/operators.md describes the payloads. */
#ifndef KYMO_OPMADE_H
#define KYMO_OPMADE_H

#include <kymo/payload.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPMADE_NONE,
    OPMADE_TENSOR,
    OPMADE_INT,
    OPMADE_BOOL,
    OPMADE_FLOAT,
    OPMADE_TEXT,
    OPMADE_DEVICE,
    OPMADE_LIST,
    OPMADE_TUPLE,
    OPMADE_OTHER,
    OPMADE_COMPLEX,
    OPMADE_UNDEFINED,
    OPMADE_NO_TENSORS,
};

static struct kymo_schema opmade_in_schema, opmade_out_schema, opmade_attributes_schema;
static uint64_t opmade_zero;
static bool opmade_attached; /* attach payloads to the enter and leave instead of making notes */

static inline void opmade_ok(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "# a capture could not be made: %s\n", kymo_strerror(rc));
        abort();
    }
}

#define OPMADE_VALUES                                                                              \
    {"kinds", KYMO_FIELD_LIST | KYMO_FIELD_UINT}, {"ints", KYMO_FIELD_LIST | KYMO_FIELD_INT},      \
        {"floats", KYMO_FIELD_LIST | KYMO_FIELD_FLOAT},                                            \
        {"texts", KYMO_FIELD_LIST | KYMO_FIELD_TEXT},                                              \
        {"names", KYMO_FIELD_LIST | KYMO_FIELD_NAME},                                              \
        {"tensors", KYMO_FIELD_LIST | KYMO_FIELD_ADDRESS},                                         \
        {"storages", KYMO_FIELD_LIST | KYMO_FIELD_ADDRESS},                                        \
        {"offsets", KYMO_FIELD_LIST | KYMO_FIELD_INT},                                             \
        {"numels", KYMO_FIELD_LIST | KYMO_FIELD_UINT},                                             \
        {"itemsizes", KYMO_FIELD_LIST | KYMO_FIELD_UINT},                                          \
        {"dtypes", KYMO_FIELD_LIST | KYMO_FIELD_NAME},                                             \
        {"devices", KYMO_FIELD_LIST | KYMO_FIELD_NAME},                                            \
        {"marks", KYMO_FIELD_LIST | KYMO_FIELD_UINT},                                              \
        {"shapes", KYMO_FIELD_LISTS | KYMO_FIELD_INT},                                             \
    {                                                                                              \
        "strides", KYMO_FIELD_LISTS | KYMO_FIELD_INT                                               \
    }

/* Start a session that records into PATH. */
static inline void opmade_start(const char *path)
{
    static const struct kymo_field in[] = {
        {"rf_id", KYMO_FIELD_ID},       {"seq", KYMO_FIELD_INT},
        {"scope", KYMO_FIELD_UINT},     {"thread", KYMO_FIELD_UINT},
        {"fw_thread", KYMO_FIELD_UINT}, {"schema", KYMO_FIELD_NAME},
        {"flags", KYMO_FIELD_UINT},     OPMADE_VALUES};
    static const struct kymo_field out[] = {
        {"rf_id", KYMO_FIELD_ID}, {"flags", KYMO_FIELD_UINT}, OPMADE_VALUES};
    static const struct kymo_field attributes[] = {{"rf_id", KYMO_FIELD_ID},
                                                   {"names", KYMO_FIELD_LIST | KYMO_FIELD_NAME},
                                                   {"texts", KYMO_FIELD_LIST | KYMO_FIELD_TEXT},
                                                   {"kinds", KYMO_FIELD_LIST | KYMO_FIELD_UINT}};
    opmade_ok(kymo_start(
        &(struct kymo_options){.size = sizeof(struct kymo_options), .path = path, .clock = 1}));
    opmade_zero = kymo_ticks();
    opmade_ok(kymo_schema_define(&opmade_in_schema, "operator.in", in, sizeof(in) / sizeof(*in)));
    opmade_ok(
        kymo_schema_define(&opmade_out_schema, "operator.out", out, sizeof(out) / sizeof(*out)));
    opmade_ok(kymo_schema_define(&opmade_attributes_schema, "operator.attributes", attributes,
                                 sizeof(attributes) / sizeof(*attributes)));
}

/* ---- values ---- */

enum { OPMADE_MOST = 8192 };

struct opmade_tensor {
    uint64_t tensor, storage;
    int64_t offset;
    const char *dtype, *device;
    uint64_t itemsize, marks;
    int64_t shape[4], strides[4];
    unsigned dims;
};

struct opmade_values {
    unsigned kind_count, int_count, float_count, text_count, name_count, tensor_count;
    uint8_t kinds[OPMADE_MOST];
    int64_t ints[OPMADE_MOST];
    double floats[64];
    const char *texts[64], *names[64];
    struct opmade_tensor tensors[1024];
};

static inline void opmade_kind(struct opmade_values *v, unsigned kind)
{
    v->kinds[v->kind_count++] = (uint8_t)kind;
}

/* An int or bool; a list or tuple of VALUE elements, which follow. */
static inline void opmade_int(struct opmade_values *v, unsigned kind, int64_t value)
{
    opmade_kind(v, kind);
    v->ints[v->int_count++] = value;
}

static inline void opmade_float(struct opmade_values *v, double value)
{
    opmade_kind(v, OPMADE_FLOAT);
    v->floats[v->float_count++] = value;
}

static inline void opmade_text(struct opmade_values *v, unsigned kind, const char *value)
{
    opmade_kind(v, kind);
    v->texts[v->text_count++] = value;
}

/* A plain tensor of floats with ROWS and COLUMNS at these addresses. */
static inline struct opmade_tensor *opmade_tensor(struct opmade_values *v, uint64_t tensor,
                                                  uint64_t storage, int64_t rows, int64_t columns)
{
    opmade_kind(v, OPMADE_TENSOR);
    struct opmade_tensor *t = &v->tensors[v->tensor_count++];
    *t = (struct opmade_tensor){.tensor = tensor,
                                .storage = storage,
                                .dtype = "float",
                                .device = "cpu",
                                .itemsize = 4,
                                .shape = {rows, columns},
                                .strides = {columns, 1},
                                .dims = 2};
    return t;
}

static inline void opmade_put_sizes(struct kymo_payload *p, const struct opmade_values *v,
                                    bool strides)
{
    kymo_payload_count(p, v->tensor_count);
    for (unsigned i = 0; i < v->tensor_count; i++) {
        kymo_payload_count(p, v->tensors[i].dims);
        for (unsigned d = 0; d < v->tensors[i].dims; d++)
            kymo_payload_int(p, strides ? v->tensors[i].strides[d] : v->tensors[i].shape[d]);
    }
}

static inline uint64_t opmade_numel(const struct opmade_tensor *t)
{
    uint64_t numel = 1;
    for (unsigned d = 0; d < t->dims; d++)
        numel *= (uint64_t)t->shape[d];
    return numel;
}

#define OPMADE_COLUMN(p, v, put, member)                                                           \
    do {                                                                                           \
        kymo_payload_count(p, (v)->tensor_count);                                                  \
        for (unsigned i = 0; i < (v)->tensor_count; i++)                                           \
            put(p, (v)->tensors[i].member);                                                        \
    } while (0)

static inline void opmade_put(struct kymo_payload *p, const struct opmade_values *v)
{
    kymo_payload_count(p, v->kind_count);
    for (unsigned i = 0; i < v->kind_count; i++)
        kymo_payload_uint(p, v->kinds[i]);
    kymo_payload_count(p, v->int_count);
    for (unsigned i = 0; i < v->int_count; i++)
        kymo_payload_int(p, v->ints[i]);
    kymo_payload_count(p, v->float_count);
    for (unsigned i = 0; i < v->float_count; i++)
        kymo_payload_float(p, v->floats[i]);
    kymo_payload_count(p, v->text_count);
    for (unsigned i = 0; i < v->text_count; i++)
        kymo_payload_text(p, v->texts[i]);
    kymo_payload_count(p, v->name_count);
    for (unsigned i = 0; i < v->name_count; i++)
        kymo_payload_uint(p, v->names[i] ? kymo_name_key(v->names[i]) : 0);
    OPMADE_COLUMN(p, v, kymo_payload_uint, tensor);
    OPMADE_COLUMN(p, v, kymo_payload_uint, storage);
    OPMADE_COLUMN(p, v, kymo_payload_int, offset);
    kymo_payload_count(p, v->tensor_count);
    for (unsigned i = 0; i < v->tensor_count; i++)
        kymo_payload_uint(p, opmade_numel(&v->tensors[i]));
    OPMADE_COLUMN(p, v, kymo_payload_uint, itemsize);
    kymo_payload_count(p, v->tensor_count);
    for (unsigned i = 0; i < v->tensor_count; i++)
        kymo_payload_uint(p, kymo_name_key(v->tensors[i].dtype));
    kymo_payload_count(p, v->tensor_count);
    for (unsigned i = 0; i < v->tensor_count; i++)
        kymo_payload_uint(p, kymo_name_key(v->tensors[i].device));
    OPMADE_COLUMN(p, v, kymo_payload_uint, marks);
    opmade_put_sizes(p, v, false);
    opmade_put_sizes(p, v, true);
}

/* ---- operators ---- */

struct opmade_op {
    const char *name, *schema;
    uint64_t rf_id;
    int64_t seq;
    unsigned scope, thread, fw_thread, flags;
    uint32_t key; /* set by opmade_enter */
};

static inline void opmade_record(uint64_t time, unsigned kind, uint32_t key)
{
    struct kymo_lane *lane;
    struct kymo_record *at = kymo_lane_claim(&lane, 1);
    if (!at)
        abort();
    kymo_lane_store(at, opmade_zero + time, kymo_word(kind, 0, key));
    kymo_lane_commit(lane, at + 1);
}

static inline uint32_t opmade_key(const char *name, unsigned class_)
{
    return kymo_function_key(&(struct kymo_function){
        .size = sizeof(struct kymo_function), .name = name, .kind = class_});
}

static unsigned char opmade_room[KYMO_PAYLOAD_MOST];

static inline void opmade_note(uint64_t time, const struct kymo_schema *schema,
                               const struct kymo_payload *payload)
{
    if (payload->over)
        abort();
    if (opmade_attached)
        kymo_attach(schema, payload);
    else
        kymo_note_at(schema, payload, opmade_zero + time);
}

/* OP begins at TIME. INPUTS may be NULL; then no payload is recorded. */
static inline void opmade_enter(uint64_t time, struct opmade_op *op,
                                const struct opmade_values *inputs)
{
    struct kymo_payload p;
    op->key = op->key ? op->key : opmade_key(op->name, KYMO_CLASS_OPERATOR);
    opmade_record(time, KYMO_ENTER, op->key);
    if (!inputs)
        return;
    kymo_payload_begin(&p, opmade_room, sizeof(opmade_room));
    kymo_payload_uint(&p, op->rf_id);
    kymo_payload_int(&p, op->seq);
    kymo_payload_uint(&p, op->scope);
    kymo_payload_uint(&p, op->thread);
    kymo_payload_uint(&p, op->fw_thread);
    kymo_payload_uint(&p, op->schema ? kymo_name_key(op->schema) : 0);
    kymo_payload_uint(&p, op->flags);
    opmade_put(&p, inputs);
    opmade_note(time, &opmade_in_schema, &p);
}

static inline void opmade_attribute(uint64_t time, const struct opmade_op *op, const char *name,
                                    const char *value, unsigned kind)
{
    struct kymo_payload p;
    kymo_payload_begin(&p, opmade_room, sizeof(opmade_room));
    kymo_payload_uint(&p, op->rf_id);
    kymo_payload_count(&p, 1);
    kymo_payload_uint(&p, kymo_name_key(name));
    kymo_payload_count(&p, 1);
    kymo_payload_text(&p, value);
    kymo_payload_count(&p, 1);
    kymo_payload_uint(&p, kind);
    opmade_note(time, &opmade_attributes_schema, &p);
}

/* OP ends at TIME. OUTPUTS may be NULL. */
static inline void opmade_leave(uint64_t time, const struct opmade_op *op,
                                const struct opmade_values *outputs)
{
    struct kymo_payload p;
    if (opmade_attached)
        opmade_record(time, KYMO_LEAVE, op->key);
    if (outputs) {
        kymo_payload_begin(&p, opmade_room, sizeof(opmade_room));
        kymo_payload_uint(&p, op->rf_id);
        kymo_payload_uint(&p, 0);
        opmade_put(&p, outputs);
        opmade_note(time, &opmade_out_schema, &p);
    }
    if (!opmade_attached)
        opmade_record(time, KYMO_LEAVE, op->key);
}

#endif
