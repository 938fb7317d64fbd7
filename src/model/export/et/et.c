/* et.c — see et.h.

   {"schema": …, "kymograph": …, "pid": …, "time": …, "start_ts": …, "nodes": [ node, … ],
   "finish_ts": …}. Nodes are written when an operator has ended; the process is the last. */
#include "et.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "et_text.h"
#include "jsontext.h"
#include "opahead.h"

#define PROCESS_NAME "[pytorch|profiler|execution_trace|process]"

struct et {
    struct kymo_outfile *out;
    struct kymo_buffer node;
    kymo_ns shift; /* from monotonic time to nanoseconds since 1970 */
    bool more;     /* a node was written */
};

/* ---- attributes ---- */

static int add_text_attribute(struct kymo_buffer *b, const char *name, const char *text,
                              size_t length)
{
    return kymo__json_text(b, ",{\"name\": ") |
           kymo__et_add_text(b, name, strlen(name), KYMO__ET_JSON) |
           kymo__json_text(b, ", \"type\": \"string\", \"value\": ") |
           kymo__et_add_text(b, text, length, KYMO__ET_JSON) | kymo__json_text(b, "}");
}

static int add_int_attribute(struct kymo_buffer *b, const char *name, int64_t value)
{
    char text[64];
    snprintf(text, sizeof(text), ", \"type\": \"%s\", \"value\": %" PRId64 "}",
             value < 0 ? "int64" : "uint64", value);
    return kymo__json_text(b, ",{\"name\": ") |
           kymo__et_add_text(b, name, strlen(name), KYMO__ET_JSON) | kymo__json_text(b, text);
}

/* One of the attributes that every node has: that of OP, or an empty one. */
static int add_usual(struct kymo_buffer *b, const struct kymo_opcall *op, const char *name)
{
    const struct kymo_opattribute *found = kymo__et_attribute(op, name);
    const char *text = found ? found->text : "";
    size_t length = found ? found->length : 0;
    const char *slash =
        strcmp(name, "kernel_file") == 0 && length ? memrchr(text, '/', length) : NULL;
    if (slash) { /* only the name of the file */
        length -= (size_t)(slash + 1 - text);
        text = slash + 1;
    }
    return add_text_attribute(b, name, text, length);
}

static const char *const usual[] = {"kernel_backend", "kernel_file", "tensor_range"};
enum { USUAL = sizeof(usual) / sizeof(usual[0]) };

static bool is_usual(const char *name)
{
    for (size_t i = 0; i < USUAL; i++)
        if (strcmp(name, usual[i]) == 0)
            return true;
    return false;
}

static int add_others(struct kymo_buffer *b, const struct kymo_opcall *op, bool has_stream)
{
    int rc = 0;
    for (size_t i = 0; i < op->attribute_count; i++) {
        const struct kymo_opattribute *a = &op->attributes[i];
        int64_t value;
        if (is_usual(a->name) || (has_stream && strcmp(a->name, "stream") == 0))
            continue;
        rc |= kymo__op_attribute_integer(a, &value)
                  ? add_int_attribute(b, a->name, value)
                  : add_text_attribute(b, a->name, a->text, a->length);
    }
    if (strcmp(op->name, "record_param_comms") == 0 && !kymo__et_attribute(op, "collective_name"))
        rc |= add_text_attribute(b, "debug", "missing comms info", 18);
    if (op->flags & (KYMO__OPEN_AT_END | KYMO__END_LOST))
        rc |= add_text_attribute(b, "finished", "false", 5);
    const char *cut = kymo__et_cut(op);
    if (cut)
        rc |= add_text_attribute(b, KYMO__ET_CUT, cut, strlen(cut));
    return rc;
}

static int add_attributes(struct kymo_buffer *b, const struct kymo_opcall *op, bool has_stream)
{
    char text[512];
    snprintf(text, sizeof(text),
             ", \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": %" PRIu64
             "},{\"name\": \"fw_parent\", \"type\": \"uint64\", \"value\": %" PRIu64
             "},{\"name\": \"seq_id\", \"type\": \"int64\", \"value\": %" PRId64
             "},{\"name\": \"scope\", \"type\": \"uint64\", \"value\": %" PRIu32
             "},{\"name\": \"tid\", \"type\": \"uint64\", \"value\": %" PRIu64
             "},{\"name\": \"fw_tid\", \"type\": \"uint64\", \"value\": %" PRIu64 "}",
             op->rf_id, op->forward, op->seq, op->scope, op->tid, op->fw_tid);
    int rc = kymo__json_text(b, text) |
             add_text_attribute(b, "op_schema", op->schema, strlen(op->schema));
    for (size_t i = 0; i < USUAL; i++)
        rc |= add_usual(b, op, usual[i]);
    return rc | add_others(b, op, has_stream) | kymo__json_text(b, "]}");
}

/* ---- nodes ---- */

static int add_values(struct kymo_buffer *b, const char *what, const struct kymo_opdata *values,
                      const int64_t *stream)
{
    static const struct {
        enum kymo_et_list list;
        const char *before;
    } lists[] = {{KYMO__ET_VALUES, "\": {\"values\": "},
                 {KYMO__ET_SHAPES, ", \"shapes\": "},
                 {KYMO__ET_TYPES, ", \"types\": "},
                 {KYMO__ET_STRIDES, ", \"strides\": "}};
    int rc = kymo__json_text(b, ", \"") | kymo__json_text(b, what);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        rc |= kymo__json_text(b, lists[i].before) |
              kymo__et_add_list(b, values, lists[i].list, KYMO__ET_JSON, stream);
    return rc | kymo__json_text(b, "}");
}

/* When OP began, how long it took, in microseconds, and what its thread waited for. PyTorch does not
   write it; Chakra's tools read it under these names. */
static int add_times(struct kymo_buffer *b, const struct et *et, const struct kymo_opcall *op)
{
    char text[192], *at = text;
    at = KYMO__JSON_PUT(at, ", \"ts\": ");
    at = kymo__json_time(at, op->start + et->shift);
    at = KYMO__JSON_PUT(at, ", \"inclusive_dur\": ");
    at = kymo__json_time(at, op->end - op->start);
    at = KYMO__JSON_PUT(at, ", \"exclusive_dur\": ");
    at = kymo__json_time(at, op->own);
    if (op->across) {
        at = KYMO__JSON_PUT(at, ", \"inter_thread_dep\": ");
        at = kymo__json_uint(at, op->across);
    }
    return kymo__buffer_add(b, text, (size_t)(at - text));
}

/* Write OP; without times if it is a thread or the process. */
static int write_node(struct et *et, const struct kymo_opcall *op, bool timed)
{
    struct kymo_buffer *b = &et->node;
    char text[96];
    int64_t stream;
    bool has_stream = kymo__et_stream(op, &stream);
    b->len = 0;
    snprintf(text, sizeof(text), "%s{\"id\": %" PRIu64 ", \"name\": ", et->more ? ",\n" : "\n",
             op->id);
    int rc =
        kymo__json_text(b, text) | kymo__et_add_text(b, op->name, strlen(op->name), KYMO__ET_JSON);
    snprintf(text, sizeof(text), ", \"ctrl_deps\": %" PRIu64, op->parent);
    rc |= kymo__json_text(b, text) | (timed ? add_times(b, et, op) : 0) |
          add_values(b, "inputs", &op->inputs, has_stream ? &stream : NULL) |
          add_values(b, "outputs", &op->outputs, NULL) | add_attributes(b, op, has_stream);
    et->more = true;
    if (rc)
        return -ENOMEM;
    kymo__outfile_add(et->out, b->bytes, b->len);
    return et->out->error;
}

static int on_end(void *arg, struct kymo_opcall *op)
{
    return write_node(arg, op, true);
}

static int on_thread(void *arg, const struct kymo_op_thread *thread)
{
    const struct kymo_opcall node = {
        .name = KYMO__ET_THREAD_NAME,
        .id = thread->id,
        .parent = KYMO__OP_PROCESS,
        .seq = -1,
        .scope = KYMO__OP_USER_SCOPE,
        .tid = thread->tid,
        .schema = "",
    };
    return write_node(arg, &node, false);
}

static int write_process(struct et *et)
{
    const struct kymo_opcall node = {
        .name = PROCESS_NAME,
        .id = KYMO__OP_PROCESS,
        .parent = KYMO__OP_PROCESS,
        .seq = -1,
        .scope = KYMO__OP_USER_SCOPE,
        .schema = "",
    };
    return write_node(et, &node, false);
}

/* ---- the file ---- */

void kymo__et_local_time(const struct kymo_info *info, char text[KYMO__ET_TIME])
{
    time_t seconds = (time_t)(info->wall_start / 1000000000);
    struct tm parts;
    *text = '\0';
    if (localtime_r(&seconds, &parts))
        strftime(text, KYMO__ET_TIME, "%Y-%m-%d %H:%M:%S", &parts);
}

static int write_beginning(struct et *et, const struct kymo_info *info, const char *extra)
{
    struct kymo_buffer b = {0};
    char text[256], local[KYMO__ET_TIME];
    kymo__et_local_time(info, local);
    snprintf(text, sizeof(text),
             "{\"schema\": \"" KYMO__ET_SCHEMA "\", \"kymograph\": {\"version\": \"" KYMO_VERSION
             "\"}, \"pid\": %" PRId64 ", \"time\": \"%s\", \"start_ts\": %" PRId64 ",\n",
             info->pid, local, info->start / 1000000);
    int rc = kymo__json_text(&b, text) | kymo__json_text(&b, extra ? extra : "") |
             kymo__json_text(&b, "\"nodes\": [");
    if (rc == 0)
        kymo__outfile_add(et->out, b.bytes, b.len);
    kymo__buffer_fini(&b);
    return rc ? -ENOMEM : et->out->error;
}

static int write_end(struct et *et, kymo_ns end)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "\n], \"finish_ts\": %" PRId64 "}\n", end / 1000000);
    kymo__outfile_add(et->out, text, (size_t)length);
    return et->out->error;
}

int kymo__et_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                   struct kymo_outfile *out)
{
    struct kymo_info info = {.size = sizeof(info)};
    struct et et = {.out = out};
    const struct kymo_ops_visitor visitor = {.arg = &et, .thread = on_thread, .end = on_end};
    kymo_capture_info(capture, &info);
    et.shift = info.wall_start - info.start;
    int rc = write_beginning(&et, &info, options->extra);
    if (rc == 0)
        rc = kymo__operators_read_ahead(capture, options, &visitor);
    if (rc == 0)
        rc = write_process(&et);
    if (rc == 0)
        rc = write_end(&et, options->to < info.end ? options->to : info.end);
    kymo__buffer_fini(&et.node);
    return rc;
}
