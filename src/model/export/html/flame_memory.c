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

static kymo_ns time_of(const struct kymo_gathered *g)
{
    struct kymo_heap_info info = {.size = sizeof(info)};
    kymo_heap_info(g->heap, &info);
    if (g->options->set == KYMO_HEAP_AT_PEAK && info.peak_time)
        return info.peak_time;
    return g->options->set == KYMO_HEAP_AT_TIME ? g->options->at : g->info.end;
}

void kymo__flame_memory(const struct kymo_gathered *g)
{
    kymo__print(g->out, ",\n\"unit\":\"bytes\",\"memory\":{\"times\":");
    write_column(g, TIMES);
    kymo__print(g->out, ",\n\"series\":[");
    bool more = false;
    for (unsigned i = 0; i < KYMO_HEAP_CATEGORIES; i++) {
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
    kymo__print_int(g->out, time_of(g) - g->info.start);
    kymo__print(g->out, "}");
}
