/* chrome_memory.c — memory over time: a counter of live bytes, with a series for each category, and
   one of resident memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "chrome_parts.h"

struct writing {
    struct kymo_buffer *b;
    const struct kymo_chrome *c;
    const struct kymo_memcounters *counters;
    int64_t pid;
    int error;
};

static void begin_event(struct writing *w, const char *name, kymo_ns time)
{
    char text[128], number[KYMO__JSON_NUMBER];
    char *end = kymo__json_time(number, kymo__ns_add(time, w->c->shift));
    snprintf(text, sizeof(text),
             ",\n{\"ph\":\"C\",\"cat\":\"memory\",\"name\":\"%s\",\"pid\":%" PRId64
             ",\"tid\":0,\"ts\":",
             name, w->pid);
    w->error |= kymo__json_text(w->b, text) |
                kymo__buffer_add(w->b, number, (size_t)(end - number)) |
                kymo__json_text(w->b, ",\"args\":{");
}

static void add_value(struct writing *w, const char *name, uint64_t value, bool first)
{
    char text[96];
    snprintf(text, sizeof(text), "%s\"%s\":%" PRIu64, first ? "" : ",", name, value);
    w->error |= kymo__json_text(w->b, text);
}

static void add_point(void *arg, kymo_ns time, const uint64_t *values)
{
    struct writing *w = arg;
    bool first = true;
    for (unsigned i = 0; i < KYMO_HEAP_CATEGORIES; i++) {
        /* Viewers draw the series on top of each other; the objects in arenas are one already. */
        if (!w->counters->used[i] || !kymo__memcounter_adds(w->counters, i))
            continue;
        if (first)
            begin_event(w, "live memory (bytes)", time);
        add_value(w, kymo__memcounter_word(i), values[i], first);
        first = false;
    }
    if (!first)
        w->error |= kymo__json_text(w->b, "}}");
    if (!values[KYMO__COUNTER_RESIDENT])
        return;
    begin_event(w, "resident memory (bytes)", time);
    add_value(w, "resident", values[KYMO__COUNTER_RESIDENT], true);
    w->error |= kymo__json_text(w->b, "}}");
}

int kymo__chrome_memory(struct kymo_buffer *b, const struct kymo_chrome *c,
                        const struct kymo_memcounters *counters,
                        const struct kymo_export_options *options, int64_t pid)
{
    struct writing w = {b, c, counters, pid, 0};
    kymo__memcounters_each(counters, options, add_point, &w);
    return w.error ? -ENOMEM : 0;
}
