/* heap_objects.c — the objects that survived, in `kymograph report --memory`: by type and the line that
   made them, with what keeps one of them alive.

   The recorder has them by stack, and one line makes objects on many stacks: an import, above all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "heap_report.h"
#include "memory.h"
#include "report_words.h"
#include "terminal.h"
#include "text.h"
#include "units.h"

struct group {
    const char *type, *path; /* the path of the largest part */
    struct kymo_callable made;
    uint64_t count, bytes; /* with what they own */
};

static int by_place(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    int order = strcmp(a->type, b->type);
    order = order ? order : strcmp(a->made.file, b->made.file);
    order = order ? order : (a->made.line > b->made.line) - (a->made.line < b->made.line);
    order = order ? order : strcmp(a->made.name, b->made.name);
    order = order ? order : (a->bytes < b->bytes) - (a->bytes > b->bytes);
    return order ? order : strcmp(a->path, b->path);
}

static int by_bytes(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    int order = (a->bytes < b->bytes) - (a->bytes > b->bytes);
    return order ? order : by_place(left, right);
}

static bool is_same(const struct group *a, const struct group *b)
{
    return a->made.line == b->made.line && strcmp(a->type, b->type) == 0 &&
           strcmp(a->made.file, b->made.file) == 0 && strcmp(a->made.name, b->made.name) == 0;
}

/* Add up those of the same type and line. Returns how many are left, the largest first. */
static size_t add_up(struct group *all, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(all, count, sizeof(*all), by_place);
    for (size_t i = 0; i < count; i++) {
        if (kept && is_same(&all[kept - 1], &all[i])) {
            all[kept - 1].count += all[i].count;
            all[kept - 1].bytes += all[i].bytes;
        } else {
            all[kept++] = all[i];
        }
    }
    if (kept)
        qsort(all, kept, sizeof(*all), by_bytes);
    return kept;
}

/* The objects of which snapshot to show: the one that --at shows, otherwise those alive at the end, or
   at the last snapshot if the process ended before that. */
static struct kymo_heap_snapshot objects_shown(const struct cli_heap_report *r)
{
    struct kymo_heap_snapshot shot = {.size = sizeof shot}, last = {0};
    struct kymo_heap_object object = {.size = sizeof object};
    bool at_end = false;
    for (size_t i = 0; kymo_heap_object(r->heap, i, &object) == 0 && !at_end; i++)
        at_end = object.snapshot == 0;
    for (size_t i = 0; kymo_heap_snapshot(r->heap, i, &shot) == 0; i++) {
        bool wanted = r->held == KYMO_HEAP_AT_TIME ? shot.time - r->file.start <= r->at : !at_end;
        if (shot.number > 1 && wanted)
            last = shot;
    }
    return last;
}

static bool fits(const struct cli_heap_report *r, const struct group *group)
{
    const struct kymo_callable type = {group->type, group->path, 0, KYMO_CLASS_FUNCTION};
    return kymo__cli_report_fits(r->filter, &group->made) ||
           kymo__cli_report_fits(r->filter, &type);
}

/* Store the groups of snapshot NUMBER that the user wants to see in *ALL. Returns how many. */
static size_t collect_groups(const struct cli_heap_report *r, uint64_t number, struct group **all)
{
    struct kymo_heap_object object = {.size = sizeof object};
    size_t count = 0, capacity = 0;
    for (size_t i = 0; kymo_heap_object(r->heap, i, &object) == 0; i++) {
        const struct group group = {object.type, object.path,
                                    kymo__heap_line(&r->names, object.stack, r->unfold),
                                    object.count, object.bytes + object.owned};
        if (object.snapshot != number || !fits(r, &group))
            continue;
        if (kymo__array_grow(all, &capacity, count, sizeof(**all)) < 0)
            break;
        (*all)[count++] = group;
    }
    return add_up(*all, count);
}

static void print_group(const struct group *group)
{
    char *place = *group->made.name ? kymo__cli_where(&group->made) : kymo__cli_format("-");
    printf("%*s%s%s ", CLI_INDENT, "", kymo__cli_colour(CLI_BOLD),
           kymo__cli_grouped(group->count).text);
    kymo__cli_put_clean(stdout, group->type);
    printf("%s%s, %s, made at ", kymo__cli_colour(CLI_PLAIN),
           group->count == 1 ? " object" : " objects", kymo__cli_bytes(group->bytes).text);
    kymo__cli_put_clean(stdout, place);
    printf("\n%*s", CLI_INDENT + 2, "");
    char *path = kymo__cli_clean(*group->path ? group->path : "no path from a root was found");
    kymo__cli_wrap(stdout, path, CLI_INDENT + 2, kymo__cli_text_width(), CLI_INDENT + 2);
    kymo__cli_free(path);
    kymo__cli_free(place);
}

/* What the recorder left out, in its words but for the numbers. */
static void print_missing(const struct cli_heap_report *r)
{
    const char *missing = kymo__heap_metadata(r->capture, "memory.objects");
    unsigned long long count, bytes;
    if (!*missing)
        return;
    char *text = sscanf(missing, "%llu objects with %llu bytes", &count, &bytes) == 2
                     ? kymo__cli_format("%s objects with %s, in groups smaller than these, are not "
                                        "in the capture",
                                        kymo__cli_grouped(count).text, kymo__cli_bytes(bytes).text)
                     : kymo__cli_format("%s", missing);
    printf("%*s", CLI_INDENT, "");
    kymo__cli_wrap(stdout, text, CLI_INDENT, kymo__cli_text_width(), CLI_INDENT);
    kymo__cli_free(text);
}

void kymo__cli_heap_objects(const struct cli_heap_report *r)
{
    const struct kymo_heap_snapshot shot = objects_shown(r);
    struct group *all = NULL;
    size_t count = collect_groups(r, shot.number, &all);
    if (count) {
        char *title = kymo__cli_format(
            shot.number ? "Objects at the snapshot at %s, and what keeps them alive"
                        : "Surviving objects, and what keeps them alive",
            kymo__cli_duration(shot.time - r->file.start).text);
        kymo__cli_heading(title);
        kymo__cli_free(title);
    }
    for (size_t i = 0; i < count && i < r->limit; i++)
        print_group(&all[i]);
    kymo__cli_heap_more(count > r->limit ? count - r->limit : 0);
    if (count)
        print_missing(r);
    kymo__free(all);
}
