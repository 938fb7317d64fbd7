/* chromed.h — export a tape as a Chrome trace, check its form, and look at its text. */
#ifndef CHROMED_H
#define CHROMED_H

#include <kymo/kymo.h>
#include <stdbool.h>

#include "exported.h"
#include "tape.h"

/* ---- JSON: just enough to tell that it is ---- */

static const char *value(const char *at);

static const char *space(const char *at)
{
    while (*at == ' ' || *at == '\n')
        at++;
    return at;
}

static const char *string(const char *at)
{
    for (at++; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at == '\\') {
            at++;
            if (!strchr("\"\\/bfnrtu", *at) || !*at)
                return NULL;
        }
    }
    return at + 1;
}

static const char *list(const char *at, char end)
{
    at = space(at + 1);
    if (*at == end)
        return at + 1;
    for (;;) {
        if (end == '}') {
            at = *at == '"' ? string(at) : NULL;
            if (!at || *at != ':')
                return NULL;
            at = space(at + 1);
        }
        at = value(at);
        if (!at)
            return NULL;
        at = space(at);
        if (*at == end)
            return at + 1;
        if (*at != ',')
            return NULL;
        at = space(at + 1);
    }
}

static const char *value(const char *at)
{
    char *end;
    if (*at == '"')
        return string(at);
    if (*at == '{' || *at == '[')
        return list(at, *at == '{' ? '}' : ']');
    if (strncmp(at, "true", 4) == 0 || strncmp(at, "null", 4) == 0)
        return at + 4;
    if (strncmp(at, "false", 5) == 0)
        return at + 5;
    strtod(at, &end);
    return end > at ? end : NULL;
}

static bool valid_utf8(const char *at)
{
    while (*at) {
        unsigned char c = (unsigned char)*at++;
        int more = c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
        if (more < 0 || (c == 0xed && (unsigned char)*at > 0x9f))
            return false;
        for (; more > 0; more--)
            if (((unsigned char)*at++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

/* ---- slices: nested on every track ---- */

struct slice {
    unsigned long long tid;
    int64_t start, end;
};

static int64_t time_after(const char *line, const char *label)
{
    const char *at = strstr(line, label);
    char *end;
    CHECK(at != NULL);
    long long whole = strtoll(at + strlen(label), &end, 10);
    CHECK_EQ(*end, '.');
    char *after;
    long rest = strtol(end + 1, &after, 10);
    CHECK_EQ(after - end, 4);
    return whole * 1000 + rest;
}

/* By track, then by begin, and of those that begin together the longest first. */
static int outer_first(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

static size_t check_nesting(void)
{
    size_t count = 0, room = 0;
    struct slice *slices = NULL;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        if (strncmp(line, "{\"ph\":\"X\"", 9) != 0)
            continue;
        *end = '\0'; /* sanitizers look at all of a string that is searched */
        if (count == room)
            slices = realloc(slices, (room = room ? 2 * room : 1024) * sizeof(*slices));
        struct slice *s = &slices[count++];
        s->tid = strtoull(strstr(line, "\"tid\":") + 6, NULL, 10);
        s->start = time_after(line, "\"ts\":");
        s->end = s->start + time_after(line, "\"dur\":");
        CHECK_LE(s->start, s->end);
        *end = '\n';
    }
    if (count)
        qsort(slices, count, sizeof(*slices), outer_first);
    static struct slice open[100000];
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        while (depth &&
               (open[depth - 1].tid != slices[i].tid || open[depth - 1].end <= slices[i].start))
            depth--;
        if (depth && open[depth - 1].end < slices[i].end)
            CHECK_FAIL("a slice on track %llu ends %lld ns after the one around it", slices[i].tid,
                       (long long)(slices[i].end - open[depth - 1].end));
        open[depth++] = slices[i];
    }
    free(slices);
    return count;
}

static void load(const char *path)
{
    load_text(path);
    CHECK_EQ(strlen(text), text_len);
    CHECK(valid_utf8(text));
    const char *end = value(text);
    CHECK(end != NULL);
    CHECK_STR(end, "\n");
}

/* Stop, export, and load what came out. Returns the number of slices. EXTRA, if any, asks for the
   form of Kineto, with files that lose PREFIXES. */
static size_t export_with(const char *name, const char *extra, const char *const *prefixes)
{
    char out[64];
    struct kymo_capture *capture = tape_stop(name);
    const struct kymo_export_options options = {.size = sizeof(options),
                                                .to = INT64_MAX,
                                                .thread = -1,
                                                .extra = extra,
                                                .prefixes = prefixes};
    snprintf(out, sizeof(out), "%s.json", name);
    CHECK_OK(kymo_export(capture, check_path(out), &options));
    kymo_close(capture);
    load(check_path(out));
    return check_nesting();
}

static size_t export(const char *name)
{
    return export_with(name, NULL, NULL);
}

static bool has(const char *part)
{
    return strstr(text, part) != NULL;
}

#define CHECK_HAS(part)                                                                            \
    do {                                                                                           \
        if (!has(part))                                                                            \
            CHECK_FAIL("%s is not in:\n%s", part, text);                                           \
    } while (0)

#endif
