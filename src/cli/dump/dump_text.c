/* dump_text.c — prints an event as columns: time, thread, kind, the name indented by the spans
   open on its thread, then details. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dump.h"
#include "fields.h"
#include "naming.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

enum { KIND_CELLS = 11, DEEPEST = 32, SECOND = 1000000000 };

/* Short captures show times in microseconds, others in seconds, always in full: --from and --to
   accept both forms. */
static struct cli_text spell_time(const struct cli_dump *dump, kymo_ns time)
{
    if (dump->absolute)
        return kymo__cli_wall_full(dump->info->wall_start + (time - dump->info->start));
    struct cli_text moment;
    int64_t since = time - dump->info->start;
    const char *sign = since < 0 ? "-" : "";
    uint64_t size = (uint64_t)(since < 0 ? -since : since);
    if (dump->info->end - dump->info->start < SECOND)
        snprintf(moment.text, sizeof moment.text, "%s%" PRIu64 ".%03uus", sign, size / 1000,
                 (unsigned)(size % 1000));
    else
        snprintf(moment.text, sizeof moment.text, "%s%" PRIu64 ".%09us", sign, size / SECOND,
                 (unsigned)(size % SECOND));
    return moment;
}

void kymo__cli_dump_heading(struct cli_dump *dump)
{
    dump->time_cells = (int)strlen(spell_time(dump, dump->info->end).text);
    int thread_cells = dump->threads->cells > 6 ? dump->threads->cells : 6;
    printf("%s%*s  %-*s  %-*s  %s%s\n", kymo__cli_colour(CLI_DIM), dump->time_cells, "TIME",
           thread_cells, "THREAD", KIND_CELLS, "KIND", "NAME", kymo__cli_colour(CLI_PLAIN));
}

/* The depth of EVENT; updates the depth for the next one. A window may open inside spans: a span
   that ends without having begun in it is shown at depth 0. */
static uint32_t place_of(struct cli_dump *dump, const struct kymo_event *event)
{
    uint32_t *depth = &dump->depth[kymo__cli_threads_slot(dump->threads, event->thread)];
    if (event->kind == KYMO_ENTER)
        return (*depth)++;
    if (event->kind == KYMO_LEAVE)
        return *depth > 0 ? --*depth : 0;
    return *depth;
}

/* Print the innermost frames of STACK, as captured. */
static void print_frames(const struct cli_dump *dump, uint32_t stack)
{
    enum { SHOWN = 4 };
    struct kymo_stack_frame frames[SHOWN];
    size_t count = kymo_capture_stack(dump->capture, stack, frames, SHOWN);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        fputs(i > 0 ? " < " : "", stdout);
        const char *slash = strrchr(frames[i].path, '/');
        if (frames[i].kind == KYMO_FRAME_MANAGED) {
            kymo__cli_put_clean(stdout, *frames[i].name ? frames[i].name : "(unknown)");
            printf(":%u", frames[i].line);
        } else if (frames[i].kind == KYMO_FRAME_NATIVE) {
            kymo__cli_put_clean(stdout, slash ? slash + 1 : frames[i].path);
            printf("+0x%" PRIx64, frames[i].address);
        } else {
            fputs("(unknown)", stdout);
        }
    }
    if (count > SHOWN)
        printf(" < %zu more", count - SHOWN);
}

static void print_sample(const struct cli_dump *dump, const struct kymo_event *event)
{
    printf("stack %" PRIu32 ", %s: ", (uint32_t)event->id,
           kymo__cli_count(event->id >> 32, "period", "periods").text);
    print_frames(dump, (uint32_t)event->id);
}

static void print_fields(const struct cli_dump *dump, const struct kymo_event *event)
{
    const struct kymo_reader *reader = dump->capture->reader;
    struct kymo_fields fields;
    struct kymo_call_arg arg;
    struct kymo_buffer text = {0};
    kymo__fields_begin(&fields, reader, event);
    while (kymo__fields_next(&fields, &arg)) {
        text.len = 0;
        if (kymo__arg_show(&text, reader, &arg) < 0)
            break;
        putchar(' ');
        kymo__cli_put_clean(stdout, kymo__key_name(reader, arg.key));
        putchar('=');
        kymo__cli_put_clean(stdout, (const char *)text.bytes);
        if (arg.type == KYMO_FIELD_STACK && arg.value) {
            fputs(" (", stdout);
            print_frames(dump, (uint32_t)arg.value);
            putchar(')');
        }
    }
    kymo__buffer_fini(&text);
}

static void print_extra(const struct cli_dump *dump, const struct kymo_event *event)
{
    switch (event->kind) {
    case KYMO_COUNTER:
        printf(" = %.10g", event->value);
        break;
    case KYMO_FLOW_OUT:
    case KYMO_FLOW_IN:
    case KYMO_ASYNC_BEGIN:
    case KYMO_ASYNC_END:
        printf(" id=%" PRIu64, event->id);
        break;
    case KYMO_ARG:
        printf(" = %" PRIu64, event->id);
        break;
    case KYMO_ARG_TEXT:
        fputs(" = ", stdout);
        kymo__cli_put_clean(stdout, event->text);
        break;
    case KYMO_PAYLOAD:
        print_fields(dump, event);
        break;
    case KYMO_OFF:
        printf(" no longer recorded, after %s", kymo__cli_count(event->id, "call", "calls").text);
        break;
    case KYMO_RESYNC:
        fputs("recording of calls resumes after a pause", stdout);
        break;
    case KYMO_SAMPLE:
        print_sample(dump, event);
        break;
    case KYMO_COMPLETE:
        printf(" (%s)", kymo__cli_duration((int64_t)event->id).text);
        break;
    case KYMO_GAP:
        printf("%s missing: %s", kymo__cli_count(event->id, "record", "records").text,
               kymo__cli_name_gap(event->detail).phrase);
        return;
    default:
        break;
    }
    const char *detail = kymo__cli_name_detail(event->kind, event->detail);
    if (detail)
        printf(" [%s]", detail);
    if (event->kind == KYMO_ENTER && *event->file) {
        fputs("  ", stdout);
        fputs(kymo__cli_colour(CLI_DIM), stdout);
        kymo__cli_put_clean(stdout, event->file);
        if (event->line > 0)
            printf(":%u", event->line);
        fputs(kymo__cli_colour(CLI_PLAIN), stdout);
    }
}

void kymo__cli_dump_text(struct cli_dump *dump, const struct kymo_event *event)
{
    uint32_t slot = kymo__cli_threads_slot(dump->threads, event->thread);
    const char *label = dump->threads->label[slot];
    int thread_cells = dump->threads->cells > 6 ? dump->threads->cells : 6;
    uint32_t depth = place_of(dump, event);

    printf("%*s  ", dump->time_cells, spell_time(dump, event->time).text);
    fputs(label, stdout);
    printf("%*s  %-*s  ", thread_cells - kymo__cli_cells(label), "", KIND_CELLS,
           kymo__cli_name_kind(event->kind));
    if (depth > DEEPEST)
        printf("%*s(%u deep) ", 2 * DEEPEST, "", depth);
    else
        printf("%*s", (int)(2 * depth), "");
    kymo__cli_put_clean(stdout, event->name);
    print_extra(dump, event);
    putchar('\n');
}
