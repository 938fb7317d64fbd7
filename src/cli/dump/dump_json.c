/* dump_json.c — prints an event as one JSON object on one line. The fields are documented in
   docs/command.md and are stable; fields that do not apply are left out. */
#include <stdio.h>

#include "dump.h"
#include "fields.h"
#include "jsonout.h"
#include "memory.h"
#include "naming.h"

/* The frames of STACK as they were captured, the innermost first. */
static void write_frames(struct kymo_jsonout *json, const struct kymo_capture *capture,
                         uint32_t stack)
{
    size_t count = kymo_capture_stack(capture, stack, NULL, 0);
    struct kymo_stack_frame *frames = kymo__cli_array(count, sizeof *frames);
    kymo_capture_stack(capture, stack, frames, count);
    kymo__jsonout_array(json, "frames");
    for (size_t i = 0; i < count; i++) {
        const struct kymo_stack_frame *f = &frames[i];
        kymo__jsonout_object(json, NULL);
        if (f->kind == KYMO_FRAME_MANAGED) {
            kymo__jsonout_string(json, "name", f->name);
            kymo__jsonout_string(json, "file", f->file);
            kymo__jsonout_uint(json, "line", f->line);
            kymo__jsonout_uint(json, "first_line", f->first_line);
        } else if (f->kind == KYMO_FRAME_NATIVE) {
            kymo__jsonout_string(json, "module", f->path);
            kymo__jsonout_uint(json, "address", f->address);
        }
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    kymo__cli_free(frames);
}

static void write_fields(struct kymo_jsonout *json, const struct cli_dump *dump,
                         const struct kymo_event *event)
{
    struct kymo_buffer text = {0};
    if (kymo__payload_json(&text, dump->capture->reader, event) == 0)
        kymo__jsonout_raw(json, "fields", (const char *)text.bytes);
    kymo__buffer_fini(&text);
    /* Of several stacks the first. */
    struct kymo_fields fields;
    struct kymo_call_arg arg;
    kymo__fields_begin(&fields, dump->capture->reader, event);
    while (kymo__fields_next(&fields, &arg))
        if (arg.type == KYMO_FIELD_STACK && arg.value) {
            write_frames(json, dump->capture, (uint32_t)arg.value);
            break;
        }
}

static void write_own(struct kymo_jsonout *json, const struct cli_dump *dump,
                      const struct kymo_event *event)
{
    switch (event->kind) {
    case KYMO_COUNTER:
        kymo__jsonout_double(json, "value", event->value);
        break;
    case KYMO_FLOW_OUT:
    case KYMO_FLOW_IN:
    case KYMO_ASYNC_BEGIN:
    case KYMO_ASYNC_END:
        kymo__jsonout_uint(json, "id", event->id);
        break;
    case KYMO_ENTER:
        if (event->id)
            kymo__jsonout_uint(json, "id", event->id);
        break;
    case KYMO_COMPLETE:
        kymo__jsonout_uint(json, "duration_ns", event->id);
        break;
    case KYMO_ARG:
        kymo__jsonout_uint(json, "value", event->id);
        break;
    case KYMO_ARG_TEXT:
        kymo__jsonout_string(json, "text", event->text);
        break;
    case KYMO_PAYLOAD:
        write_fields(json, dump, event);
        break;
    case KYMO_OFF:
        kymo__jsonout_uint(json, "calls", event->id);
        break;
    case KYMO_SAMPLE:
        kymo__jsonout_uint(json, "stack", (uint32_t)event->id);
        kymo__jsonout_uint(json, "periods", event->id >> 32);
        write_frames(json, dump->capture, (uint32_t)event->id);
        break;
    case KYMO_GAP:
        kymo__jsonout_uint(json, "lost_records", event->id);
        break;
    default:
        break;
    }
}

void kymo__cli_dump_json(struct cli_dump *dump, const struct kymo_event *event)
{
    struct kymo_jsonout json = {.out = stdout};
    int64_t since = event->time - dump->info->start;
    kymo__jsonout_object(&json, NULL);
    kymo__jsonout_int(&json, "time_ns", since);
    if (dump->absolute)
        kymo__jsonout_int(&json, "wall_ns", dump->info->wall_start + since);
    if (event->thread < dump->threads->count)
        kymo__jsonout_uint(&json, "thread", event->thread);
    else
        kymo__jsonout_null(&json, "thread");
    kymo__jsonout_string(&json, "kind", kymo__cli_name_kind(event->kind));
    if (event->kind != KYMO_GAP && event->kind != KYMO_SAMPLE)
        kymo__jsonout_string(&json, "name", event->name);
    write_own(&json, dump, event);
    const char *detail = kymo__cli_name_detail(event->kind, event->detail);
    if (detail)
        kymo__jsonout_string(&json, event->kind == KYMO_GAP ? "reason" : "detail", detail);
    if (*event->file)
        kymo__jsonout_string(&json, "file", event->file);
    if (event->line > 0)
        kymo__jsonout_uint(&json, "line", event->line);
    kymo__jsonout_end(&json);
    putchar('\n');
}
