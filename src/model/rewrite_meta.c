/* rewrite_meta.c — see rewrite_meta.h. */
#include "rewrite_meta.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "defs.h"
#include "rewrite_stacks.h"
#include "stacks.h"
#include "writer.h"

void kymo__rewrite_note(struct kymo_writer *w, const char *key, const char *value)
{
    /* A key is needed before its value, as a string of its own. */
    uint64_t name = kymo__writer_string(w, key), text = kymo__writer_string(w, value);
    if (name)
        kymo__writer_define(w, &(struct kymo_def){.type = KYMO__DEF_META, .number = {name, text}});
}

/* Does every part have the same VALUE for KEY? */
static bool common(const struct kymo_part *parts, size_t count, const char *key, const char *value)
{
    for (size_t i = 0; i < count; i++) {
        const char *other, *text = NULL;
        for (uint32_t j = 0; kymo_capture_metadata(parts[i].capture, j, &other, &text) == 0; j++) {
            if (strcmp(other, key) == 0)
                break;
            text = NULL;
        }
        if (!text || strcmp(text, value) != 0)
            return false;
    }
    return true;
}

kymo_ns kymo__rewrite_period(const struct kymo_part *parts, size_t count)
{
    kymo_ns all = 0;
    for (size_t i = 0; i < count; i++) {
        kymo_ns a = all, b = kymo__sample_period(parts[i].capture);
        while (b) {
            kymo_ns rest = a % b;
            a = b;
            b = rest;
        }
        all = a;
    }
    return all;
}

/* Is KEY about samples, and holds of the result as a whole? Parts without samples do not count. */
static bool of_samples(const struct kymo_part *parts, size_t count, const char *key,
                       const char *value)
{
    if (strcmp(key, KYMO__SAMPLE_PERIOD) == 0)
        return true;
    if (strcmp(key, KYMO__SAMPLE_CLOCK) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *other = kymo__sample_metadata(parts[i].capture, key);
        if (*other && strcmp(other, value) != 0)
            return false;
    }
    return true;
}

/* What the parts agree on keeps its key; the rest is told of each by itself. */
int kymo__rewrite_metadata(struct kymo_writer *w, const struct kymo_part *parts, size_t count,
                           kymo_ns period)
{
    const char *key, *value;
    char length[24];
    snprintf(length, sizeof(length), "%lld", (long long)period);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t j = 0; kymo_capture_metadata(parts[i].capture, j, &key, &value) == 0; j++) {
            if (count > 1 && of_samples(parts, count, key, value)) {
                kymo__rewrite_note(w, key, strcmp(key, KYMO__SAMPLE_PERIOD) == 0 ? length : value);
                continue;
            }
            if (count == 1 || common(parts, count, key, value)) {
                kymo__rewrite_note(w, key, value);
                continue;
            }
            size_t size = strlen(key) + 32;
            char *own = kymo__alloc(size);
            if (!own)
                return -ENOMEM;
            snprintf(own, size, "%zu.%s", i, key);
            kymo__rewrite_note(w, own, value);
            kymo__free(own);
        }
    }
    return 0;
}
