/* flame_memory.c — see flame_memory.h. */
#include "flame_memory.h"

#include "print.h"

enum { TIMES = -1, RESIDENT = KYMO_HEAP_CATEGORIES };

/* Write column WHAT: TIMES, RESIDENT, or a category. */
static void write_column(const struct kymo_gathered *g, int what)
{
    struct kymo_heap_point point = {.size = sizeof(point)};
    kymo__print(g->out, "[");
    for (size_t i = 0; kymo_heap_point(g->heap, i, &point) == 0; i++) {
        kymo__print(g->out, i ? "," : "");
        if (what == TIMES)
            kymo__print_int(g->out, point.time - g->info.start);
        else
            kymo__print_uint(g->out, what == RESIDENT ? point.resident : point.bytes[what]);
    }
    kymo__print(g->out, "]");
}

static bool occurs(const struct kymo_heap *heap, unsigned category)
{
    struct kymo_heap_point point = {.size = sizeof(point)};
    for (size_t i = 0; kymo_heap_point(heap, i, &point) == 0; i++)
        if (point.bytes[category])
            return true;
    return false;
}

/* Write when the graph was taken; null if it is not known. */
static void write_time(const struct kymo_gathered *g, const struct kymo_heap_info *info)
{
    unsigned set = g->options->set;
    kymo_ns time = set == KYMO_HEAP_AT_TIME                      ? g->options->at
                   : set == KYMO_HEAP_AT_PEAK && info->peak_time ? info->peak_time
                                                                 : g->info.end;
    if (set == KYMO_HEAP_AT_PEAK && info->mode == KYMO_HEAP_LIVE)
        kymo__print(g->out, "null");
    else
        kymo__print_int(g->out, time - g->info.start);
}

void kymo__flame_memory(const struct kymo_gathered *g)
{
    struct kymo_heap_info info = {.size = sizeof(info)};
    kymo_heap_info(g->heap, &info);
    kymo__print(g->out, ",\n\"unit\":\"bytes\",\"memory\":{\"times\":");
    write_column(g, TIMES);
    kymo__print(g->out, ",\n\"series\":[");
    bool more = false;
    /* Of blocks, a live set has no history. */
    for (unsigned i = 0; info.mode != KYMO_HEAP_LIVE && i < KYMO_HEAP_CATEGORIES; i++) {
        /* The objects in arenas are there already. */
        if (!occurs(g->heap, i) || (i == KYMO_HEAP_ARENAS && !g->heap->arenas_count))
            continue;
        kymo__print(g->out, more ? ",\n[" : "\n[");
        kymo__print_json(g->out, kymo_heap_category_word(i));
        kymo__print(g->out, ",");
        write_column(g, (int)i);
        kymo__print(g->out, "]");
        more = true;
    }
    kymo__print(g->out, "],\n\"resident\":");
    write_column(g, RESIDENT);
    kymo__print(g->out, ",\"at\":");
    write_time(g, &info);
    kymo__print(g->out, ",\"rate\":");
    kymo__print_uint(g->out, info.rate);
    kymo__print(g->out, "}");
}
