/* memcounters.c — see memcounters.h. */
#include "memcounters.h"

#include <string.h>

static void note_used(void *arg, kymo_ns time, const uint64_t *values)
{
    struct kymo_memcounters *c = arg;
    (void)time;
    for (unsigned i = 0; i < KYMO__COUNTERS; i++)
        c->used[i] |= values[i] != 0;
}

int kymo__memcounters_init(struct kymo_memcounters *c, struct kymo_capture *capture,
                           const struct kymo_export_options *options)
{
    const struct kymo_heap_options wanted = {
        .size = sizeof(wanted), .at = INT64_MAX, .points = KYMO__COUNTER_POINTS};
    *c = (struct kymo_memcounters){0};
    int rc = kymo__may_have_heap(capture) ? kymo_heap_new(capture, &wanted, &c->heap) : 0;
    if (rc < 0 || !c->heap)
        return rc;
    kymo__memcounters_each(c, options, note_used, c);
    return 0;
}

void kymo__memcounters_fini(struct kymo_memcounters *c)
{
    kymo_heap_free(c->heap);
    c->heap = NULL;
}

void kymo__memcounters_each(const struct kymo_memcounters *c,
                            const struct kymo_export_options *options,
                            void (*each)(void *arg, kymo_ns time, const uint64_t *values),
                            void *arg)
{
    struct kymo_heap_point point = {.size = sizeof(point)};
    struct kymo_heap_info info = {.size = sizeof(info)};
    struct kymo_info file = {.size = offsetof(struct kymo_info, samples)};
    uint64_t values[KYMO__COUNTERS];
    if (!c->heap)
        return;
    for (size_t i = 0; kymo_heap_point(c->heap, i, &point) == 0; i++) {
        if (point.time < options->from || point.time >= options->to)
            continue;
        memcpy(values, point.bytes, sizeof(point.bytes));
        values[KYMO__COUNTER_RESIDENT] = point.resident;
        each(arg, point.time, values);
    }
    /* The points are peaks, so the last one may not be what remained. */
    kymo_heap_info(c->heap, &info);
    kymo_capture_info(c->heap->capture, &file);
    if (file.end < options->from || file.end >= options->to)
        return;
    memcpy(values, c->heap->bytes, sizeof(c->heap->bytes));
    /* A live set says how large its blocks were at the end, but of no time before. */
    for (unsigned i = 0; info.mode == KYMO_HEAP_LIVE && i < KYMO_HEAP_MAPPINGS; i++)
        values[i] = 0;
    values[KYMO__COUNTER_RESIDENT] = c->heap->resident;
    each(arg, file.end, values);
}

const char *kymo__memcounter_word(unsigned counter)
{
    return counter == KYMO__COUNTER_RESIDENT ? "resident" : kymo_heap_category_word(counter);
}
