/* dump_json.c — an event as one JSON object on one line. The fields are documented in
   docs/command.md and keep their meaning; a field that does not apply is left out. */
#include <stdio.h>

#include "dump.h"
#include "json.h"
#include "naming.h"

static void write_own(struct cli_json *json, const struct kymo_event *event)
{
    switch (event->kind) {
    case KYMO_COUNTER:
        kymo__cli_json_double(json, "value", event->value);
        break;
    case KYMO_FLOW_OUT:
    case KYMO_FLOW_IN:
    case KYMO_ASYNC_BEGIN:
    case KYMO_ASYNC_END:
        kymo__cli_json_uint(json, "id", event->id);
        break;
    case KYMO_ENTER:
        if (event->id)
            kymo__cli_json_uint(json, "id", event->id);
        break;
    case KYMO_COMPLETE:
        kymo__cli_json_uint(json, "duration_ns", event->id);
        break;
    case KYMO_ARG:
        kymo__cli_json_uint(json, "value", event->id);
        break;
    case KYMO_OFF:
        kymo__cli_json_uint(json, "calls", event->id);
        break;
    case KYMO_GAP:
        kymo__cli_json_uint(json, "lost_records", event->id);
        break;
    default:
        break;
    }
}

void kymo__cli_dump_json(struct cli_dump *dump, const struct kymo_event *event)
{
    struct cli_json json = {.out = stdout};
    int64_t since = event->time - dump->info->start;
    kymo__cli_json_object(&json, NULL);
    kymo__cli_json_int(&json, "time_ns", since);
    if (dump->absolute)
        kymo__cli_json_int(&json, "wall_ns", dump->info->wall_start + since);
    if (event->thread < dump->threads->count)
        kymo__cli_json_uint(&json, "thread", event->thread);
    else
        kymo__cli_json_null(&json, "thread");
    kymo__cli_json_string(&json, "kind", kymo__cli_name_kind(event->kind));
    if (event->kind != KYMO_GAP)
        kymo__cli_json_string(&json, "name", event->name);
    write_own(&json, event);
    const char *detail = kymo__cli_name_detail(event->kind, event->detail);
    if (detail)
        kymo__cli_json_string(&json, event->kind == KYMO_GAP ? "reason" : "detail", detail);
    if (*event->file)
        kymo__cli_json_string(&json, "file", event->file);
    if (event->line > 0)
        kymo__cli_json_uint(&json, "line", event->line);
    kymo__cli_json_end(&json);
    putchar('\n');
}
