/* perfetto_memory.c — memory over time: a counter of live bytes for each category, and one of
   resident memory. */
#include <stdio.h>

#include "memcounters.h"
#include "perfetto_parts.h"

struct writing {
    struct kymo_proto *out;
    const struct kymo_perfetto *p;
    const struct kymo_memcounters *counters;
    uint64_t process;
};

static uint64_t track_of(const struct writing *w, unsigned counter)
{
    return kymo__perfetto_track(w->p, TRACK_OF_MEMORY, counter, 0);
}

static void show_counter(const struct writing *w, unsigned counter)
{
    char name[64];
    bool resident = counter == KYMO__COUNTER_RESIDENT;
    const char *kind = counter >= KYMO_HEAP_MAPPINGS ? "mapped" : "requested";
    snprintf(name, sizeof(name), "memory: %s%s%s%s", kymo__memcounter_word(counter),
             resident ? "" : " (", resident ? "" : kind, resident ? "" : ")");
    size_t packet = kymo__perfetto_main_packet(w->out);
    size_t track = kymo__proto_open(w->out, PACKET_TRACK);
    kymo__proto_uint(w->out, TRACK_UUID, track_of(w, counter));
    kymo__proto_uint(w->out, TRACK_PARENT, w->process);
    kymo__proto_text(w->out, TRACK_NAME, name);
    size_t descriptor = kymo__proto_open(w->out, TRACK_COUNTER);
    kymo__proto_uint(w->out, COUNTER_UNIT, COUNTER_BYTES);
    kymo__proto_close(w->out, descriptor);
    kymo__proto_close(w->out, track);
    kymo__proto_close(w->out, packet);
}

static void add_value(const struct writing *w, unsigned counter, kymo_ns time, uint64_t value)
{
    size_t packet = kymo__perfetto_main_packet(w->out);
    kymo__proto_uint(w->out, PACKET_TIMESTAMP, time > 0 ? (uint64_t)time : 0);
    kymo__proto_uint(w->out, PACKET_CLOCK, CLOCK_MONOTONIC_ID);
    size_t event = kymo__proto_open(w->out, PACKET_TRACK_EVENT);
    kymo__proto_uint(w->out, EVENT_TYPE, TYPE_COUNTER);
    kymo__proto_uint(w->out, EVENT_TRACK, track_of(w, counter));
    kymo__proto_uint(w->out, EVENT_COUNT, value);
    kymo__proto_close(w->out, event);
    kymo__proto_close(w->out, packet);
}

static void add_point(void *arg, kymo_ns time, const uint64_t *values)
{
    const struct writing *w = arg;
    for (unsigned i = 0; i < KYMO__COUNTERS; i++)
        if (w->counters->used[i] && (values[i] || i != KYMO__COUNTER_RESIDENT))
            add_value(w, i, time, values[i]);
}

int kymo__perfetto_memory(struct kymo_proto *out, const struct kymo_perfetto *p,
                          struct kymo_capture *capture, const struct kymo_export_options *options,
                          uint64_t process)
{
    struct kymo_memcounters counters;
    struct writing w = {out, p, &counters, process};
    int rc = kymo__memcounters_init(&counters, capture, options);
    if (rc == 0) {
        for (unsigned i = 0; i < KYMO__COUNTERS; i++)
            if (counters.used[i])
                show_counter(&w, i);
        kymo__memcounters_each(&counters, options, add_point, &w);
    }
    kymo__memcounters_fini(&counters);
    return rc < 0 ? rc : out->error;
}
