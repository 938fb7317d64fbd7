/* rewrite_meta.c — see rewrite_meta.h. */
#include "rewrite_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "defs.h"
#include "pings.h"
#include "rewrite_stacks.h"
#include "stacks.h"
#include "writer.h"

void kymo__rewrite_note(struct kymo_writer *w, const char *key, const char *value)
{
    /* A key must be defined before its value, as a separate string. */
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

/* Is KEY among the first part's COUNT entries, and SHARED by all parts? */
static bool is_shared(const struct kymo_part *parts, uint32_t count, const bool *shared,
                      const char *key)
{
    const char *other, *value;
    for (uint32_t i = 0; i < count; i++)
        if (shared[i] && kymo_capture_metadata(parts[0].capture, i, &other, &value) == 0 &&
            strcmp(other, key) == 0)
            return true;
    return false;
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

/* Is KEY about samples, and valid for the whole result? Parts without samples do not count. */
static bool of_samples(const struct kymo_part *parts, size_t count, const char *key,
                       const char *value)
{
    if (strcmp(key, KYMO__SAMPLE_PERIOD) == 0)
        return true;
    if (strcmp(key, KYMO__SAMPLE_CLOCK) != 0 && strncmp(key, "interpreter.", 12) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *other = kymo__sample_metadata(parts[i].capture, key);
        if (*other && strcmp(other, value) != 0)
            return false;
    }
    return true;
}

/* The number before the dot of "3.key", with *REST set to "key"; -1 when KEY is not like that. */
static long number_of(const char *key, const char **rest)
{
    char *end;
    if (*key < '0' || *key > '9')
        return -1;
    long number = strtol(key, &end, 10);
    if (*end != '.')
        return -1;
    *rest = end + 1;
    return number;
}

/* If PART is one process of a merged capture, the number that its metadata has there; else -1. */
static long only_process(const struct kymo_part *part)
{
    struct kymo_info info = {.size = sizeof(info)};
    kymo_capture_info(part->capture, &info);
    if (!part->chosen || info.processes < 2)
        return -1;
    long only = -1;
    for (uint32_t i = 0; i < info.threads; i++) {
        struct kymo_thread_info thread = {.size = sizeof(thread)};
        if (!part->chosen[i] || kymo_capture_thread(part->capture, i, &thread) != 0)
            continue;
        if (only >= 0 && only != (long)thread.process)
            return -1;
        only = (long)thread.process;
    }
    /* After merging merged captures, numbers are no longer those of processes. */
    const char *key, *value, *rest;
    for (uint32_t i = 0; kymo_capture_metadata(part->capture, i, &key, &value) == 0; i++)
        if (number_of(key, &rest) >= 0 && strcmp(rest, "merged") == 0)
            return -1;
    return only;
}

/* Values that all parts share keep their key; others get the number of their part before it. A
   process that is cut out of a merged capture gets its keys back. */
int kymo__rewrite_metadata(struct kymo_writer *w, const struct kymo_part *parts, size_t count,
                           kymo_ns period)
{
    const char *key, *value;
    char length[24];
    snprintf(length, sizeof(length), "%lld", (long long)period);
    long only = count == 1 ? only_process(parts) : -1;
    uint32_t firsts = 0;
    while (count > 1 && kymo_capture_metadata(parts[0].capture, firsts, &key, &value) == 0)
        firsts++;
    bool *shared = kymo__alloc_zeroed(firsts + 1); /* by entry of the first part */
    if (!shared)
        return -ENOMEM;
    for (uint32_t j = 0; j < firsts; j++) {
        kymo_capture_metadata(parts[0].capture, j, &key, &value);
        shared[j] = !kymo__is_ping(key) && common(parts, count, key, value);
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        for (uint32_t j = 0; kymo_capture_metadata(parts[i].capture, j, &key, &value) == 0; j++) {
            if (count > 1 && of_samples(parts, count, key, value)) {
                kymo__rewrite_note(w, key, strcmp(key, KYMO__SAMPLE_PERIOD) == 0 ? length : value);
                continue;
            }
            if (count > 1 && kymo__is_ping(key)) {
                if (i == 0) /* whose clock is that of the result */
                    kymo__rewrite_note(w, key, value);
                continue;
            }
            const char *rest;
            if (only >= 0 && number_of(key, &rest) == only) {
                kymo__rewrite_note(w, rest, value);
                continue;
            }
            if (count > 1 && is_shared(parts, firsts, shared, key)) {
                if (i == 0)
                    kymo__rewrite_note(w, key, value);
                continue;
            }
            if (count == 1) {
                kymo__rewrite_note(w, key, value);
                continue;
            }
            size_t size = strlen(key) + 32;
            char *own = kymo__alloc(size);
            if (!own) {
                rc = -ENOMEM;
                break;
            }
            snprintf(own, size, "%zu.%s", i, key);
            kymo__rewrite_note(w, own, value);
            kymo__free(own);
        }
    }
    kymo__free(shared);
    return rc;
}
