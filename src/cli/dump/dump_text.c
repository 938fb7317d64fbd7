/* dump_text.c — prints an event as columns: time, thread, kind, the name indented by the spans
   open on its thread, then details.

   On a terminal a line is one row: the place of a call loses its start or is left out, then the
   details lose their end. Output to a file or program is complete. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "fields.h"
#include "naming.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

enum {
    KIND_CELLS = 11,
    DEEPEST = 32,    /* levels that are indented; on a terminal fewer */
    LEAST_REST = 20, /* cells of a line for name and details, on the narrowest terminal */
    SECOND = 1000000000,
};

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

/* Divide the width of the terminal. */
static void set_widths(struct cli_dump *dump)
{
    int whole = kymo__cli_terminal_width();
    int others = (int)strlen(spell_time(dump, dump->info->end).text) + KIND_CELLS + 3 * 2;
    int threads = dump->threads->cells, narrow = whole - others - LEAST_REST;
    if (whole && threads > whole / 5)
        threads = whole / 5;
    if (whole && threads > narrow)
        threads = narrow;
    if (threads < 6)
        threads = 6;
    int rest = whole - others - threads;
    dump->time_cells = others - KIND_CELLS - 3 * 2;
    dump->thread_cells = threads;
    dump->rest_cells = !whole ? 0 : rest < LEAST_REST ? LEAST_REST : rest;
    /* Leave room for "(100 deep) " and the beginning of a name. */
    int levels = dump->rest_cells / 4, most = (dump->rest_cells - 18) / 2;
    levels = levels < most ? levels : most;
    dump->deepest = !whole || levels > DEEPEST ? DEEPEST : (uint32_t)levels;
}

void kymo__cli_dump_heading(struct cli_dump *dump)
{
    set_widths(dump);
    printf("%s%*s  %-*s  %-*s  %s%s\n", kymo__cli_colour(CLI_DIM), dump->time_cells, "TIME",
           dump->thread_cells, "THREAD", KIND_CELLS, "KIND", "NAME", kymo__cli_colour(CLI_PLAIN));
}

/* The depth of EVENT; updates the depth for the next one. A window may open inside spans: a span
   that ends without having begun in it is shown at depth 0. */
static uint32_t depth_of(struct cli_dump *dump, const struct kymo_event *event)
{
    uint32_t *depth = &dump->depth[kymo__cli_threads_slot(dump->threads, event->thread)];
    if (event->kind == KYMO_ENTER)
        return (*depth)++;
    if (event->kind == KYMO_LEAVE)
        return *depth > 0 ? --*depth : 0;
    return *depth;
}

/* Print the innermost frames of STACK, as captured. */
static void print_frames(FILE *out, const struct cli_dump *dump, uint32_t stack)
{
    enum { SHOWN = 4 };
    struct kymo_stack_frame frames[SHOWN];
    size_t count = kymo_capture_stack(dump->capture, stack, frames, SHOWN);
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        fputs(i > 0 ? " < " : "", out);
        const char *slash = strrchr(frames[i].path, '/');
        if (frames[i].kind == KYMO_FRAME_MANAGED) {
            kymo__cli_put_clean(out, *frames[i].name ? frames[i].name : "(unknown)");
            if (frames[i].line)
                fprintf(out, ":%u", frames[i].line);
        } else if (frames[i].kind == KYMO_FRAME_NATIVE) {
            kymo__cli_put_clean(out, slash ? slash + 1 : frames[i].path);
            fprintf(out, "+0x%" PRIx64, frames[i].address);
        } else {
            fputs("(unknown)", out);
        }
    }
    if (count > SHOWN)
        fprintf(out, " < %zu more", count - SHOWN);
}

static void print_sample(FILE *out, const struct cli_dump *dump, const struct kymo_event *event)
{
    fprintf(out, "stack %" PRIu32 ", %s: ", (uint32_t)event->id,
            kymo__cli_count(event->id >> 32, "period", "periods").text);
    print_frames(out, dump, (uint32_t)event->id);
}

static void print_fields(FILE *out, const struct cli_dump *dump, const struct kymo_event *event)
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
        putc(' ', out);
        kymo__cli_put_clean(out, kymo__key_name(reader, arg.key));
        putc('=', out);
        kymo__cli_put_clean(out, (const char *)text.bytes);
        if (arg.type == KYMO_FIELD_STACK && arg.value) {
            fputs(" (", out);
            print_frames(out, dump, (uint32_t)arg.value);
            putc(')', out);
        }
    }
    kymo__buffer_fini(&text);
}

static void print_extra(FILE *out, const struct cli_dump *dump, const struct kymo_event *event)
{
    switch (event->kind) {
    case KYMO_COUNTER:
        fprintf(out, " = %.10g", event->value);
        break;
    case KYMO_FLOW_OUT:
    case KYMO_FLOW_IN:
    case KYMO_ASYNC_BEGIN:
    case KYMO_ASYNC_END:
        fprintf(out, " id=%" PRIu64, event->id);
        break;
    case KYMO_ARG:
        fprintf(out, " = %" PRIu64, event->id);
        break;
    case KYMO_ARG_TEXT:
        fputs(" = ", out);
        kymo__cli_put_clean(out, event->text);
        break;
    case KYMO_PAYLOAD:
        print_fields(out, dump, event);
        break;
    case KYMO_OFF:
        fprintf(out, " no longer recorded, after %s",
                kymo__cli_count(event->id, "call", "calls").text);
        break;
    case KYMO_RESYNC:
        fputs("recording of calls resumes after a pause", out);
        break;
    case KYMO_SAMPLE:
        print_sample(out, dump, event);
        break;
    case KYMO_COMPLETE:
        fprintf(out, " (%s)", kymo__cli_duration((int64_t)event->id).text);
        break;
    case KYMO_GAP:
        fprintf(out, "%s missing: %s", kymo__cli_count(event->id, "record", "records").text,
                kymo__cli_name_gap(event->detail).phrase);
        return;
    default:
        break;
    }
    const char *detail = kymo__cli_name_detail(event->kind, event->detail);
    if (detail)
        fprintf(out, " [%s]", detail);
}

/* The name of EVENT and its details. */
static void print_what(FILE *out, const struct cli_dump *dump, const struct kymo_event *event)
{
    kymo__cli_put_clean(out, event->name);
    print_extra(out, dump, event);
}

/* Where a call's function is. */
static void print_place(FILE *out, const struct kymo_event *event)
{
    kymo__cli_put_clean(out, event->file);
    if (event->line > 0)
        fprintf(out, ":%u", event->line);
}

static bool has_place(const struct kymo_event *event)
{
    return event->kind == KYMO_ENTER && *event->file;
}

/* Print name, details and place, however long they are. */
static void print_whole(const struct cli_dump *dump, const struct kymo_event *event)
{
    print_what(stdout, dump, event);
    if (!has_place(event))
        return;
    printf("  %s", kymo__cli_colour(CLI_DIM));
    print_place(stdout, event);
    fputs(kymo__cli_colour(CLI_PLAIN), stdout);
}

static void print_fitting(const struct cli_dump *dump, const struct kymo_event *event, int cells)
{
    char *text = NULL;
    size_t size, split;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        print_whole(dump, event);
        return;
    }
    print_what(out, dump, event);
    putc('\0', out);
    fflush(out);
    split = size;
    if (has_place(event))
        print_place(out, event);
    if (fclose(out) == 0)
        kymo__cli_put_placed(text, text + split, cells);
    free(text);
}

static void print_label(const char *label, int cells)
{
    int used = kymo__cli_cells(label);
    if (used > cells)
        printf("%.*s…", kymo__cli_fit(label, cells - 1), label);
    else
        printf("%s%*s", label, cells - used, "");
}

void kymo__cli_dump_text(struct cli_dump *dump, const struct kymo_event *event)
{
    uint32_t slot = kymo__cli_threads_slot(dump->threads, event->thread);
    uint32_t depth = depth_of(dump, event);
    char indent[2 * DEEPEST + 32];

    printf("%*s  ", dump->time_cells, spell_time(dump, event->time).text);
    print_label(dump->threads->label[slot], dump->thread_cells);
    printf("  %-*s  ", KIND_CELLS, kymo__cli_name_kind(event->kind));
    if (depth > dump->deepest)
        snprintf(indent, sizeof indent, "%*s(%u deep) ", (int)(2 * dump->deepest), "", depth);
    else
        snprintf(indent, sizeof indent, "%*s", (int)(2 * depth), "");
    fputs(indent, stdout);
    if (dump->rest_cells)
        print_fitting(dump, event, dump->rest_cells - (int)strlen(indent));
    else
        print_whole(dump, event);
    putchar('\n');
}
