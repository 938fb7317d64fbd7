/* chakra.c — see chakra.h.

   The file is a sequence of messages, each after its length: one GlobalMetadata, then a Node for
   each thread and operator, and for what devices did for them (et_def.proto of Chakra). A node's
   control dependency is the operator around it, or the one that launched it. Its data dependencies
   give the order of execution: what began before it on its thread, and what its thread waited for.
   All of them began earlier, so there is no circle. */
#include "chakra.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "et.h"
#include "et_text.h"
#include "jsontext.h"
#include "opahead.h"
#include "proto.h"
#include "varint.h"

enum {
    METADATA_VERSION = 1,
    METADATA_ATTRIBUTE = 2,

    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_CONTROL = 4,
    NODE_DATA = 5,
    NODE_START = 6,
    NODE_DURATION = 7,
    NODE_INPUTS = 8,
    NODE_OUTPUTS = 9,
    NODE_ATTRIBUTE = 10,

    VALUES_VALUES = 1,
    VALUES_SHAPES = 2,
    VALUES_TYPES = 3,

    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_INT64 = 9,
    ATTRIBUTE_UINT64 = 13,
    ATTRIBUTE_BOOL = 27,
    ATTRIBUTE_TEXT = 29,
};

enum { /* Chakra's NodeType */
       TYPE_METADATA = 1,
       TYPE_COMPUTE = 4,
       TYPE_SEND = 5,
       TYPE_RECEIVE = 6,
       TYPE_COLLECTIVE = 7,
};

/* The attributes of our own that every node has; op_schema is between FW_TID and IS_CPU_OP. */
enum usual { RF_ID, FW_PARENT, SEQ_ID, SCOPE, TID, FW_TID, IS_CPU_OP, STREAM, USUAL };

/* One of them as it is written, up to its value: only the length is not known before. */
struct usual_start {
    uint8_t bytes[32];
    size_t length;
};

struct chakra {
    struct kymo_outfile *out;
    struct kymo_buffer message, text;
    kymo_ns shift; /* from monotonic time to nanoseconds since 1970 */
    struct usual_start usual[USUAL];
};

/* ---- messages ---- */

static int write_message(struct chakra *c, const struct kymo_proto *proto)
{
    uint8_t length[KYMO__VARINT_MAX];
    if (proto->error)
        return proto->error;
    kymo__outfile_add(c->out, length, (size_t)(kymo__varint_put(length, c->message.len) - length));
    kymo__outfile_add(c->out, c->message.bytes, c->message.len);
    c->message.len = 0;
    return c->out->error;
}

static void add_number(struct kymo_proto *p, unsigned field, const char *name, unsigned type,
                       uint64_t value)
{
    size_t attribute = kymo__proto_open(p, field);
    kymo__proto_text(p, ATTRIBUTE_NAME, name);
    kymo__proto_uint(p, type, value);
    kymo__proto_close(p, attribute);
}

static void add_text(struct kymo_proto *p, unsigned field, const char *name, const char *text)
{
    size_t attribute = kymo__proto_open(p, field);
    kymo__proto_text(p, ATTRIBUTE_NAME, name);
    kymo__proto_text(p, ATTRIBUTE_TEXT, text);
    kymo__proto_close(p, attribute);
}

/* ---- nodes ---- */

static void add_list(struct kymo_proto *p, unsigned field, const struct kymo_opdata *values,
                     enum kymo_et_list list, const int64_t *stream)
{
    if (!values->count && !stream) {
        kymo__proto_ascii(p, field, "[]", 2);
        return;
    }
    size_t opened = kymo__proto_open(p, field);
    if (!p->error)
        p->error = kymo__et_add_list(p->out, values, list, KYMO__ET_PYTHON, stream);
    kymo__proto_close_text(p, opened);
}

static void add_values(struct kymo_proto *p, unsigned field, const struct kymo_opdata *values,
                       const int64_t *stream)
{
    size_t io = kymo__proto_open(p, field);
    add_list(p, VALUES_VALUES, values, KYMO__ET_VALUES, stream);
    add_list(p, VALUES_SHAPES, values, KYMO__ET_SHAPES, stream);
    add_list(p, VALUES_TYPES, values, KYMO__ET_TYPES, stream);
    kymo__proto_close(p, io);
}

static int prepare_usual(struct chakra *c)
{
    static const struct {
        const char *name;
        unsigned type;
    } all[USUAL] = {
        [RF_ID] = {"rf_id", ATTRIBUTE_INT64},
        [FW_PARENT] = {"fw_parent", ATTRIBUTE_INT64},
        [SEQ_ID] = {"seq_id", ATTRIBUTE_INT64},
        [SCOPE] = {"scope", ATTRIBUTE_INT64},
        [TID] = {"tid", ATTRIBUTE_INT64},
        [FW_TID] = {"fw_tid", ATTRIBUTE_INT64},
        [IS_CPU_OP] = {"is_cpu_op", ATTRIBUTE_BOOL},
        [STREAM] = {"stream", ATTRIBUTE_INT64},
    };
    struct kymo_proto p = {.out = &c->message};
    for (size_t i = 0; !p.error && i < USUAL; i++) {
        struct usual_start *start = &c->usual[i];
        c->message.len = 0;
        add_number(&p, NODE_ATTRIBUTE, all[i].name, all[i].type, 0);
        start->length = c->message.len - 1; /* the value is a byte */
        if (!p.error)
            memcpy(start->bytes, c->message.bytes, start->length);
    }
    c->message.len = 0;
    return p.error;
}

/* Write a usual attribute at AT, where there is room. */
static inline uint8_t *put_usual(uint8_t *at, const struct usual_start *start, uint64_t value)
{
    enum { HEAD = 1 + KYMO__PROTO_LENGTH };
    memcpy(at, start->bytes, sizeof(start->bytes));
    uint8_t *end = kymo__varint_put(at + start->length, value);
    at[1] = (uint8_t)(0x80 | (end - at - HEAD)); /* the other bytes of the length are 0 */
    return end;
}

static void add_attributes(const struct chakra *c, struct kymo_proto *p,
                           const struct kymo_opcall *op, int64_t stream, bool on_cpu)
{
    enum { ROOM = USUAL * (sizeof(c->usual[0].bytes) + KYMO__VARINT_MAX) };
    const struct usual_start *usual = c->usual;
    if (p->error || (p->error = kymo__buffer_reserve(p->out, ROOM)))
        return;
    uint8_t *at = p->out->bytes + p->out->len;
    at = put_usual(at, &usual[RF_ID], op->rf_id);
    at = put_usual(at, &usual[FW_PARENT], op->forward);
    at = put_usual(at, &usual[SEQ_ID], (uint64_t)op->seq);
    at = put_usual(at, &usual[SCOPE], op->scope);
    at = put_usual(at, &usual[TID], op->tid);
    at = put_usual(at, &usual[FW_TID], op->fw_tid);
    p->out->len = (size_t)(at - p->out->bytes);
    add_text(p, NODE_ATTRIBUTE, "op_schema", op->schema);
    if (p->error || (p->error = kymo__buffer_reserve(p->out, ROOM)))
        return;
    at = p->out->bytes + p->out->len;
    at = put_usual(at, &usual[IS_CPU_OP], on_cpu);
    at = put_usual(at, &usual[STREAM], (uint64_t)stream);
    p->out->len = (size_t)(at - p->out->bytes);
}

/* Attributes of the operator itself, such as those of collectives. */
static void add_own_attributes(struct chakra *c, struct kymo_proto *p, const struct kymo_opcall *op)
{
    const char *cut = kymo__et_cut(op);
    if (cut)
        add_text(p, NODE_ATTRIBUTE, KYMO__ET_CUT, cut);
    for (size_t i = 0; i < op->attribute_count; i++) {
        const struct kymo_opattribute *a = &op->attributes[i];
        int64_t value;
        if (strcmp(a->name, "stream") == 0)
            continue;
        if (kymo__op_attribute_integer(a, &value)) {
            add_number(p, NODE_ATTRIBUTE, a->name, ATTRIBUTE_INT64, (uint64_t)value);
            continue;
        }
        c->text.len = 0;
        if (kymo__buffer_add(&c->text, a->text, a->length) < 0 ||
            kymo__buffer_add(&c->text, "", 1) < 0)
            p->error = -ENOMEM;
        else
            add_text(p, NODE_ATTRIBUTE, a->name, (const char *)c->text.bytes);
    }
}

/* Whole microseconds, rounded. */
static uint64_t micros(kymo_ns ns)
{
    return ns > 0 ? ((uint64_t)ns + 500) / 1000 : 0;
}

static bool is_metadata(const char *name)
{
    static const char part[] = "process_group:init";
    return strlen(name) >= sizeof(part) - 1 && strstr(name, part);
}

static int on_end(void *arg, struct kymo_opcall *op)
{
    struct chakra *c = arg;
    struct kymo_proto p = {.out = &c->message};
    const struct kymo_opattribute *on = kymo__et_attribute(op, "stream");
    int64_t stream, device_stream = 0;
    bool takes_stream = kymo__et_stream(op, &stream);
    if (on && !kymo__op_attribute_integer(on, &device_stream))
        device_stream = 0;
    bool metadata = is_metadata(op->name);
    kymo__proto_uint(&p, NODE_ID, op->id);
    kymo__proto_text(&p, NODE_NAME, op->name);
    kymo__proto_uint(&p, NODE_TYPE, metadata ? TYPE_METADATA : TYPE_COMPUTE);
    kymo__proto_uint(&p, NODE_CONTROL, op->parent);
    if (op->across)
        kymo__proto_uint(&p, NODE_DATA, op->across);
    if (op->before != op->across)
        kymo__proto_uint(&p, NODE_DATA, op->before);
    kymo__proto_uint(&p, NODE_START, micros(op->start + c->shift));
    kymo__proto_uint(&p, NODE_DURATION, micros(op->own));
    add_values(&p, NODE_INPUTS, &op->inputs, takes_stream ? &stream : NULL);
    add_values(&p, NODE_OUTPUTS, &op->outputs, NULL);
    add_attributes(c, &p, op, device_stream, true);
    add_own_attributes(c, &p, op);
    return write_message(c, &p);
}

static int on_thread(void *arg, const struct kymo_op_thread *thread)
{
    struct chakra *c = arg;
    struct kymo_proto p = {.out = &c->message};
    const struct kymo_opcall node = {
        .seq = -1, .scope = KYMO__OP_USER_SCOPE, .tid = thread->tid, .schema = ""};
    kymo__proto_uint(&p, NODE_ID, thread->id);
    kymo__proto_text(&p, NODE_NAME, KYMO__ET_THREAD_NAME);
    kymo__proto_uint(&p, NODE_TYPE, TYPE_COMPUTE);
    add_values(&p, NODE_INPUTS, &node.inputs, NULL);
    add_values(&p, NODE_OUTPUTS, &node.outputs, NULL);
    add_attributes(c, &p, &node, 0, true);
    return write_message(c, &p);
}

/* ---- devices ---- */

/* Which of Chakra's collectives NAME is: its number, or -1. NAME is a kernel's, like
   "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)", or an operator's, like "nccl:all_to_all". */
static int collective_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } all[] = {{"allreduce", 0}, {"allgather", 2},     {"broadcast", 5},
               {"alltoall", 6},  {"reducescatter", 7}, {"reduce", 1}};
    char plain[128];
    size_t len = 0;
    for (; *name && len + 1 < sizeof(plain); name++)
        if (*name != '_' && *name != '-')
            plain[len++] = (char)tolower((unsigned char)*name);
    plain[len] = '\0';
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strstr(plain, all[i].name))
            return all[i].number;
    return -1;
}

/* What kind of node DEVICE is. NCCL sends and receives with one kernel; the operator that launched it
   says which, or that it is a collective made of both. */
static unsigned type_of(const struct kymo_op_device *device)
{
    if (!strstr(device->name, "ncclDevKernel") && !strstr(device->name, "ncclKernel"))
        return TYPE_COMPUTE;
    if (strstr(device->name, "SendRecv") && strstr(device->by.name, "send"))
        return TYPE_SEND;
    if (strstr(device->name, "SendRecv") && strstr(device->by.name, "recv"))
        return TYPE_RECEIVE;
    return TYPE_COLLECTIVE;
}

static void add_communication(struct kymo_proto *p, const struct kymo_op_device *device,
                              unsigned type)
{
    int collective = collective_of(device->name);
    if (collective < 0)
        collective = collective_of(device->by.name);
    if (type == TYPE_COLLECTIVE && collective >= 0)
        add_number(p, NODE_ATTRIBUTE, "comm_type", ATTRIBUTE_INT64, (uint64_t)collective);
    add_number(p, NODE_ATTRIBUTE, "comm_size", ATTRIBUTE_INT64, device->by.bytes);
}

/* It depends on the operator that launched it, in both ways. */
static int on_device(void *arg, const struct kymo_op_device *device)
{
    struct chakra *c = arg;
    struct kymo_proto p = {.out = &c->message};
    unsigned type = type_of(device);
    const struct kymo_opcall node = {
        .rf_id = device->by.rf_id, .seq = -1, .tid = device->by.tid, .schema = ""};
    kymo__proto_uint(&p, NODE_ID, device->id);
    kymo__proto_text(&p, NODE_NAME, device->name);
    kymo__proto_uint(&p, NODE_TYPE, type);
    kymo__proto_uint(&p, NODE_CONTROL, device->by.id);
    kymo__proto_uint(&p, NODE_DATA, device->by.id);
    kymo__proto_uint(&p, NODE_START, micros(device->start + c->shift));
    kymo__proto_uint(&p, NODE_DURATION, micros(device->end - device->start));
    add_values(&p, NODE_INPUTS, &node.inputs, NULL);
    add_values(&p, NODE_OUTPUTS, &node.outputs, NULL);
    add_attributes(c, &p, &node, (int64_t)device->stream, false);
    add_number(&p, NODE_ATTRIBUTE, "device", ATTRIBUTE_INT64, (uint64_t)device->device);
    if (type != TYPE_COMPUTE)
        add_communication(&p, device, type);
    return write_message(c, &p);
}

/* ---- the file ---- */

static int write_metadata(struct chakra *c, const struct kymo_info *info, kymo_ns end)
{
    struct kymo_proto p = {.out = &c->message};
    char local[KYMO__ET_TIME];
    kymo__et_local_time(info, local);
    kymo__proto_text(&p, METADATA_VERSION, "0.0.4");
    add_text(&p, METADATA_ATTRIBUTE, "schema", KYMO__ET_SCHEMA);
    add_number(&p, METADATA_ATTRIBUTE, "pid", ATTRIBUTE_UINT64, (uint64_t)info->pid);
    add_text(&p, METADATA_ATTRIBUTE, "time", local);
    add_number(&p, METADATA_ATTRIBUTE, "start_ts", ATTRIBUTE_UINT64,
               (uint64_t)(info->start / 1000000));
    add_number(&p, METADATA_ATTRIBUTE, "finish_ts", ATTRIBUTE_UINT64, (uint64_t)(end / 1000000));
    add_text(&p, METADATA_ATTRIBUTE, "kymograph", KYMO_VERSION);
    return write_message(c, &p);
}

int kymo__chakra_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                       struct kymo_outfile *out)
{
    struct kymo_info info = {.size = sizeof(info)};
    struct chakra c = {.out = out};
    const struct kymo_ops_visitor visitor = {
        .arg = &c, .thread = on_thread, .end = on_end, .device = on_device};
    kymo_capture_info(capture, &info);
    c.shift = info.wall_start - info.start;
    int rc = prepare_usual(&c);
    if (rc == 0)
        rc = write_metadata(&c, &info, options->to < info.end ? options->to : info.end);
    if (rc == 0)
        rc = kymo__operators_read_ahead(capture, options, &visitor);
    kymo__buffer_fini(&c.message);
    kymo__buffer_fini(&c.text);
    return rc;
}
