/* pprof.c — see pprof.h.

   The file is one message of profile.proto, written by hand. A field is its number and wire
   type, then a varint, or a length and that many bytes. What is used of it:

       Profile   1 sample_type, 2 sample, 3 mapping, 4 location, 5 function, 6 string_table,
                 9 time_nanos, 10 duration_nanos, 11 period_type, 12 period, 13 comment,
                 14 default_sample_type
       ValueType 1 type, 2 unit
       Sample    1 location_id, the innermost first, 2 value, 3 label
       Label     1 key, 2 str, 3 num
       Mapping   1 id, 2 memory_start, 3 memory_limit, 4 file_offset, 5 filename, 6 build_id,
                 7 has_functions, 8 has_filenames, 9 has_line_numbers
       Location  1 id, 2 mapping_id, 3 address, 4 line
       Line      1 function_id, 2 line
       Function  1 id, 2 name, 4 filename, 5 start_line

   Texts are numbers of string_table's entries, whose first is "". Callable C is function and
   location C + 1; what stands for hidden calls comes after the last. A function's system_name
   stays empty: where it equals the name, pprof takes names like f.<locals>.g for C++. */
#include "pprof.h"

#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "buffer.h"
#include "gather.h"
#include "pprof_parts.h"
#include "proto.h"
#include "strtab.h"
#include "utf8.h"
#include "varint.h"

/* ---- fields; what fails is noted ---- */

/* A zero is not written. */
void kymo__pprof_varint(struct kymo_pprof *p, struct kymo_buffer *b, unsigned field, uint64_t value)
{
    struct kymo_proto proto = {.out = b};
    if (value)
        kymo__proto_uint(&proto, field, value);
    p->failed = proto.error ? proto.error : p->failed;
}

void kymo__pprof_bytes(struct kymo_pprof *p, struct kymo_buffer *b, unsigned field,
                       const void *bytes, size_t len)
{
    struct kymo_proto proto = {.out = b};
    kymo__proto_bytes(&proto, field, bytes, len);
    p->failed = proto.error ? proto.error : p->failed;
}

static void write_bytes(struct kymo_pprof *p, unsigned field, const void *bytes, size_t len)
{
    uint8_t head[2 * KYMO__VARINT_MAX], *at = kymo__varint_put(head, (uint64_t)field << 3 | 2);
    at = kymo__varint_put(at, len);
    kymo__outfile_add(p->g.out, head, (size_t)(at - head));
    kymo__outfile_add(p->g.out, bytes, len);
}

/* Write the finished message as FIELD of the profile. */
void kymo__pprof_message(struct kymo_pprof *p, unsigned field)
{
    write_bytes(p, field, p->message.bytes, p->message.len);
    p->message.len = 0;
}

void kymo__pprof_number(struct kymo_pprof *p, unsigned field, uint64_t value)
{
    uint8_t bytes[2 * KYMO__VARINT_MAX], *at = kymo__varint_put(bytes, (uint64_t)field << 3);
    at = kymo__varint_put(at, value);
    kymo__outfile_add(p->g.out, bytes, (size_t)(at - bytes));
}

/* ---- texts ---- */

/* Return the number of TEXT; new texts are written to the table. */
uint64_t kymo__pprof_string(struct kymo_pprof *p, const char *text)
{
    p->text.len = 0;
    while (*text) {
        char bytes[4];
        int len = kymo__utf8_encode(kymo__utf8_next(&text), bytes);
        if (kymo__buffer_add(&p->text, bytes, (size_t)len) < 0)
            p->failed = -ENOMEM;
    }
    if (!p->text.len)
        return 0;
    int added = 0;
    int64_t id = kymo__strtab_add(&p->strings, (const char *)p->text.bytes, p->text.len, &added);
    if (id < 0) {
        p->failed = (int)id;
        return 0;
    }
    if (added)
        write_bytes(p, PROFILE_STRING, p->text.bytes, p->text.len);
    return (uint64_t)id;
}

/* ---- samples ---- */

void kymo__pprof_sample(struct kymo_pprof *p, uint32_t thread)
{
    p->inner.len = 0;
    kymo__pprof_varint(p, &p->inner, LABEL_KEY, p->word_thread);
    kymo__pprof_varint(p, &p->inner, LABEL_STR, kymo__pprof_string(p, p->g.threads[thread]));
    kymo__pprof_bytes(p, &p->message, SAMPLE_LABEL, p->inner.bytes, p->inner.len);
    p->inner.len = 0;
    struct kymo_thread_info info = {.size = sizeof(info)};
    kymo_capture_thread(p->g.capture, thread, &info);
    kymo__pprof_varint(p, &p->inner, LABEL_KEY, p->word_tid);
    kymo__pprof_varint(p, &p->inner, LABEL_NUM, (uint64_t)info.tid);
    kymo__pprof_bytes(p, &p->message, SAMPLE_LABEL, p->inner.bytes, p->inner.len);
    kymo__pprof_message(p, PROFILE_SAMPLE);
}

static int write_path(void *arg, const struct kymo_path *path)
{
    struct kymo_pprof *p = arg;
    const struct kymo_node *node = path->node;
    uint32_t deeper = (uint32_t)p->g.survey->callables.count;
    if (!node->self && !node->calls)
        return 0;
    p->inner.len = 0;
    for (size_t i = path->count; i-- > 0;) {
        uint32_t callable = path->callables[i] == KYMO__DEEPER ? deeper : path->callables[i];
        p->used[callable] = true;
        if (kymo__buffer_add_varint(&p->inner, (uint64_t)callable + 1) < 0)
            p->failed = -ENOMEM;
    }
    kymo__pprof_bytes(p, &p->message, SAMPLE_LOCATION, p->inner.bytes, p->inner.len);
    p->inner.len = 0;
    if (kymo__buffer_add_varint(&p->inner, node->calls) < 0 ||
        kymo__buffer_add_varint(&p->inner, (uint64_t)node->self) < 0)
        p->failed = -ENOMEM;
    kymo__pprof_bytes(p, &p->message, SAMPLE_VALUE, p->inner.bytes, p->inner.len);
    kymo__pprof_sample(p, path->thread);
    return p->failed;
}

/* ---- functions ---- */

static void write_function(struct kymo_pprof *p, uint64_t id, const char *name, const char *file,
                           uint32_t line)
{
    uint64_t name_id = kymo__pprof_string(p, *name ? name : "(unnamed)"),
             file_id = kymo__pprof_string(p, file);
    kymo__pprof_varint(p, &p->message, FUNCTION_ID, id);
    kymo__pprof_varint(p, &p->message, FUNCTION_NAME, name_id);
    kymo__pprof_varint(p, &p->message, FUNCTION_FILE, file_id);
    kymo__pprof_varint(p, &p->message, FUNCTION_LINE, line);
    kymo__pprof_message(p, PROFILE_FUNCTION);
    p->inner.len = 0;
    kymo__pprof_varint(p, &p->inner, LINE_FUNCTION, id);
    kymo__pprof_varint(p, &p->inner, LINE_LINE, line);
    kymo__pprof_varint(p, &p->message, LOCATION_ID, id);
    kymo__pprof_varint(p, &p->message, LOCATION_MAPPING, 1);
    kymo__pprof_bytes(p, &p->message, LOCATION_LINE, p->inner.bytes, p->inner.len);
    kymo__pprof_message(p, PROFILE_LOCATION);
}

static int write_functions(struct kymo_pprof *p)
{
    const struct kymo_callables *callables = &p->g.survey->callables;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < callables->count; i++) {
        const struct kymo_callable *c = &callables->all[i];
        if (p->used[i])
            write_function(p, i + 1, c->name, c->file, c->line);
        rc = p->failed ? p->failed : kymo__gather_step(&p->g);
    }
    if (p->used[callables->count])
        write_function(p, callables->count + 1, KYMO__DEEPER_NAME, "", 0);
    return rc;
}

/* ---- the whole ---- */

void kymo__pprof_type(struct kymo_pprof *p, unsigned field, uint64_t type, uint64_t unit)
{
    kymo__pprof_varint(p, &p->message, TYPE_TYPE, type);
    kymo__pprof_varint(p, &p->message, TYPE_UNIT, unit);
    kymo__pprof_message(p, field);
}

void kymo__pprof_head(struct kymo_pprof *p, const struct kymo_pprof_type *types, size_t count,
                      uint64_t period)
{
    const struct kymo_survey *s = p->g.survey;
    uint64_t type = 0, unit = 0;
    write_bytes(p, PROFILE_STRING, "", 0);
    for (size_t i = 0; i < count; i++) {
        type = kymo__pprof_string(p, types[i].type);
        unit = kymo__pprof_string(p, types[i].unit);
        kymo__pprof_type(p, PROFILE_SAMPLE_TYPE, type, unit);
    }
    p->word_thread = kymo__pprof_string(p, "thread");
    p->word_tid = kymo__pprof_string(p, "thread_id");
    uint64_t process = kymo__pprof_string(p, p->g.process),
             comment = kymo__pprof_string(p, "kymograph " KYMO_VERSION);
    kymo__pprof_type(p, PROFILE_PERIOD_TYPE, type, unit);
    kymo__pprof_number(p, PROFILE_PERIOD, period);
    kymo__pprof_number(p, PROFILE_DEFAULT, type);
    kymo__pprof_number(p, PROFILE_COMMENT, comment);
    int64_t wall = kymo__ns_add(p->g.info.wall_start, s->from - p->g.info.start);
    kymo__pprof_number(p, PROFILE_TIME, (uint64_t)wall);
    kymo__pprof_number(p, PROFILE_DURATION, s->to > s->from ? (uint64_t)(s->to - s->from) : 0);
    kymo__pprof_varint(p, &p->message, MAPPING_ID, 1);
    kymo__pprof_varint(p, &p->message, MAPPING_FILE, process);
    kymo__pprof_varint(p, &p->message, MAPPING_HAS_FUNCTIONS, 1);
    kymo__pprof_varint(p, &p->message, MAPPING_HAS_FILES, 1);
    kymo__pprof_varint(p, &p->message, MAPPING_HAS_LINES, 1);
    kymo__pprof_message(p, PROFILE_MAPPING);
}

int kymo__pprof_write(struct kymo_capture *capture, const struct kymo_export_options *options,
                      struct kymo_outfile *out)
{
    struct kymo_pprof p = {0};
    int rc = kymo__gather(&p.g, capture, options, out, true);
    if (rc == 0 && p.g.samples) {
        rc = kymo__pprof_samples(&p); /* of memory too */
        goto done;
    }
    if (rc == 0) {
        p.used = kymo__alloc_zeroed(p.g.survey->callables.count + 1);
        rc = p.used ? 0 : -ENOMEM;
    }
    if (rc == 0) {
        /* Nothing is sampled: every nanosecond counts. */
        static const struct kymo_pprof_type types[] = {{"calls", "count"}, {"wall", "nanoseconds"}};
        kymo__pprof_head(&p, types, 2, 1);
        rc = p.failed;
    }
    if (rc == 0)
        rc = kymo__gather_paths(&p.g, write_path, &p);
    if (rc == 0)
        rc = write_functions(&p);
    if (rc == 0)
        rc = p.failed;
done:
    kymo__free(p.used);
    kymo__buffer_fini(&p.message);
    kymo__buffer_fini(&p.inner);
    kymo__buffer_fini(&p.text);
    kymo__strtab_fini(&p.strings);
    kymo__gather_fini(&p.g);
    return rc;
}
