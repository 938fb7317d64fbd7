/* timeline_json.c — see timeline_json.h.

   The file has columns: times, and for each category the live bytes at these times. Each time is
   the moment of the most memory in its part of the capture; the last is the end. */
#include "timeline_json.h"

#include <errno.h>
#include <stddef.h>

#include "memcounters.h"
#include "print.h"

struct column {
    struct kymo_outfile *out;
    kymo_ns start;
    int counter; /* -1: times */
    bool known;  /* false: a live set does not say it */
    bool more;
};

static void print_item(void *arg, kymo_ns time, const uint64_t *values)
{
    struct column *c = arg;
    kymo__print(c->out, c->more ? "," : "");
    c->more = true;
    if (c->counter < 0)
        kymo__print_int(c->out, time - c->start);
    else if (!c->known || (c->counter == KYMO__COUNTER_RESIDENT && !values[c->counter]))
        kymo__print(c->out, "null"); /* it was not measured then */
    else
        kymo__print_uint(c->out, values[c->counter]);
}

static void write_column(const struct kymo_memcounters *counters,
                         const struct kymo_export_options *options, struct column column)
{
    kymo__print(column.out, "[");
    kymo__memcounters_each(counters, options, print_item, &column);
    kymo__print(column.out, "]");
}

static void write_head(const struct kymo_memcounters *counters, const struct kymo_info *file,
                       struct kymo_outfile *out)
{
    static const char *const modes[] = {"none", "exact", "sampled", "live"};
    struct kymo_heap_info info = {.size = sizeof(info)};
    kymo_heap_info(counters->heap, &info);
    kymo__print(out, "{\"kymograph\": {\"version\": \"" KYMO_VERSION "\"},\n\"mode\": ");
    kymo__print_json(out, modes[info.mode]);
    kymo__print(out, ",\n\"wall_start_ns\": ");
    kymo__print_int(out, file->wall_start);
    kymo__print(out, ",\n\"duration_ns\": ");
    kymo__print_int(out, file->end - file->start);
    kymo__print(out, ",\n\"peak\": {\"time_ns\": ");
    if (info.peak_time || info.mode != KYMO_HEAP_LIVE)
        kymo__print_int(out, info.peak_time ? info.peak_time - file->start : 0);
    else
        kymo__print(out, "null");
    kymo__print(out, ", \"bytes\": ");
    kymo__print_uint(out, info.set[KYMO_HEAP_AT_PEAK].bytes);
    kymo__print(out, ", \"blocks\": ");
    kymo__print_uint(out, info.set[KYMO_HEAP_AT_PEAK].count);
    kymo__print(out, "},\n\"resident_most\": ");
    kymo__print_uint(out, info.resident_most);
    kymo__print(out, ",\n\"time_ns\": ");
}

int kymo__timeline_json_write(struct kymo_capture *capture,
                              const struct kymo_export_options *options, struct kymo_outfile *out)
{
    struct kymo_info file = {.size = offsetof(struct kymo_info, samples)};
    struct kymo_memcounters counters;
    if (!kymo__may_have_heap(capture))
        return -ENODATA;
    int rc = kymo__memcounters_init(&counters, capture, options);
    bool live = kymo__heap_mode(capture) == KYMO_HEAP_LIVE;
    if (rc == 0) {
        kymo_capture_info(capture, &file);
        write_head(&counters, &file, out);
        write_column(&counters, options, (struct column){out, file.start, -1, true, false});
        kymo__print(out, ",\n\"bytes\": {");
        for (int i = 0; i < KYMO_HEAP_CATEGORIES; i++) {
            kymo__print(out, i ? ",\n" : "\n");
            kymo__print_json(out, kymo__memcounter_word((unsigned)i));
            kymo__print(out, ": ");
            bool known = !live || i >= KYMO_HEAP_MAPPINGS;
            write_column(&counters, options, (struct column){out, file.start, i, known, false});
        }
        kymo__print(out, "},\n\"resident\": ");
        write_column(&counters, options,
                     (struct column){out, file.start, KYMO__COUNTER_RESIDENT, true, false});
        kymo__print(out, "}\n");
    }
    kymo__memcounters_fini(&counters);
    return rc;
}
