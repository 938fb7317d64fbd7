#include "jsonout.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "escape.h"

static void put_string(FILE *out, const char *s)
{
    char form[KYMO__ESCAPE_FORM];
    putc_unlocked('"', out);
    while (*s) {
        size_t length;
        const char *piece = kymo__escape_json(&s, false, form, &length);
        fwrite_unlocked(piece, 1, length, out);
    }
    putc_unlocked('"', out);
}

static void put_uint(FILE *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    fwrite_unlocked(digits + at, 1, sizeof digits - at, out);
}

/* Print the comma and the key before a value. */
static void lead(struct kymo_jsonout *json, const char *key)
{
    if (json->depth > 0) {
        if (json->more[json->depth])
            fputs_unlocked(", ", json->out);
        json->more[json->depth] = true;
    }
    if (key) {
        put_string(json->out, key);
        fputs_unlocked(": ", json->out);
    }
}

static void nest(struct kymo_jsonout *json, const char *key, char open, char close)
{
    lead(json, key);
    putc_unlocked(open, json->out);
    json->depth++;
    assert((size_t)json->depth < sizeof json->close);
    json->close[json->depth] = close;
    json->more[json->depth] = false;
}

void kymo__jsonout_object(struct kymo_jsonout *json, const char *key)
{
    nest(json, key, '{', '}');
}

void kymo__jsonout_array(struct kymo_jsonout *json, const char *key)
{
    nest(json, key, '[', ']');
}

void kymo__jsonout_end(struct kymo_jsonout *json)
{
    assert(json->depth > 0);
    putc_unlocked(json->close[json->depth--], json->out);
}

void kymo__jsonout_string(struct kymo_jsonout *json, const char *key, const char *value)
{
    lead(json, key);
    put_string(json->out, value);
}

void kymo__jsonout_int(struct kymo_jsonout *json, const char *key, int64_t value)
{
    lead(json, key);
    if (value < 0)
        putc_unlocked('-', json->out);
    put_uint(json->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void kymo__jsonout_uint(struct kymo_jsonout *json, const char *key, uint64_t value)
{
    lead(json, key);
    put_uint(json->out, value);
}

void kymo__jsonout_bool(struct kymo_jsonout *json, const char *key, bool value)
{
    lead(json, key);
    fputs_unlocked(value ? "true" : "false", json->out);
}

void kymo__jsonout_raw(struct kymo_jsonout *json, const char *key, const char *value)
{
    lead(json, key);
    fputs_unlocked(value, json->out);
}

void kymo__jsonout_null(struct kymo_jsonout *json, const char *key)
{
    lead(json, key);
    fputs_unlocked("null", json->out);
}

void kymo__jsonout_double(struct kymo_jsonout *json, const char *key, double value)
{
    if (!isfinite(value)) {
        const char *name = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
        kymo__jsonout_string(json, key, name);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    lead(json, key);
    fputs_unlocked(text, json->out);
}
