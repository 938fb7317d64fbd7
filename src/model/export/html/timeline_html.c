/* timeline_html.c — see timeline_html.h. */
#include "timeline_html.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pages.h"
#include "print.h"
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

static int put_marks(struct kymo_jsonout *json, const struct kymo_shown_capture *captures,
                     unsigned count)
{
    int rc = 0;
    kymo__jsonout_array(json, "marks");
    for (unsigned i = 0; rc == 0 && i < count; i++) {
        kymo__jsonout_object(json, NULL);
        rc = kymo__shown_marks(&captures[i], json);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    return rc;
}

static int put_stats(struct kymo_jsonout *json, const struct kymo_shown_capture *captures,
                     unsigned count)
{
    int rc = 0;
    kymo__jsonout_array(json, "stats");
    for (unsigned i = 0; rc == 0 && i < count; i++) {
        kymo__jsonout_object(json, NULL);
        rc = kymo__shown_stats(&captures[i], true, json);
        kymo__jsonout_end(json);
    }
    kymo__jsonout_end(json);
    return rc;
}

/* Write the object of the page's data to OUT, in about BYTES. */
static int put_data(FILE *out, const struct kymo_shown_capture *captures, unsigned count,
                    uint64_t bytes, kymo_ns *shortest)
{
    struct kymo_jsonout json = {.out = out};
    struct kymo_tile_pack packed = {0};
    kymo__jsonout_object(&json, NULL);
    int rc = put_overview(&json, captures, count);
    rc = rc < 0 ? rc : put_marks(&json, captures, count);
    rc = rc < 0 ? rc : put_stats(&json, captures, count);
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

int kymo__timeline_html_write(struct kymo_outfile *out, const struct kymo_shown_capture *captures,
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
