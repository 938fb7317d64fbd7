/* save.c — see save.h. */
#include "save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "capture.h"
#include "exits.h"
#include "interrupt.h"
#include "message.h"
#include "outfile.h"
#include "packed.h"
#include "pages.h"
#include "units.h"
#include "written.h"

static const char *fixed_value(void *arg, const char *name)
{
    const char *const *values = arg; /* name, value, ..., NULL */
    for (; *values; values += 2)
        if (strcmp(values[0], name) == 0)
            return values[1];
    return NULL;
}

/* Put the answer called NAME for capture WHICH into JSON under KEY. */
static int put_answer(struct cli_json *json, const char *key, struct view *view, const char *name,
                      unsigned which, const struct cli_part *part)
{
    char capture[16], from[32], to[32];
    snprintf(capture, sizeof capture, "%u", which);
    snprintf(from, sizeof from, "%lld", (long long)part->from);
    snprintf(to, sizeof to, "%lld", (long long)part->to);
    const char *values[] = {"capture", capture, "from", from, "to", to, NULL};
    const struct view_request request = {view, fixed_value, values};
    struct view_answer answer;
    kymo__view_answer(&request, name, &answer);
    int rc = answer.status == 200 && answer.text ? 0 : kymo__cli_interrupted() ? -ECANCELED : -EIO;
    if (rc == 0)
        kymo__cli_json_raw(json, key, answer.text);
    kymo__view_answer_fini(&answer);
    return rc;
}

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

/* What the page does not have, for its reader; "" if nothing. */
static void put_left_out(struct cli_json *json, const struct view_packed *packed)
{
    char words[160] = "";
    if (!packed->all)
        snprintf(words, sizeof words,
                 "To keep this page small, calls shorter than %s are shown only together.",
                 kymo__cli_duration((int64_t)1 << packed->finest).text);
    kymo__cli_json_string(json, "left_out", words);
    if (words[0])
        kymo__cli_complain("the page shows calls shorter than %s only together; --size makes it "
                           "larger, --from and --to choose a part",
                           kymo__cli_duration((int64_t)1 << packed->finest).text);
}

static int lease_all(struct view_packed *packed, struct view *view, const struct cli_part *part)
{
    for (unsigned i = 0; i < view->count; i++) {
        int rc = kymo__view_lease(view, i, &packed->leases[i]);
        if (rc < 0)
            return rc;
        packed->from[i] = part->from;
        packed->to[i] = part->to;
    }
    return 0;
}

/* Write the object of the page's data to OUT. */
static int put_data(FILE *out, struct view *view, const struct cli_part *part, uint64_t bytes)
{
    static const char *const names[] = {"marks", "stats", "counts"};
    struct cli_json json = {.out = out};
    struct view_packed packed = {0};
    kymo__cli_json_object(&json, NULL);
    int rc = put_answer(&json, "overview", view, "overview", 0, part);
    for (size_t i = 0; rc == 0 && i < sizeof names / sizeof *names; i++) {
        kymo__cli_json_array(&json, names[i]);
        for (unsigned c = 0; rc == 0 && c < view->count; c++)
            rc = put_answer(&json, NULL, view, names[i], c, part);
        kymo__cli_json_end(&json);
    }
    rc = rc < 0 ? rc : lease_all(&packed, view, part);
    fflush(out);
    uint64_t used =
        (uint64_t)ftell(out) + strlen(kymo__timeline_before) + strlen(kymo__timeline_after);
    size_t most = bytes > used ? (size_t)((bytes - used) / 4 * 3) : 0;
    if (rc == 0)
        rc = kymo__packed_fill(&packed, view, most - most / 20, &json);
    if (rc == 0) {
        put_left_out(&json, &packed);
        kymo__cli_json_raw(&json, "stream", "\"");
        put_base64(out, packed.stream.bytes, packed.stream.len);
        fputc('"', out);
    }
    kymo__cli_json_end(&json);
    for (unsigned i = 0; i < view->count; i++)
        if (packed.leases[i].state)
            kymo__view_give_back(view, &packed.leases[i]);
    kymo__buffer_fini(&packed.stream);
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

int kymo__view_save(struct view *view, const char *output, const struct cli_part *part,
                    uint64_t bytes)
{
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    int rc = memory ? put_data(memory, view, part, bytes) : -ENOMEM;
    if (memory && fclose(memory) != 0 && rc == 0)
        rc = -ENOMEM;
    struct kymo_outfile out;
    mode_t mode = kymo__outfile_mode_of(view->state[0]->capture->reader->fd);
    if (rc == 0 && (rc = kymo__outfile_open(&out, output, mode)) == 0) {
        kymo__outfile_add(&out, kymo__timeline_before, strlen(kymo__timeline_before));
        add_script(&out, text);
        kymo__outfile_add(&out, kymo__timeline_after, strlen(kymo__timeline_after));
        rc = kymo__outfile_close(&out, !kymo__cli_interrupted());
    }
    free(text);
    kymo__cli_interrupt_obey();
    return kymo__cli_written(output, rc);
}
