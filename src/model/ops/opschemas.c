/* opschemas.c — see opschemas.h. */
#include "opschemas.h"

#include <errno.h>
#include <kymo/payload.h>
#include <string.h>

#include "alloc.h"
#include "fields.h"

#define FIRST_LOOK ((kymo_ns)1000000) /* before the end of the capture */

static bool is_schema(const struct kymo_reader *r, uint32_t key)
{
    return key < r->key_count && r->keys[key].schema &&
           strcmp(kymo__key_name(r, key), "operator.schema") == 0;
}

static bool has_schemas(const struct kymo_reader *r)
{
    for (uint32_t key = 1; key < r->key_count; key++)
        if (is_schema(r, key))
            return true;
    return false;
}

static int take_schema(struct kymo_op_schemas *s, const struct kymo_reader *r,
                       const struct kymo_event *event)
{
    struct kymo_fields fields;
    struct kymo_call_arg arg;
    uint64_t name = 0;
    kymo__fields_begin(&fields, r, event);
    while (kymo__fields_next(&fields, &arg)) {
        if (arg.type == KYMO_FIELD_NAME)
            name = arg.value;
        if (arg.type != KYMO_FIELD_TEXT || !name || name >= s->count || s->whole[name])
            continue;
        s->whole[name] = kymo__alloc(arg.length + 1);
        if (!s->whole[name])
            return -ENOMEM;
        memcpy(s->whole[name], arg.bytes, arg.length);
        s->whole[name][arg.length] = '\0';
    }
    return 0;
}

/* Read the schemas from FROM on, and store when the first of them was recorded in *FIRST. */
static int read_from(struct kymo_op_schemas *s, struct kymo_capture *capture, kymo_ns from,
                     kymo_ns *first)
{
    struct kymo_window window = {sizeof(window), from, INT64_MAX, -1};
    struct kymo_event event = {.size = sizeof(event)};
    struct kymo_cursor *cursor = NULL;
    int rc = kymo_cursor_new(capture, &window, &cursor);
    while (rc == 0 && (rc = kymo_cursor_next(cursor, &event)) > 0) {
        rc = 0;
        if (event.kind != KYMO_PAYLOAD || !is_schema(capture->reader, event.key))
            continue;
        *first = event.time < *first ? event.time : *first;
        rc = take_schema(s, capture->reader, &event);
    }
    kymo_cursor_free(cursor);
    return rc;
}

/* Schemas are recorded one after the other, at the end: look there first. A capture that was merged
   from several has as many ends. */
int kymo__op_schemas_read(struct kymo_op_schemas *s, struct kymo_capture *capture)
{
    struct kymo_info info = {.size = sizeof(info)};
    *s = (struct kymo_op_schemas){0};
    if (!has_schemas(capture->reader))
        return 0;
    s->whole = kymo__alloc_zeroed(capture->reader->key_count * sizeof(*s->whole));
    if (!s->whole)
        return -ENOMEM;
    s->count = capture->reader->key_count;
    kymo_capture_info(capture, &info);
    struct kymo_thread_info last = {.size = sizeof(last)};
    if (info.threads)
        kymo_capture_thread(capture, (uint32_t)info.threads - 1, &last);
    for (kymo_ns look = last.process ? INT64_MAX : FIRST_LOOK;;) {
        bool all = look >= info.end - info.start;
        kymo_ns from = all ? INT64_MIN : info.end - look, first = INT64_MAX;
        int rc = read_from(s, capture, from, &first);
        /* Others may have been recorded shortly before the first that was found. */
        if (rc < 0 || all || (first != INT64_MAX && first - from > look / 2))
            return rc;
        look = look > INT64_MAX / 10 ? INT64_MAX : 10 * look;
    }
}

void kymo__op_schemas_fini(struct kymo_op_schemas *s)
{
    for (size_t i = 0; i < s->count; i++)
        kymo__free(s->whole[i]);
    kymo__free(s->whole);
    *s = (struct kymo_op_schemas){0};
}
