/* timeline_html.c — see timeline_html.h. */
#include "timeline_html.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "heaplog.h"
#include "heapview.h"
#include "pages.h"
#include "print.h"
#include "stacks.h"
#include "tilepack.h"

/* LENGTH BYTES as base64. */
static void put_base64(FILE *out, const uint8_t *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0u) |
                         (left > 2 ? bytes[i + 2] : 0u);
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                        left > 1 ? digits[three >> 6 & 63] : '=',
                        left > 2 ? digits[three & 63] : '='};
        fwrite(four, 1, sizeof four, out);
    }
}

static int put_overview(struct kymo_jsonout *json, const struct kymo_shown_capture *captures,
                        unsigned count)
{
    int rc = 0;
    kymo__jsonout_object(json, "overview");
    kymo__jsonout_string(json, "kymograph", kymo_version());
    kymo__jsonout_array(json, "captures");
    for (unsigned i = 0; rc == 0 && i < count; i++)
        rc = kymo__shown_overview(&captures[i], json);
    kymo__jsonout_end(json);
    kymo__jsonout_end(json);
    return rc;
}

/* A member NAME: for each of COUNT captures an object with the members that PUT writes. */
static int put_each(struct kymo_jsonout *json, const char *name,
                    const struct kymo_shown_capture *captures, unsigned count,
                    int (*put)(const struct kymo_shown_capture *shown, struct kymo_jsonout *json))
{
    int rc = 0;
    kymo__jsonout_array(json, name);
    for (unsigned i = 0; rc == 0 && i < count; i++) {
        kymo__jsonout_object(json, NULL);
        rc = put(&captures[i], json);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    return rc;
}

static int put_stats(const struct kymo_shown_capture *shown, struct kymo_jsonout *json)
{
    return kymo__shown_stats(shown, true, json);
}

static int put_samples(const struct kymo_shown_capture *shown, struct kymo_jsonout *json)
{
    if (!shown->book) {
        kymo__jsonout_uint(json, "samples", 0);
        return 0;
    }
    int rc = kymo__shown_samples(shown, shown->book, json);
    return rc < 0 ? rc : kymo__shown_every_sample(shown, shown->book, json);
}

static int put_sample_stats(const struct kymo_shown_capture *shown, struct kymo_jsonout *json)
{
    return shown->book ? kymo__shown_sample_stats(shown, shown->book, json) : 0;
}

static int put_memory(const struct kymo_shown_capture *shown, struct kymo_jsonout *json)
{
    return kymo__heaplog_shown(shown->memory_arg, shown->capture, shown->from, shown->to, json);
}

/* Write the object of the page's data to OUT, in about BYTES. */
static int put_data(FILE *out, const struct kymo_shown_capture *captures, unsigned count,
                    uint64_t bytes, kymo_ns *shortest)
{
    struct kymo_jsonout json = {.out = out};
    struct kymo_tile_pack packed = {0};
    kymo__jsonout_object(&json, NULL);
    int rc = put_overview(&json, captures, count);
    rc = rc < 0 ? rc : put_each(&json, "marks", captures, count, kymo__shown_marks);
    rc = rc < 0 ? rc : put_each(&json, "stats", captures, count, put_stats);
    rc = rc < 0 ? rc : put_each(&json, "samples", captures, count, put_samples);
    rc = rc < 0 ? rc : put_each(&json, "sample_stats", captures, count, put_sample_stats);
    rc = rc < 0 ? rc : put_each(&json, "memory", captures, count, put_memory);
    fflush(out);
    uint64_t used = (uint64_t)ftell(out);
    size_t most = bytes > used ? (size_t)((bytes - used) / 4 * 3) : 0; /* base64: 4 for 3 */
    if (rc == 0)
        rc = kymo__tile_pack_fill(&packed, captures, count, most - most / 20, &json);
    if (rc == 0) {
        *shortest = packed.all ? 0 : (kymo_ns)1 << packed.finest;
        kymo__jsonout_int(&json, "shortest", *shortest);
        kymo__jsonout_raw(&json, "stream", "\"");
        put_base64(out, packed.stream.bytes, packed.stream.len);
        fputc('"', out);
    }
    kymo__jsonout_end(&json);
    kymo__tile_pack_fini(&packed);
    return rc < 0 ? rc : ferror(out) ? -ENOMEM : 0;
}

/* Add JSON as it can be inside a script element: '<' is only in strings. */
static void add_script(struct kymo_outfile *out, const char *json)
{
    while (*json) {
        size_t length = strcspn(json, "<");
        kymo__outfile_add(out, json, length);
        json += length;
        if (*json) {
            kymo__outfile_add(out, "\\u003c", 6);
            json++;
        }
    }
}

static int write_page(struct kymo_outfile *out, const struct kymo_shown_capture *captures,
                      unsigned count, uint64_t bytes, kymo_ns *shortest)
{
    char *text = NULL;
    size_t length, page = strlen(kymo__timeline_before) + strlen(kymo__timeline_after);
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return -ENOMEM;
    int rc = put_data(memory, captures, count, bytes > page ? bytes - page : 0, shortest);
    if (fclose(memory) != 0 && rc == 0)
        rc = -ENOMEM;
    if (rc == 0) {
        kymo__print(out, kymo__timeline_before);
        add_script(out, text);
        kymo__print(out, kymo__timeline_after);
    }
    free(text);
    return rc;
}

/* ---- samples and memory ---- */

/* A capture with the samples and the memory it has. */
struct with_others {
    struct kymo_samplebook book;
    struct kymo_heaplog *log;
};

static int make_memory_tile(void *arg, unsigned level, uint64_t index, struct kymo_buffer *out)
{
    return kymo__heaplog_tile(arg, level, index, out);
}

/* Read the samples and the memory of SHOWN into OTHERS, which it then refers to. */
static int add_others(struct kymo_shown_capture *shown, struct with_others *others)
{
    int rc = 0;
    if (kymo__may_have_samples(shown->capture)) {
        rc = kymo__samplebook_init(&others->book, shown->capture, shown->stop, shown->stop_arg);
        shown->book = &others->book;
    }
    if (rc < 0 || kymo__heap_mode(shown->capture) == KYMO_HEAP_NONE)
        return rc;
    rc = kymo__heaplog_new(shown->capture, shown->origin, shown->stop, shown->stop_arg,
                           &others->log);
    shown->memory_tile = make_memory_tile;
    shown->memory_arg = others->log;
    return rc;
}

int kymo__timeline_html_write(struct kymo_outfile *out, const struct kymo_shown_capture *given,
                              unsigned count, uint64_t bytes, kymo_ns *shortest)
{
    struct kymo_shown_capture *captures = kymo__alloc_zeroed(count * sizeof(*captures));
    struct with_others *others = kymo__alloc_zeroed(count * sizeof(*others));
    int rc = captures && others ? 0 : -ENOMEM;
    for (unsigned i = 0; rc == 0 && i < count; i++) {
        captures[i] = given[i];
        rc = add_others(&captures[i], &others[i]);
    }
    rc = rc < 0 ? rc : write_page(out, captures, count, bytes, shortest);
    for (unsigned i = 0; others && i < count; i++) {
        kymo__samplebook_fini(&others[i].book);
        kymo__heaplog_free(others[i].log);
    }
    kymo__free(others);
    kymo__free(captures);
    return rc;
}
